/* The floor under every client of MongoDB's protocol: point queries by a loop of one send, one poll
 * and one recv, without any library. It draws a key, writes it into the one message that there is,
 * and looks at nothing but the length of the reply and the end of its document.
 *
 * Usage: point_query_op_msg SOCKET_DIRECTORY PORT USER DATABASE ROWS SECONDS    (no authentication)
 * Prints the number of operations and the seconds they took.
 *
 * Build: cc -O2 -o point_query_op_msg point_query_op_msg.c */
#include <arpa/inet.h>

#include "loop.h"

static int server;
static char request[512];
static size_t size;
/* The last four bytes of the key. */
static char *key;

static void put(const char *bytes, size_t count) {
    memcpy(request + size, bytes, count);
    size += count;
}

/* Put a text, which may hold zeros, without the zero that C adds. */
#define PUT(text) put(text, sizeof text - 1)

/* Leave room for the length of a message or document. All numbers are little endian, as this
 * machine's are. */
static size_t open_at_end(void) {
    size += 4;
    return size - 4;
}

static void close_at_end(size_t start) {
    uint32_t length = size - start;
    memcpy(request + start, &length, 4);
}

static void close_document(size_t start) {
    PUT("\0");
    close_at_end(start);
}

/* Write the message of the command {find: "sbtest1", filter: {_id: key},
 * projection: {c: 1, _id: 0}, $db: database}. */
static void write_request(const char *database) {
    size_t message = open_at_end();
    /* The number of the request, 0, OP_MSG, no flags, one document. */
    PUT("\1\0\0\0" "\0\0\0\0" "\335\7\0\0" "\0\0\0\0" "\0");
    size_t command = open_at_end();
    PUT("\2find\0" "\10\0\0\0" "sbtest1\0");
    PUT("\3filter\0");
    size_t filter = open_at_end();
    PUT("\7_id\0" "\0\0\0\0\0\0\0\0");
    key = request + size;
    PUT("\0\0\0\0");
    close_document(filter);
    PUT("\3projection\0");
    size_t projection = open_at_end();
    PUT("\20c\0" "\1\0\0\0" "\20_id\0" "\0\0\0\0");
    close_document(projection);
    uint32_t length = strlen(database) + 1;
    PUT("\2$db\0");
    put((char *)&length, 4);
    put(database, length);
    close_document(command);
    close_at_end(message);
}

static int is_complete(void) {
    uint32_t length;
    memcpy(&length, reply, 4);
    return received >= 4 && received == length;
}

static void query(uint32_t number) {
    uint32_t big_endian = htonl(number);
    memcpy(key, &big_endian, 4);
    send_all(server, request, size);
    await_reply(server, is_complete);
    /* The last element is {ok: 1.0}. */
    if (memcmp(reply + received - 13, "\1ok\0\0\0\0\0\0\0\360?", 13) != 0) {
        fprintf(stderr, "the server refused a query\n");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 7 || strlen(argv[4]) > 100) {
        fprintf(stderr, "usage: point_query_op_msg SOCKET_DIRECTORY PORT USER DATABASE ROWS SECONDS\n");
        return 2;
    }
    char path[108];
    snprintf(path, sizeof path, "%s/mongodb-%s.sock", argv[1], argv[2]);
    server = connect_to(path);
    write_request(argv[4]);
    query_keys(atoi(argv[5]), atof(argv[6]), query);
    return 0;
}

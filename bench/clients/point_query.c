/* The minimal client of Postgres: point queries in a loop of one send, one poll and one recv, without
 * any library. It draws a key, sends Bind, Execute and Sync of a prepared statement, and checks only
 * both ends of the reply.
 *
 * Usage: point_query SOCKET_DIRECTORY PORT USER DATABASE ROWS SECONDS    (trust authentication)
 * Prints the number of operations and the seconds that they took.
 *
 * Build: cc -O2 -o point_query point_query.c */
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

static char reply[65536];
static size_t received;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static uint32_t random_key(uint64_t *state, uint32_t rows) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 1 + (uint32_t)(((*state >> 32) * rows) >> 32);
}

/* Query keys for `seconds`; print the number of operations and the seconds that they took. */
static void query_keys(uint32_t rows, double seconds, void (*query)(uint32_t key)) {
    uint64_t state = 1;
    long operations = 0;
    double begin = now(), end;
    do {
        query(random_key(&state, rows));
        operations++;
        end = now();
    } while (end - begin < seconds);
    printf("%ld %.6f\n", operations, end - begin);
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socket_fd < 0 || connect(socket_fd, (struct sockaddr *)&address, sizeof address) < 0)
        fail(path);
    return socket_fd;
}

static void send_all(int socket_fd, const char *bytes, size_t size) {
    if (send(socket_fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        fail("send");
}

/* Receive until the reply is complete. */
static void await_reply(int socket_fd, int (*is_complete)(void)) {
    struct pollfd readable = {.fd = socket_fd, .events = POLLIN};
    received = 0;
    do {
        if (poll(&readable, 1, -1) < 0)
            fail("poll");
        ssize_t size = recv(socket_fd, reply + received, sizeof reply - received, 0);
        if (size <= 0)
            fail("recv");
        received += size;
    } while (!is_complete());
}

static int server;

/* ReadyForQuery, the last message of each reply, is 'Z', its length 5, and a state. */
static int ends_ready(void) {
    return received >= 6 && memcmp(reply + received - 6, "Z\0\0\0\5", 5) == 0;
}

static void start(const char *user, const char *database) {
    char message[512] = {0};
    size_t size = 8;
    size += sprintf(message + size, "user") + 1;
    size += sprintf(message + size, "%.100s", user) + 1;
    size += sprintf(message + size, "database") + 1;
    size += sprintf(message + size, "%.100s", database) + 2;
    uint32_t header[2] = {htonl(size), htonl(196608)};
    memcpy(message, header, sizeof header);
    send_all(server, message, size);
    await_reply(server, ends_ready);
}

static void prepare(void) {
    static const char body[] = "s\0SELECT c FROM sbtest1 WHERE id = $1\0\0";
    char message[128] = "P";
    uint32_t length = htonl(4 + sizeof body);
    memcpy(message + 1, &length, 4);
    memcpy(message + 5, body, sizeof body);
    memcpy(message + 5 + sizeof body, "S\0\0\0\4", 5);
    send_all(server, message, 5 + sizeof body + 5);
    await_reply(server, ends_ready);
}

/* Bind with one binary parameter; its four bytes are followed by the result format. */
#define BIND "B\0\0\0\31\0s\0\0\1\0\1\0\1\0\0\0\4"
#define AFTER_KEY "\0\1\0\1E\0\0\0\11\0\0\0\0\0S\0\0\0\4"

static char request[sizeof BIND - 1 + 4 + sizeof AFTER_KEY - 1];

static void query(uint32_t number) {
    uint32_t key = htonl(number);
    memcpy(request + sizeof BIND - 1, &key, 4);
    send_all(server, request, sizeof request);
    await_reply(server, ends_ready);
    if (reply[0] != '2') {
        fprintf(stderr, "the server refused a query\n");
        exit(1);
    }
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: point_query SOCKET_DIRECTORY PORT USER DATABASE ROWS SECONDS\n");
        return 2;
    }
    char path[108];
    snprintf(path, sizeof path, "%s/.s.PGSQL.%s", argv[1], argv[2]);
    server = connect_to(path);
    start(argv[3], argv[4]);
    prepare();
    memcpy(request, BIND, sizeof BIND - 1);
    memcpy(request + sizeof BIND - 1 + 4, AFTER_KEY, sizeof AFTER_KEY - 1);
    query_keys(atoi(argv[5]), atof(argv[6]), query);
    return 0;
}

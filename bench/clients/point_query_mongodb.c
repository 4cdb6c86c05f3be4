/* Point queries by MongoDB's own library for C: for each query a key is drawn, a cursor made of a
 * filter and a projection, and its only document taken.
 *
 * Usage: point_query_mongodb SOCKET_DIRECTORY PORT USER DATABASE ROWS SECONDS    (no authentication)
 * Prints the number of operations and the seconds they took.
 *
 * Build: cc -O2 -o point_query_mongodb point_query_mongodb.c $(pkg-config --cflags --libs libmongoc-1.0) */
#include <arpa/inet.h>
#include <mongoc/mongoc.h>

#include "loop.h"

static mongoc_collection_t *collection;
static bson_t options = BSON_INITIALIZER;

static void query(uint32_t number) {
    bson_oid_t key = {0};
    uint32_t big_endian = htonl(number);
    memcpy(key.bytes + sizeof key.bytes - 4, &big_endian, 4);
    bson_t filter = BSON_INITIALIZER;
    BSON_APPEND_OID(&filter, "_id", &key);
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(collection, &filter, &options, NULL);
    const bson_t *document;
    if (!mongoc_cursor_next(cursor, &document) || mongoc_cursor_next(cursor, &document)) {
        fprintf(stderr, "the server did not return one document\n");
        exit(1);
    }
    mongoc_cursor_destroy(cursor);
    bson_destroy(&filter);
}

/* Return an address in which the slashes of the socket's path are escaped. */
static mongoc_uri_t *address_of(const char *directory, const char *port) {
    char address[600] = "mongodb://";
    size_t size = strlen(address);
    for (; *directory && size < 400; directory++)
        size += sprintf(address + size, *directory == '/' ? "%%2F" : "%c", *directory);
    snprintf(address + size, sizeof address - size, "%%2Fmongodb-%s.sock", port);
    return mongoc_uri_new(address);
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "usage: point_query_mongodb SOCKET_DIRECTORY PORT USER DATABASE ROWS SECONDS\n");
        return 2;
    }
    mongoc_init();
    mongoc_client_t *client = mongoc_client_new_from_uri(address_of(argv[1], argv[2]));
    if (!client) {
        fprintf(stderr, "%s and %s make no address\n", argv[1], argv[2]);
        return 1;
    }
    collection = mongoc_client_get_collection(client, argv[4], "sbtest1");
    BCON_APPEND(&options, "projection", "{", "c", BCON_INT32(1), "_id", BCON_INT32(0), "}");
    query_keys(atoi(argv[5]), atof(argv[6]), query);
    return 0;
}

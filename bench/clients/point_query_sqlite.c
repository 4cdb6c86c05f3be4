/* Point queries of SQLite by the loop that its own speed test has: a statement is prepared once; for
 * each query a key is drawn and bound, the statement is stepped, the text of each column is copied
 * into a buffer of results, and the statement is reset. Nothing is timed but the whole.
 *
 * Usage: point_query_sqlite LIBRARY DATABASE CACHE_SIZE ROWS OPERATIONS
 * Prints the CPU seconds that the operations took.
 *
 * Build: cc -O2 -o point_query_sqlite point_query_sqlite.c -ldl */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char result[3000];

static void *loaded;

static void *function(const char *name) {
    void *found = dlsym(loaded, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static double cpu(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    if (argc != 6 || !(loaded = dlopen(argv[1], RTLD_NOW))) {
        fprintf(stderr, "LIBRARY DATABASE CACHE_SIZE ROWS OPERATIONS: %s\n", dlerror());
        return 1;
    }
    int (*open)(const char *, void **) = function("sqlite3_open");
    int (*exec)(void *, const char *, void *, void *, char **) = function("sqlite3_exec");
    int (*prepare)(void *, const char *, int, void **, const char **) = function("sqlite3_prepare_v2");
    int (*bind)(void *, int, int) = function("sqlite3_bind_int");
    int (*step)(void *) = function("sqlite3_step");
    int (*columns)(void *) = function("sqlite3_column_count");
    const char *(*text)(void *, int) = function("sqlite3_column_text");
    int (*reset)(void *) = function("sqlite3_reset");
    void *database, *statement;
    char pragma[100];
    snprintf(pragma, sizeof pragma, "PRAGMA busy_timeout = 10000; PRAGMA cache_size = %d", atoi(argv[3]));
    if (open(argv[2], &database) || exec(database, pragma, NULL, NULL, NULL) ||
        prepare(database, "SELECT c FROM sbtest1 WHERE id = ?1", -1, &statement, NULL)) {
        fprintf(stderr, "cannot open %s\n", argv[2]);
        return 1;
    }
    uint32_t rows = atoi(argv[4]), state = 1;
    long operations = atol(argv[5]), found = 0;
    double before = cpu();
    for (long operation = 0; operation < operations; operation++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        bind(statement, 1, 1 + state % rows);
        size_t used = 0;
        while (step(statement) == 100 /* SQLITE_ROW */) {
            found++;
            for (int column = 0; column < columns(statement); column++) {
                const char *value = text(statement, column);
                if (!value) value = "nil";
                size_t length = strlen(value);
                if (used + length < sizeof result - 2) {
                    if (used > 0) result[used++] = ' ';
                    memcpy(result + used, value, length + 1);
                    used += length;
                }
            }
        }
        reset(statement);
    }
    printf("%.9f\n", cpu() - before);
    return found == operations ? 0 : 1;
}

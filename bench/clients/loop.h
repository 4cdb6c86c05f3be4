/* What the loops in C of the other programs here are made of: keys, the loop itself, and a Unix
 * socket of which one reply at a time is read. */
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

static inline void fail(const char *what) {
    perror(what);
    exit(1);
}

static inline double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static inline uint32_t random_key(uint64_t *state, uint32_t rows) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return 1 + (uint32_t)(((*state >> 32) * rows) >> 32);
}

/* Query keys for so many seconds; print the number of operations and the seconds they took. */
static inline void query_keys(uint32_t rows, double seconds, void (*query)(uint32_t key)) {
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

static inline int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (socket_fd < 0 || connect(socket_fd, (struct sockaddr *)&address, sizeof address) < 0)
        fail(path);
    return socket_fd;
}

static inline void send_all(int socket_fd, const char *bytes, size_t size) {
    if (send(socket_fd, bytes, size, MSG_NOSIGNAL) != (ssize_t)size)
        fail("send");
}

/* Receive until the reply is complete. */
static inline void await_reply(int socket_fd, int (*is_complete)(void)) {
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

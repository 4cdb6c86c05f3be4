/* Slows a server by a fixed time per reply: preloaded, it waits before each send to a client.
 *
 * The server and Slowdust map the file named by SLOWDUST_DELAY, and Slowdust writes the delay into
 * it. With any delay, including 0, each send reads the clock at least twice and is counted, so that
 * two servers differ only in their delays.
 *
 * It uses only system calls and symbols of the oldest C libraries of 64-bit Linux, because a server
 * may come with a C library that is older than the compiler's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 64

/* A separate cache line for each thread that serves a client, up to SLOTS of them. */
struct slot {
    uint64_t sends;
    uint64_t waited_ns;
    uint64_t unused[6];
};

/* The layout that preloads.py reads and writes. */
struct shared {
    uint64_t delay_ns;
    uint64_t attached;
    uint64_t next_slot;
    uint64_t unused[5];
    struct slot slots[SLOTS];
};

static struct shared *shared;
static __thread struct slot *own_slot;
static __thread int known_fd = -1;
static __thread int known_is_client;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("SLOWDUST_DELAY");
    if (!path) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *address = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (address == MAP_FAILED) return;
    shared = address;
    __atomic_fetch_add(&shared->attached, 1, __ATOMIC_RELAXED);
}

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* A thread sends repeatedly to the same client, so the answer for the last descriptor is cached. */
static int is_client(int fd) {
    if (fd != known_fd) {
        int type = 0;
        socklen_t length = sizeof type;
        known_is_client =
            getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
        known_fd = fd;
    }
    return known_is_client;
}

static void delay(int fd) {
    if (!shared) return;
    int error = errno;
    if (is_client(fd)) {
        if (!own_slot) {
            uint64_t number = __atomic_fetch_add(&shared->next_slot, 1, __ATOMIC_RELAXED);
            own_slot = &shared->slots[number % SLOTS];
        }
        uint64_t begun = now_ns(), now;
        uint64_t end = begun + __atomic_load_n(&shared->delay_ns, __ATOMIC_RELAXED);
        do now = now_ns(); while (now < end);
        __atomic_fetch_add(&own_slot->sends, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&own_slot->waited_ns, now - begun, __ATOMIC_RELAXED);
    }
    errno = error;
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
    delay(fd);
    return syscall(SYS_sendto, fd, data, size, flags, NULL, 0);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t length) {
    delay(fd);
    return syscall(SYS_sendto, fd, data, size, flags, address, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    delay(fd);
    return syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t write(int fd, const void *data, size_t size) {
    delay(fd);
    return syscall(SYS_write, fd, data, size);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    delay(fd);
    return syscall(SYS_writev, fd, parts, count);
}

/* Starts and stops counting in callgrind for Slowdust; preloaded into a server under valgrind.
 *
 * The server and Slowdust map the file named by SLOWDUST_COUNT, and Slowdust writes commands into
 * it. The thread that serves the client checks it before it reads the next message, executes the
 * command by a client request to callgrind, and acknowledges it. So a window begins and ends at the
 * same point of the server's loop, and no debugger has to stop the server. If a command names a
 * thread, the others ignore it. The first and the last command are also executed right after the
 * read of a message: a thread that waits in the read cannot execute them earlier before its first
 * operation, nor later after its client has disconnected.
 *
 * It uses only system calls and symbols of the oldest C libraries of 64-bit Linux, because a server
 * may come with a C library that is older than the compiler's.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

enum { START = 1, DUMP = 2, STOP = 3, START_AT_ONCE = 4, FINISH = 5 };

/* The layout that callgrind.py reads and writes. */
struct orders {
    uint64_t number;       /* of the newest command */
    uint64_t kind;
    uint64_t acknowledged; /* number of the last executed command */
    uint64_t process;      /* that executed it */
    uint64_t thread;       /* that has to execute it; 0: any that reads */
};

static volatile struct orders *orders;
static uint64_t done;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("SLOWDUST_COUNT");
    if (!path) return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *address = mmap(NULL, sizeof(*orders), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (address == MAP_FAILED) return;
    orders = address;
    done = orders->number;
}

/* Its name in callgrind's output identifies the thread that serves the client. */
__attribute__((noinline, visibility("default"))) void slowdust_order(void) {
    uint64_t number = orders->number;
    done = number;
    if (orders->kind == START || orders->kind == START_AT_ONCE) {
        CALLGRIND_START_INSTRUMENTATION;
        CALLGRIND_ZERO_STATS;
    } else if (orders->kind == DUMP) {
        CALLGRIND_DUMP_STATS_AT("slowdust");
    } else if (orders->kind == STOP) {
        CALLGRIND_STOP_INSTRUMENTATION;
    } else if (orders->kind == FINISH) {
        CALLGRIND_DUMP_STATS_AT("slowdust");
        CALLGRIND_STOP_INSTRUMENTATION;
    }
    orders->process = (uint64_t)getpid();
    __atomic_store_n(&orders->acknowledged, number, __ATOMIC_RELEASE);
}

/* Returns whether there is a command for this thread. */
static int is_due(void) {
    if (!orders || __atomic_load_n(&orders->number, __ATOMIC_ACQUIRE) == done) return 0;
    return orders->thread == 0 || orders->thread == (uint64_t)syscall(SYS_gettid);
}

ssize_t recv(int socket, void *buffer, size_t length, int flags) {
    if (is_due()) slowdust_order();
    ssize_t read = syscall(SYS_recvfrom, socket, buffer, length, flags, NULL, NULL);
    if (is_due() && orders->kind >= START_AT_ONCE) slowdust_order();
    return read;
}

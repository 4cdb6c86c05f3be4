/* Counts and times a server's calls that wait until data is on disk; preloaded into the server.
 *
 * All processes of the server and Slowdust map the file named by SLOWDUST_SYNCS, and Slowdust reads
 * the totals. If SLOWDUST_SYNC_DELAY is set, each call takes that many microseconds longer: the
 * thread sleeps after the call has succeeded.
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
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The layout that preloads.py reads, with one cache line per call. */
struct total {
    uint64_t calls;
    uint64_t waited_ns;
    uint64_t unused[6];
};

struct shared {
    uint64_t attached;
    uint64_t unused[7];
    struct total fsync, fdatasync, sync_file_range;
};

static struct shared *shared;
static uint64_t delay_ns;

__attribute__((constructor)) static void attach(void) {
    const char *delay = getenv("SLOWDUST_SYNC_DELAY");
    if (delay) delay_ns = 1000u * strtoull(delay, NULL, 10);
    const char *path = getenv("SLOWDUST_SYNCS");
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

static void wait_longer(void) {
    struct timespec rest = {(time_t)(delay_ns / 1000000000u), (long)(delay_ns % 1000000000u)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {}
}

/* Calls, waits, and adds both up. A failed call is not lengthened. */
#define TIMED(total, call)                                                              \
    uint64_t begun = now_ns();                                                          \
    int result = (int)(call);                                                           \
    int error = errno;                                                                  \
    if (result == 0 && delay_ns) wait_longer();                                         \
    if (shared) {                                                                       \
        __atomic_fetch_add(&shared->total.calls, 1, __ATOMIC_RELAXED);                  \
        __atomic_fetch_add(&shared->total.waited_ns, now_ns() - begun, __ATOMIC_RELAXED); \
    }                                                                                   \
    errno = error;                                                                      \
    return result

int fsync(int fd) { TIMED(fsync, syscall(SYS_fsync, fd)); }

int fdatasync(int fd) { TIMED(fdatasync, syscall(SYS_fdatasync, fd)); }

int sync_file_range(int fd, off64_t offset, off64_t bytes, unsigned int flags) {
    TIMED(sync_file_range, syscall(SYS_sync_file_range, fd, offset, bytes, flags));
}

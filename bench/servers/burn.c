/* Adds a known number of instructions to a server: preloaded, it counts down before each send, from
 * the number in the file that SLOWDUST_BURN names. Only the benchmark writes the file.
 *
 * It uses only system calls and symbols of the oldest C libraries of 64-bit Linux, because a server
 * may have an older C library than the compiler.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile const uint64_t *rounds;

__attribute__((constructor)) static void attach(void) {
    const char *path = getenv("SLOWDUST_BURN");
    if (!path) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    void *address = mmap(NULL, sizeof(uint64_t), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (address != MAP_FAILED) rounds = address;
}

ssize_t send(int fd, const void *data, size_t size, int flags) {
    if (rounds)
        for (uint64_t left = *rounds; left > 0; left--) __asm__ volatile("");
    return syscall(SYS_sendto, fd, data, size, flags, NULL, 0);
}

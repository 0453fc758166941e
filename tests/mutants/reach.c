/* SPDX-License-Identifier: BSD-3-Clause */
/* Which functions does a program enter?  Preloaded by tools/mutants: puts a
 * breakpoint on each address that REACH_LIST names, takes it away when it is
 * hit, and sets a byte of the file REACH_HIT, which children share.  Does
 * nothing in other programs than REACH_OF, and nothing but on x86-64. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__
enum { TRAP = 0xcc, TRAPS_MAX = 1 << 16 };

static struct {
    uintptr_t at;
    unsigned char was;
} traps[TRAPS_MAX];
static size_t traps_n;
static unsigned char *hit;

static void entered(int sig, siginfo_t *info, void *context)
{
    greg_t *ip = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    uintptr_t at = (uintptr_t)*ip - 1;
    size_t lo = 0, hi = traps_n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (traps[mid].at < at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == traps_n || traps[lo].at != at) {
        signal(sig, SIG_DFL); /* the program's own */
        return;
    }
    hit[lo] = 1;
    *(volatile unsigned char *)at = traps[lo].was;
    *ip = (greg_t)at;
}

static int first_object(struct dl_phdr_info *info, size_t size, void *base)
{
    *(uintptr_t *)base = info->dlpi_addr;
    return 1;
}

__attribute__((constructor)) static void reach(void)
{
    const char *of = getenv("REACH_OF"), *list = getenv("REACH_LIST");
    const char *to = getenv("REACH_HIT");
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (!of || !list || !to || n < 0)
        return;
    exe[n] = 0;
    if (strcmp(exe, of) != 0)
        return;
    uintptr_t base = 0;
    dl_iterate_phdr(first_object, &base);
    FILE *f = fopen(list, "r");
    if (!f)
        return;
    unsigned long at;
    while (traps_n < TRAPS_MAX && fscanf(f, "%lx", &at) == 1)
        traps[traps_n++].at = base + at;
    fclose(f);
    int fd = open(to, O_RDWR | O_CLOEXEC);
    if (fd < 0 || traps_n == 0)
        return;
    hit = mmap(NULL, traps_n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = traps[0].at & ~(page - 1);
    struct sigaction act = {.sa_sigaction = entered,
                            .sa_flags = SA_SIGINFO | SA_NODEFER};
    if (hit == MAP_FAILED || sigaction(SIGTRAP, &act, NULL) < 0 ||
        mprotect((void *)from, traps[traps_n - 1].at + 1 - from,
                 PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
        return;
    for (size_t i = 0; i < traps_n; i++) {
        traps[i].was = *(unsigned char *)traps[i].at;
        *(volatile unsigned char *)traps[i].at = TRAP;
    }
}
#endif

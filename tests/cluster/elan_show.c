/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A task that tells what it was given: RMS_*, its program's number and the
 * contexts of its capabilities; one line.  Words after the program's name do
 * more:
 *     setcap INDEX CTX     rms_setcap(), prints the result
 *     members              pids of the program
 *     stats                figures of the program
 *     signal N             rms_prgsignal() to its own program
 *     other ID             asks for another program's capability
 *     until FILE           waits until it is there
 *     key                  prints the keys, a line for each rail: for tests
 *                          that look for them
 *     burn MS              use that much CPU in a child that ends
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "elan/rmscall.h"

static const char *get(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "-";
}

static void show_caps(void)
{
    ELAN_CAPABILITY cap;
    int n = 0;

    if (rms_ncaps(&n) < 0) {
        printf(" caps=%s", strerror(errno));
        return;
    }
    printf(" caps=%d", n);
    for (int i = 0; i < n; i++) {
        if (rms_getcap(i, &cap) < 0)
            printf(" cap%d=%s", i, strerror(errno));
        else
            printf(" cap%d=%s%s%s,ctx=%d,of=%d-%d,nodes=%d-%d,entries=%d,"
                   "rail=%u",
                   i,
                   (cap.Type & ELAN_CAP_TYPE_MASK) == ELAN_CAP_TYPE_BLOCK
                       ? "block"
                       : "cyclic",
                   cap.Type & ELAN_CAP_TYPE_BROADCASTABLE ? "+bc" : "",
                   cap.Type & ELAN_CAP_TYPE_MAPPED ? "+map" : "", cap.MyContext,
                   cap.LowContext, cap.HighContext, cap.LowNode, cap.HighNode,
                   cap.Entries, cap.RailMask);
    }
    memset(&cap, 0, sizeof(cap));
}

static void show(void)
{
    static const char *const names[] = {"NNODES", "NPROCS", "NODEID",
                                        "PROCID", "RANK",   "JOBID"};
    char name[32];
    int id;

    printf("task %s node %s", get("SLURM_PROCID"), get("SLURMD_NODENAME"));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(name, sizeof(name), "RMS_%s", names[i]);
        printf(" %s=%s", name, get(name));
    }
    printf(" RMS_RESOURCEID=%s RMS_MACHINE=%s", get("RMS_RESOURCEID"),
           get("RMS_MACHINE"));
    if (rms_getprgid(0, &id) == 0)
        printf(" prg=%d", id);
    else
        printf(" prg=%s", strerror(errno));
    show_caps();
    printf("\n");
    fflush(stdout);
}

static int own_program(void)
{
    int id = 0;

    if (rms_getprgid(0, &id) < 0)
        printf("getprgid: %s\n", strerror(errno));
    return id;
}

static void show_members(void)
{
    pid_t pids[1024];
    int n, own = 0;

    if (rms_prginfo(own_program(), 1024, pids, &n) < 0) {
        printf("prginfo: %s\n", strerror(errno));
        return;
    }
    for (int i = 0; i < n && i < 1024; i++)
        own |= pids[i] == getpid();
    printf("members %d, me %s\n", n, own ? "yes" : "no");
}

static void show_stats(void)
{
    struct rms_prgstats s;

    if (rms_prggetstats(own_program(), &s) < 0)
        printf("stats: %s\n", strerror(errno));
    else
        printf("stats cpu_ms=%llu mem_kb=%llu now=%u seen=%u\n",
               (unsigned long long)(s.prg_utime_us + s.prg_stime_us) / 1000,
               (unsigned long long)s.prg_maxmem / 1024, s.prg_now, s.prg_seen);
}

static void show_key(void)
{
    ELAN_CAPABILITY cap;

    for (int i = 0; rms_getcap(i, &cap) == 0; i++)
        printf("key %08x %08x %08x %08x\n", cap.UserKey.Values[0],
               cap.UserKey.Values[1], cap.UserKey.Values[2],
               cap.UserKey.Values[3]);
    memset(&cap, 0, sizeof(cap));
}

static void burn(long ms)
{
    pid_t pid = fork();

    if (pid == 0) {
        while (clock() < ms * (CLOCKS_PER_SEC / 1000))
            for (volatile int i = 0; i < 1000000; i++)
                ;
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

/* Until that file is there; ten minutes at most. */
static void wait_for(const char *file)
{
    fflush(stdout);
    for (int i = 0; i < 12000 && access(file, F_OK) < 0; i++)
        poll(NULL, 0, 50);
}

static void report(const char *what, int rc)
{
    printf("%s: %s\n", what, rc < 0 ? strerror(errno) : "ok");
}

int main(int argc, char **argv)
{
    show();
    for (int i = 1; i < argc; i++) {
        long n = i + 1 < argc ? atol(argv[i + 1]) : 0;

        if (strcmp(argv[i], "setcap") == 0 && i + 2 < argc) {
            report("setcap", rms_setcap((int)n, atoi(argv[i + 2])));
            i += 2;
        } else if (strcmp(argv[i], "members") == 0) {
            show_members();
        } else if (strcmp(argv[i], "key") == 0) {
            show_key();
        } else if (strcmp(argv[i], "stats") == 0) {
            show_stats();
        } else if (strcmp(argv[i], "signal") == 0) {
            report("signal", rms_prgsignal(own_program(), (int)n));
            i++;
        } else if (strcmp(argv[i], "other") == 0) {
            report("other", rms_prgsignal((int)n, 0));
            i++;
        } else if (strcmp(argv[i], "until") == 0 && i + 1 < argc) {
            wait_for(argv[++i]);
        } else if (strcmp(argv[i], "burn") == 0) {
            burn(n);
            i++;
        }
        fflush(stdout);
    }
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * disturb PERCENT COMMAND...: run a command on a machine that somebody else
 * uses as well: on each processor a process of higher real-time priority takes
 * PERCENT of the time in bursts of 0.5 to 4.5 ms, as the host of a virtual
 * machine or a system service does.  Exits as the command does; 125 if it
 * could not be run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BURST_LEAST_US 500
#define BURST_MOST_US 4500
#define PRIORITY 50 /* above bench/run --realtime */
#define FAILED 125

static uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* xorshift: each processor's bursts are its own, and the same in each run. */
static uint32_t next(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void burst(unsigned us)
{
    uint64_t end = now_us() + us;

    while (now_us() < end)
        ;
}

/* A burst, then a rest whose mean gives the share. */
static void disturb(int cpu, unsigned percent)
{
    const unsigned mean = (BURST_LEAST_US + BURST_MOST_US) / 2;
    unsigned rest = mean * (100 - percent) / percent;
    uint32_t state = 0x9e3779b9u * ((uint32_t)cpu + 1);

    for (;;) {
        burst(BURST_LEAST_US +
              next(&state) % (BURST_MOST_US - BURST_LEAST_US + 1));
        usleep(1 + next(&state) % (2 * rest));
    }
}

static int start(int cpu, unsigned percent)
{
    struct sched_param p = {.sched_priority = PRIORITY};
    pid_t parent = getpid(), pid = fork();
    cpu_set_t set;

    if (pid != 0)
        return pid < 0 ? -1 : 0;
    CPU_ZERO(&set);
    CPU_SET((size_t)cpu, &set);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
        sched_setaffinity(0, sizeof(set), &set) < 0 ||
        sched_setscheduler(0, SCHED_FIFO, &p) < 0) {
        fprintf(stderr, "disturb: processor %d: %s\n", cpu, strerror(errno));
        kill(parent, SIGTERM);
        _exit(FAILED);
    }
    disturb(cpu, percent);
    return 0;
}

static int run(char **command)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        execvp(command[0], command);
        fprintf(stderr, "disturb: %s: %s\n", command[0], strerror(errno));
        _exit(FAILED);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
    unsigned percent = argc > 2 ? (unsigned)atoi(argv[1]) : 0;
    cpu_set_t set;

    if (percent < 1 || percent > 90) {
        fprintf(stderr, "usage: disturb PERCENT(1-90) COMMAND...\n");
        return FAILED;
    }
    if (sched_getaffinity(0, sizeof(set), &set) < 0) {
        perror("disturb: sched_getaffinity");
        return FAILED;
    }
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &set) && start(cpu, percent) < 0) {
            perror("disturb: fork");
            return FAILED;
        }
    return run(argv + 2);
}

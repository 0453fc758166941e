/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program on one node without Slurm: the part that pdsh played for RMS, on
 * libelan alone.  For tests of a driver or an MPI library before there is a
 * Slurm, and as the shortest example of what a job manager has to call.
 *
 *     elan_run -n TASKS -u UID [-c CONTEXT] [-e ELAN-ID] PROGRAM [ARG...]
 *
 * Run as root.  Number and key are random, contexts are what is asked for:
 * nobody sees to it that they are free, which is switch/elan's part.
 * Build: cc -o elan_run elan_run.c -lelan
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include <elan/rmscall.h>

struct run {
    int number, tasks, context, elan_id;
    uid_t uid;
    char **argv;
};

static int fail(const char *what)
{
    fprintf(stderr, "elan_run: %s: %s\n", what, strerror(errno));
    return 1;
}

static int fill(ELAN_CAPABILITY *cap, const struct run *r)
{
    elan3_nullcap(cap);
    if (getrandom(&cap->UserKey, sizeof(cap->UserKey), 0) < 0)
        return -1;
    cap->Type = ELAN_CAP_TYPE_BLOCK | ELAN_CAP_TYPE_BROADCASTABLE;
    cap->LowContext = r->context;
    cap->HighContext = r->context + r->tasks - 1;
    cap->LowNode = cap->HighNode = r->elan_id;
    cap->Entries = r->tasks;
    cap->RailMask = 1;
    for (int i = 0; i < r->tasks; i++)
        cap->Bitmap[i / 32] |= 1u << i % 32;
    return 0;
}

static void put(const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof(text), "%d", value);
    setenv(name, text, 1);
}

/* A member already, as who forked it is. */
static int task(const struct run *r, int i)
{
    if (setgroups(0, NULL) < 0 || setgid((gid_t)r->uid) < 0 ||
        setuid(r->uid) < 0)
        return fail("setuid");
    if (rms_setcap(0, i) < 0)
        return fail("rms_setcap");
    put("RMS_NNODES", 1);
    put("RMS_NODEID", 0);
    put("RMS_NPROCS", r->tasks);
    put("RMS_PROCID", i);
    put("RMS_RANK", i);
    execvp(r->argv[0], r->argv);
    return fail(r->argv[0]);
}

/* The worst exit code of all children. */
static int wait_all(void)
{
    int worst = 0, status;

    while (wait(&status) > 0) {
        int code =
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);

        worst = code > worst ? code : worst;
    }
    return worst;
}

/* Makes the program, of which it is a member from then on. */
static int manage(const struct run *r)
{
    ELAN_CAPABILITY cap;

    if (rms_prgcreate(r->number, r->uid, r->tasks) < 0)
        return fail("rms_prgcreate");
    if (fill(&cap, r) < 0 || rms_prgaddcap(r->number, 0, &cap) < 0)
        return fail("rms_prgaddcap");
    memset(&cap, 0, sizeof(cap));
    for (int i = 0; i < r->tasks; i++) {
        pid_t pid = fork();

        if (pid < 0)
            return fail("fork");
        if (pid == 0)
            _exit(task(r, i));
    }
    return wait_all();
}

static int parse(struct run *r, int argc, char **argv)
{
    int opt;

    while ((opt = getopt(argc, argv, "+n:u:c:e:")) != -1)
        switch (opt) {
        case 'n':
            r->tasks = atoi(optarg);
            break;
        case 'u':
            r->uid = (uid_t)atoi(optarg);
            break;
        case 'c':
            r->context = atoi(optarg);
            break;
        case 'e':
            r->elan_id = atoi(optarg);
            break;
        default:
            return -1;
        }
    r->argv = argv + optind;
    return optind < argc && r->tasks > 0 && r->uid > 0 && r->elan_id >= 0 &&
                   r->context >= ELAN_RMS_BASE_CONTEXT_NUM &&
                   r->tasks <= ELAN_RMS_TOP_CONTEXT_NUM + 1 - r->context
               ? 0
               : -1;
}

int main(int argc, char **argv)
{
    struct run r = {.context = ELAN_RMS_BASE_CONTEXT_NUM};
    pid_t pid;
    int code;

    if (parse(&r, argc, argv) < 0) {
        fprintf(stderr, "usage: elan_run -n TASKS -u UID [-c CONTEXT] "
                        "[-e ELAN-ID] PROGRAM [ARG...]\n");
        return 2;
    }
    if (getrandom(&r.number, sizeof(r.number), 0) < 0)
        return fail("getrandom");
    r.number = (r.number & 0x3fffffff) + 1;
    pid = fork();
    if (pid < 0)
        return fail("fork");
    if (pid == 0)
        exit(manage(&r));
    code = wait_all();
    /* When the manager has ended, the holder may be quicker. */
    if (rms_prgdestroy(r.number) < 0 && errno != ENOENT)
        return fail("rms_prgdestroy");
    return code;
}

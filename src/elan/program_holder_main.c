/* SPDX-License-Identifier: BSD-3-Clause
 *
 * elan-holder: the holder as a program of its own, so that starting one copies
 * nothing of slurmstepd.
 *
 *     elan-holder NUMBER UID NCAPS RUNDIR [AGENT]    with the lifeline as fd 3
 *
 * It is installed for root's daemons, but anybody can run it, with anything:
 * so what it is told is checked here, and who started it is what the kernel
 * says of the lifeline.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "elan/program_holder_priv.h"

/* A decimal number up to max, and nothing else. */
static int parse_number(const char *text, unsigned long max,
                        unsigned long *value)
{
    char *end;

    errno = 0;
    *value = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && !*end && errno == 0 &&
                   *value <= max
               ? 0
               : -1;
}

/* Only who could put sockets there anyway may name a directory. */
static int check_rundir(const char *path, struct errbuf *err)
{
    struct stat st;

    if (path[0] == '/' && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
        st.st_uid == geteuid() && (st.st_mode & 022) == 0)
        return 0;
    return errprintf(err, "%s: not a directory that only uid %u can write",
                     path, (unsigned)geteuid());
}

static int parse(struct program_spec *spec, int argc, char **argv,
                 struct errbuf *err)
{
    unsigned long number, uid, ncaps;

    if (argc != 5 && argc != 6)
        return errprintf(err, "expected NUMBER UID NCAPS RUNDIR [AGENT]");
    if (parse_number(argv[1], INT_MAX, &number) < 0 || number == 0)
        return errprintf(err, "NUMBER '%.32s': expected 1 to %d", argv[1],
                         INT_MAX);
    if (parse_number(argv[2], UINT_MAX - 1, &uid) < 0)
        return errprintf(err, "UID '%.32s': expected a number", argv[2]);
    if (parse_number(argv[3], SF_PROGRAM_CAPS_MAX, &ncaps) < 0)
        return errprintf(err, "NCAPS '%.32s': expected 0 to %d", argv[3],
                         SF_PROGRAM_CAPS_MAX);
    if (check_rundir(argv[4], err) < 0)
        return -1;
    if (argc == 6 && argv[5][0] != '/')
        return errprintf(err, "AGENT '%.64s': expected a path", argv[5]);
    *spec = (struct program_spec){.number = (int)number,
                                  .uid = (uid_t)uid,
                                  .ncaps = (int)ncaps,
                                  .rundir = argv[4],
                                  .agent = argc == 6 ? argv[5] : NULL};
    return 0;
}

/* Who holds the other end of the lifeline; -1: there is none. */
static pid_t find_starter(void)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int type = 0;

    if (getsockopt(PROGRAM_LIFELINE, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -1;
    len = sizeof(type);
    if (getsockopt(PROGRAM_LIFELINE, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
        type != SOCK_SEQPACKET || cred.uid != geteuid() || cred.pid <= 0)
        return -1;
    return cred.pid;
}

/* The starter has taken care of signals, session and descriptors.  No cores:
 * they would hold the key. */
static void become_daemon(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    prctl(PR_SET_DUMPABLE, 0);
    fcntl(PROGRAM_LIFELINE, F_SETFD, FD_CLOEXEC);
    umask(022);
    (void)!chdir("/");
}

int main(int argc, char **argv)
{
    struct program_spec spec;
    struct errbuf err = {""};
    pid_t starter = find_starter(), child;

    if (starter < 0) {
        fprintf(stderr, "elan-holder is started by switch/elan\n");
        return 2;
    }
    become_daemon();
    if (parse(&spec, argc, argv, &err) < 0) {
        program_holder_refuse(PROGRAM_LIFELINE, EINVAL, &err);
        return 2;
    }
    /* Not the starter's child: Slurm looks after those of slurmstepd. */
    child = fork();
    if (child < 0) {
        errprintf(&err, "fork: %s", strerror(errno));
        program_holder_refuse(PROGRAM_LIFELINE, EAGAIN, &err);
        return 1;
    }
    if (child == 0)
        program_holder_run(PROGRAM_LIFELINE, &spec, starter);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * elan-holder: the holder as a program of its own, so that starting one copies
 * nothing of slurmstepd.
 *
 *     elan-holder NUMBER UID NCAPS LINGER_MS RUNDIR [AGENT [descent]]
 *
 * with the lifeline as fd 3.  Whoever takes it for another program says the
 * same words in one record on the new lifeline.
 *
 * It is installed for root's daemons, but anybody can run it, with anything:
 * so what it is told is checked here, and who started it is what the kernel
 * says of the lifeline.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/daemon_args.h"
#include "base/limits.h"
#include "base/number.h"
#include "elan/program_holder_priv.h"
#include "elan/program_spare.h"

#define HEAR_MS 10000 /* from connecting until it has said what it wants */

/* Only a user who could put sockets there anyway may name a directory. */
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
    uint32_t number, uid, ncaps, linger;

    if (argc < 6 || argc > 8)
        return errprintf(err,
                         "expected NUMBER UID NCAPS LINGER_MS RUNDIR [AGENT "
                         "[descent]]");
    if (number_parse(&number, argv[1], 1, INT_MAX) < 0)
        return errprintf(err, "NUMBER '%.32s': expected 1 to %d", argv[1],
                         INT_MAX);
    if (number_parse(&uid, argv[2], 0, UINT_MAX - 1) < 0)
        return errprintf(err, "UID '%.32s': expected a number", argv[2]);
    if (number_parse(&ncaps, argv[3], 0, SF_PROGRAM_CAPS_MAX) < 0)
        return errprintf(err, "NCAPS '%.32s': expected 0 to %d", argv[3],
                         SF_PROGRAM_CAPS_MAX);
    if (number_parse(&linger, argv[4], 0, INT_MAX) < 0)
        return errprintf(err, "LINGER_MS '%.32s': expected 0 to %d", argv[4],
                         INT_MAX);
    if (check_rundir(argv[5], err) < 0)
        return -1;
    if (argc > 6 && argv[6][0] != '/')
        return errprintf(err, "AGENT '%.64s': expected a path", argv[6]);
    if (argc == 8 && strcmp(argv[7], PROGRAM_WORD_DESCENT) != 0)
        return errprintf(err, "'%.32s': expected " PROGRAM_WORD_DESCENT,
                         argv[7]);
    *spec = (struct program_spec){.number = (int)number,
                                  .uid = (uid_t)uid,
                                  .ncaps = (int)ncaps,
                                  .linger_ms = (int)linger,
                                  .rundir = argv[5],
                                  .agent = argc > 6 ? argv[6] : NULL,
                                  .descent = argc == 8};
    return 0;
}

/* The process at the other end of the lifeline; -1: there is none. */
static pid_t find_starter(int lifeline)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int type = 0;

    if (getsockopt(lifeline, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -1;
    len = sizeof(type);
    if (getsockopt(lifeline, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
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

/* The words of a record; how many, 0: it is none. */
static int split(char *words[PROGRAM_WORDS_MAX + 1], char *text, size_t len)
{
    int n = 0;

    if (len == 0 || text[len - 1] != '\0')
        return 0;
    for (char *p = text; p < text + len; p += strlen(p) + 1) {
        if (n == PROGRAM_WORDS_MAX)
            return 0;
        words[n++] = p;
    }
    words[n] = NULL;
    return n;
}

/* The next program's starter says what it is. */
static bool hear(int lifeline, struct program_spec *spec)
{
    static char text[PROGRAM_SPEC_MAX]; /* *spec points into it */
    struct pollfd p = {.fd = lifeline, .events = POLLIN};
    char *words[PROGRAM_WORDS_MAX + 1];
    struct errbuf err;
    ssize_t n =
        poll(&p, 1, HEAR_MS) == 1 ? recv(lifeline, text, sizeof(text), 0) : -1;

    if (n <= 0)
        return false;
    if (parse(spec, split(words, text, (size_t)n), words, &err) == 0)
        return true;
    program_holder_refuse(lifeline, EINVAL, &err);
    return false;
}

/* One program after the other, until none comes for a while. */
static void hold(int lifeline, struct program_spec *spec, pid_t starter)
{
    struct program_kept kept = PROGRAM_KEPT_NONE;
    bool good;

    do {
        good = starter > 0 &&
               program_holder_run(lifeline, spec, starter, &kept) &&
               spec->linger_ms > 0;
        close(lifeline);
        lifeline =
            good ? program_spare_wait(spec->rundir, spec->linger_ms, &kept)
                 : -1;
        starter = lifeline >= 0 ? find_starter(lifeline) : -1;
    } while (lifeline >= 0 && hear(lifeline, spec));
}

static const struct daemon_program program = {
    .name = "elan-holder",
    .what = "elan-holder is started by switch/elan in slurmstepd."};

int main(int argc, char **argv)
{
    struct program_spec spec;
    struct errbuf err = {""};
    pid_t starter, child;

    if (daemon_args_asked(&program, argc, argv))
        return 0;
    starter = find_starter(PROGRAM_LIFELINE);
    if (starter < 0) {
        fprintf(stderr, "%s\n", program.what);
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
        hold(PROGRAM_LIFELINE, &spec, starter);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/local.h"
#include "elan/program_expect.h"
#include "elan/program_spare.h"

#define WAITS "spare-" /* KEY-PID of the holder */
#define TAKEN "taken-" /* PID of the taker */
#define TAKE_MS 10000  /* from taking its name until connecting */
#define PATH_SIZE 108  /* of a socket */
#define KEY_SIZE 20

/* FNV-1a */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    for (int i = 0; i < 8; i++)
        hash = (hash ^ (value >> (8 * i) & 0xff)) * 0x100000001b3;
    return hash;
}

static int make_key(char key[KEY_SIZE], const char *executable)
{
    struct stat exe, ns;
    uint64_t hash = 0xcbf29ce484222325;

    if (stat(executable, &exe) < 0 || stat("/proc/self/ns/mnt", &ns) < 0)
        return -1;
    hash = mix(mix(hash, exe.st_dev), exe.st_ino);
    hash = mix(mix(hash, (uint64_t)exe.st_ctim.tv_sec),
               (uint64_t)exe.st_ctim.tv_nsec);
    hash = mix(mix(hash, ns.st_dev), ns.st_ino);
    snprintf(key, KEY_SIZE, "%016" PRIx64, hash);
    return 0;
}

static bool begins_with(const char *name, const char *word)
{
    return strncmp(name, word, strlen(word)) == 0;
}

static bool make_path(char path[PATH_SIZE], const char *dir, const char *name)
{
    return snprintf(path, PATH_SIZE, "%s/%s", dir, name) < PATH_SIZE;
}

/* ---- the holder ----------------------------------------------------------*/

static int count_waiting(const char *rundir)
{
    DIR *d = opendir(rundir);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += begins_with(e->d_name, WAITS);
    if (d)
        closedir(d);
    return n;
}

/* Nobody but our own uid may connect; who does, has taken us. */
static int accept_starter(int listener)
{
    struct ucred cred;
    socklen_t len = sizeof(cred);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

    if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
        cred.uid == geteuid() && cred.pid > 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Hear of those who touch the file; a watch goes with its file. */
static int watch(struct program_kept *kept, const char *path)
{
    if (kept->news < 0)
        kept->news = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    return kept->news < 0 ? -1 : inotify_add_watch(kept->news, path, IN_ATTRIB);
}

/* Read what was heard; is there something by that watch? */
static bool was_touched(int news, int watch)
{
    _Alignas(struct inotify_event) char buf[1024];
    bool touched = false;
    ssize_t n;

    while ((n = read(news, buf, sizeof(buf))) > 0)
        for (char *p = buf; p < buf + n;) {
            const struct inotify_event *e = (const void *)p;

            touched |= e->wd == watch && (e->mask & IN_ATTRIB);
            p += sizeof(*e) + e->len;
        }
    return touched;
}

/* Wait until a process connects; meanwhile prepare for the processes that are
 * announced.  false: none connected in that time. */
static bool await(int listener, int wait_ms, const struct program_kept *kept,
                  int watch)
{
    struct pollfd p[] = {{.fd = listener, .events = POLLIN},
                         {.fd = kept->news, .events = POLLIN}};
    int64_t end = clock_ms() + wait_ms, rest = wait_ms;
    struct program_expect expect;

    program_expect_init(&expect);
    while (rest > 0) {
        int move = program_expect_move(&expect);

        if (poll(p, 2, move >= 0 && move < rest ? move : (int)rest) < 0 ||
            p[0].revents)
            break;
        if (p[1].revents && was_touched(kept->news, watch))
            program_expect_begin_by(&expect, kept->way);
        rest = end - clock_ms();
    }
    program_expect_end(&expect);
    return p[0].revents;
}

/* Our name is there as long as nobody has taken us: if we can remove it, nobody
 * will come. */
static int wait_at(int listener, const char *path, int wait_ms,
                   struct program_kept *kept)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    bool here = await(listener, wait_ms, kept, watch(kept, path));

    if (!here && unlink(path) == 0)
        return -1;
    if (!here)
        here = poll(&p, 1, TAKE_MS) > 0;
    return here ? accept_starter(listener) : -1;
}

/* What has the name listens already. */
static int listen_at(const char *rundir, const char *path)
{
    char own[PATH_SIZE], name[32];
    int fd;

    snprintf(name, sizeof(name), "new-%d", (int)getpid());
    if (!make_path(own, rundir, name))
        return -1;
    fd = local_listen_new(own, SOCK_SEQPACKET);
    if (fd >= 0 && rename(own, path) < 0) {
        unlink(own);
        close(fd);
        fd = -1;
    }
    return fd;
}

int program_spare_wait(const char *rundir, int wait_ms,
                       struct program_kept *kept)
{
    char key[KEY_SIZE], name[64], path[PATH_SIZE];
    int listener, fd;

    if (make_key(key, "/proc/self/exe") < 0 ||
        count_waiting(rundir) >= SF_PROGRAM_SPARES_MAX)
        return -1;
    snprintf(name, sizeof(name), WAITS "%s-%d", key, (int)getpid());
    if (!make_path(path, rundir, name))
        return -1;
    listener = listen_at(rundir, path);
    if (listener < 0)
        return -1;
    fd = wait_at(listener, path, wait_ms, kept);
    close(listener);
    return fd;
}

/* ---- the starter ---------------------------------------------------------*/

/* Ours, when the renaming succeeds: of several that try, one. */
static int take(const char *rundir, const char *name)
{
    char from[PATH_SIZE], to[PATH_SIZE], own[32];
    int fd;

    snprintf(own, sizeof(own), TAKEN "%d", (int)getpid());
    if (!make_path(from, rundir, name) || !make_path(to, rundir, own) ||
        rename(from, to) < 0)
        return -1;
    fd = local_connect(to, SOCK_SEQPACKET, 0);
    unlink(to);
    return fd;
}

int program_spare_take(const char *rundir, const char *holder)
{
    char key[KEY_SIZE], word[sizeof(WAITS) + KEY_SIZE];
    struct dirent *e;
    DIR *d;
    int fd = -1;

    if (make_key(key, holder) < 0 || !(d = opendir(rundir)))
        return -1;
    snprintf(word, sizeof(word), WAITS "%s-", key);
    while (fd < 0 && (e = readdir(d)))
        if (begins_with(e->d_name, word))
            fd = take(rundir, e->d_name);
    closedir(d);
    return fd;
}

/* Not asked by connecting, which would be to take it. */
bool program_spare_is_left(const char *name)
{
    const char *dash = strrchr(name, '-');
    long pid = dash ? strtol(dash + 1, NULL, 10) : 0;

    return (begins_with(name, WAITS) || begins_with(name, TAKEN)) && pid > 1 &&
           kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Any that lives will do: what it makes ready is the machine's. */
void program_spare_tell(const char *rundir)
{
    DIR *d = opendir(rundir);
    struct dirent *e;

    while (d && (e = readdir(d)))
        if (begins_with(e->d_name, WAITS) &&
            !program_spare_is_left(e->d_name) &&
            utimensat(dirfd(d), e->d_name, NULL, AT_SYMLINK_NOFOLLOW) == 0)
            break;
    if (d)
        closedir(d);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Into a container of Podman, which closes descriptors, clears the environment
 * and gives a network of its own.  What it starts reads its configuration, so
 * a file of the step says otherwise, and podman begins again with that file's
 * name in its environment: what it is written in (Go) has read the environment
 * before a library could change it.
 *
 * CONTAINERS_CONF_OVERRIDE names a file that is read after all others, where
 * podman has that name in it.  An older one (4.3) has CONTAINERS_CONF only,
 * which is read in their place; a user who has set that is left alone.
 */
#define _GNU_SOURCE
#include "libimpi/front.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX (256 * 1024)
#define PATH_SIZE 4096

extern char **environ;

/* The text of the file.  What does not fit makes it unusable. */
struct text {
    char *buf;
    size_t len;
    bool bad;
};

static void put(struct text *t, const char *s, size_t len)
{
    if (t->bad || len > TEXT_MAX - t->len) {
        t->bad = true;
        return;
    }
    memcpy(t->buf + t->len, s, len);
    t->len += len;
}

static void put_line(struct text *t, const char *line)
{
    put(t, line, strlen(line));
    put(t, "\n", 1);
}

/* Bytes of the UTF-8 character at s; 0: it is none. */
static size_t character(const char *s)
{
    const unsigned char *u = (const unsigned char *)s;
    size_t n = u[0] < 0x80                    ? 1
               : u[0] >= 0xc2 && u[0] <= 0xdf ? 2
               : u[0] >= 0xe0 && u[0] <= 0xef ? 3
               : u[0] >= 0xf0 && u[0] <= 0xf4 ? 4
                                              : 0;

    for (size_t i = 1; i < n; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    if ((u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) ||
        (u[0] == 0xf0 && u[1] < 0x90) || (u[0] == 0xf4 && u[1] > 0x8f))
        return 0;
    return n;
}

static bool is_text(const char *s)
{
    while (*s) {
        size_t n = character(s);

        if (n == 0)
            return false;
        s += n;
    }
    return true;
}

/* As TOML has it within quotes. */
static void put_escaped(struct text *t, const char *s)
{
    char code[8];

    for (; *s; s++) {
        if ((unsigned char)*s < 0x20 || *s == 0x7f) {
            snprintf(code, sizeof(code), "\\u%04x", (unsigned char)*s);
            put(t, code, strlen(code));
        } else {
            if (*s == '"' || *s == '\\')
                put(t, "\\", 1);
            put(t, s, 1);
        }
    }
}

static void put_setting(struct text *t, const char *name, const char *value)
{
    put(t, "  \"", 3);
    put_escaped(t, name);
    put_escaped(t, value);
    put(t, "\",\n", 3);
}

/* One more directory that is seen where it is.  False: it has no name that can
 * be said. */
static bool put_volume(struct text *t, const char *dir, size_t len,
                       const char *options)
{
    char path[PATH_SIZE], volume[2 * PATH_SIZE + 8];

    if (len == 0)
        return true;
    if (len >= sizeof(path) || *dir != '/')
        return false;
    memcpy(path, dir, len);
    path[len] = '\0';
    if (strchr(path, ':') || !is_text(path))
        return false;
    snprintf(volume, sizeof(volume), "%s:%s%s", path, path, options);
    put_setting(t, "", volume);
    return true;
}

static void put_environment(struct text *t, const char *own)
{
    put_line(t, "env = [");
    /* Of an image that says nothing. */
    put_setting(t, "PATH=",
                "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
                "/sbin:/bin");
    put_setting(t, "LD_PRELOAD=", own);
    for (char **e = environ; *e; e++)
        if (front_passes(*e) && is_text(*e))
            put_setting(t, "", *e);
    put_line(t, "]");
}

/* Podman would want it for "ipcns". */
static bool has_queues(void)
{
    return access("/dev/mqueue", F_OK) == 0;
}

/* Volumes: the front, the user's own back ends and the step's directory. */
static bool put_volumes(struct text *t, const char *own, const char *agent)
{
    const char *dirs = getenv("SLURM_IMPI_BACKENDS");
    bool ok;

    put_line(t, "volumes = [");
    if (!has_queues())
        put_setting(t, "", "/dev/shm:/dev/shm");
    ok = put_volume(t, own, (size_t)(strrchr(own, '/') - own), ":ro") &&
         put_volume(t, agent, (size_t)(strrchr(agent, '/') - agent), "");
    while (dirs && *dirs) {
        char dir[PATH_SIZE];
        size_t len = strcspn(dirs, ":");

        snprintf(dir, sizeof(dir), "%.*s", (int)len, dirs);
        if (access(dir, X_OK) == 0)
            ok = put_volume(t, dir, strlen(dir), ":ro") && ok;
        dirs += len + (dirs[len] == ':');
    }
    put_line(t, "]");
    return ok;
}

static bool write_text(struct text *t, const char *own, const char *agent)
{
    bool ok;

    put_line(t, "[containers]");
    put_line(t, "netns = \"host\"");
    put_line(t, "utsns = \"host\"");
    /* Libraries tell their own memory from another's by the pid. */
    put_line(t, "pidns = \"host\"");
    if (has_queues())
        put_line(t, "ipcns = \"host\"");
    /* Labels would keep it from the step's socket. */
    put_line(t, "label = false");
    ok = put_volumes(t, own, agent);
    put_environment(t, own);
    put_line(t, "[engine]");
    put_line(t, "cgroup_manager = \"cgroupfs\"");
    put_line(t, "events_logger = \"none\"");
    return ok && !t->bad;
}

static bool save(const struct text *t, const char *path)
{
    char fresh[PATH_SIZE + 32];
    size_t done = 0;
    int fd;

    snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    while (done < t->len) {
        ssize_t n = write(fd, t->buf + done, t->len - done);

        if (n <= 0)
            break;
        done += (size_t)n;
    }
    if (close(fd) == 0 && done == t->len && rename(fresh, path) == 0)
        return true;
    unlink(fresh);
    return false;
}

static bool name_of_file(char *path, size_t size, const char *agent)
{
    const char *rank = getenv("SLURM_PROCID");
    int n =
        snprintf(path, size, "%.*s/podman.%s.conf",
                 (int)(strrchr(agent, '/') - agent), agent, rank ? rank : "");

    return rank && !strchr(rank, '/') && n > 0 && (size_t)n < size;
}

void front_podman(const char *agent)
{
    const char *variable = "CONTAINERS_CONF_OVERRIDE", *old;
    struct text t = {.buf = NULL};
    char path[PATH_SIZE];
    Dl_info info;

    if (!strrchr(agent, '/') || !name_of_file(path, sizeof(path), agent)) {
        front_complain("Podman", "SLURM_IMPI_AGENT or SLURM_PROCID is wrong");
        return;
    }
    if (!front_file_has("/proc/self/exe", variable))
        variable = "CONTAINERS_CONF";
    old = getenv(variable);
    if (old && *old) {
        /* It is ours, this being the second time, or has what ours would. */
        if (strcmp(old, path) != 0 && !front_file_has(old, agent))
            front_complain("Podman",
                           "%s is set, to %s, where this step is not named "
                           "(doc/containers.md)",
                           variable, old);
        return;
    }
    t.buf = malloc(TEXT_MAX);
    if (!t.buf || !dladdr(front_slots, &info) ||
        !strrchr(info.dli_fname, '/')) {
        front_complain("Podman", "out of memory");
    } else if (!write_text(&t, info.dli_fname, agent)) {
        front_complain(
            "Podman",
            "its environment is longer than %d bytes, or a directory of "
            "ours has a colon in its name",
            TEXT_MAX);
    } else if (!save(&t, path)) {
        front_complain("Podman", "%s: %s", path, strerror(errno));
    } else if (setenv(variable, path, 1) == 0) {
        front_begin_again();
        front_complain("Podman", "it cannot be started again: %s",
                       strerror(errno));
    }
    free(t.buf);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Into a container.  A runtime that keeps environment and descriptors, but
 * shows the image's files in the place of the host's, is itself a program with
 * the front in it.  As it begins it opens the directories that the process in
 * the image will need, and names them by these descriptors:
 * /proc/self/fd/N/libimpi.so leads there whatever is mounted.  What runs no
 * such runtime has none of this.
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

#define LIST_SIZE 4096
/* The same in every rank, for one may tell another such a path; above what a
 * shell or a program counts on. */
#define FIRST_FD 300

/* A list with words between which stand separators. */
struct list {
    char text[LIST_SIZE];
    size_t len;
};

static bool put(struct list *l, const char *word, size_t len)
{
    if (l->len + len + 2 > sizeof(l->text))
        return false;
    if (l->len > 0)
        l->text[l->len++] = ':';
    memcpy(l->text + l->len, word, len);
    l->len += len;
    l->text[l->len] = '\0';
    return true;
}

/* The directory of that name by a descriptor that outlives exec(); false where
 * it cannot be had. */
static bool carry(const char *dir, size_t len, char *name, size_t size)
{
    char path[LIST_SIZE];
    int fd, high;

    if (len == 0 || len >= sizeof(path))
        return false;
    memcpy(path, dir, len);
    path[len] = '\0';
    fd = open(path, O_PATH | O_DIRECTORY);
    if (fd < 0)
        return false;
    high = fcntl(fd, F_DUPFD, FIRST_FD);
    if (high >= 0)
        close(fd);
    snprintf(name, size, "/proc/self/fd/%d", high >= 0 ? high : fd);
    return true;
}

/* LD_PRELOAD with our own entry under its new name. */
static void carry_front(void)
{
    const char *old = getenv("LD_PRELOAD"), *slash;
    char name[64], path[96];
    struct list l = {.len = 0};
    bool fits = true;
    Dl_info info;

    if (!old || !dladdr(front_slots, &info) ||
        !(slash = strrchr(info.dli_fname, '/')) ||
        !carry(info.dli_fname, (size_t)(slash - info.dli_fname), name,
               sizeof(name)))
        return;
    snprintf(path, sizeof(path), "%s%.30s", name, slash);
    while (*old) {
        size_t len = strcspn(old, ": ");
        bool ours = len == strlen(info.dli_fname) &&
                    memcmp(old, info.dli_fname, len) == 0;

        if (len > 0)
            fits =
                put(&l, ours ? path : old, ours ? strlen(path) : len) && fits;
        old += len + (old[len] != '\0');
    }
    if (fits)
        setenv("LD_PRELOAD", l.text, 1);
}

/* Where back ends are looked for before the front's own directory. */
static void carry_backends(void)
{
    const char *old = getenv("SLURM_IMPI_BACKENDS");
    struct list l = {.len = 0};
    char name[64];

    while (old && *old) {
        size_t len = strcspn(old, ":");

        if (carry(old, len, name, sizeof(name)))
            put(&l, name, strlen(name));
        old += len + (old[len] == ':');
    }
    if (l.len > 0)
        setenv("SLURM_IMPI_BACKENDS", l.text, 1);
}

/* The step's directory; a back end finds by its old name what else impid says
 * to be in it. */
static bool carry_agent(const char *agent)
{
    const char *slash = strrchr(agent, '/');
    char name[64], path[160];
    struct list dir = {.len = 0};

    if (!slash || strlen(slash) > 64 ||
        !put(&dir, agent, (size_t)(slash - agent)) ||
        !carry(dir.text, dir.len, name, sizeof(name)))
        return false;
    snprintf(path, sizeof(path), "%s%s", name, slash);
    setenv("SLURM_IMPI_AGENT_DIR", dir.text, 1);
    setenv("SLURM_IMPI_AGENT", path, 1);
    return true;
}

/* In a container that one in a container starts all is there. */
static void carry_all(const char *agent)
{
    if (getenv("SLURM_IMPI_AGENT_DIR") || !carry_agent(agent))
        return;
    carry_front();
    carry_backends();
}

static const struct runtime {
    const char *name;
    void (*carry)(const char *agent);
} runtimes[] = {{"ch-run", carry_all},
                {"podman", front_podman},
                {"apptainer", front_apptainer},
                {"singularity", front_apptainer}};

static __attribute__((constructor)) void enter_runtime(void)
{
    const char *agent;

    for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
        if (strcmp(program_invocation_short_name, runtimes[i].name) != 0)
            continue;
        agent = getenv("SLURM_IMPI_AGENT");
        if (agent && *agent)
            runtimes[i].carry(agent);
    }
}

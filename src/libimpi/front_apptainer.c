/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Into a container of Apptainer or Singularity, which keeps the environment,
 * the network, the pids and /dev/shm, but shows the image's files: what the
 * step needs is one more list of directories for it to bind
 * (APPTAINER_BIND).  Every variable that matters is said a second time as
 * APPTAINERENV_X, which counts where the user wants a clean environment.
 * Singularity has SINGULARITY in the place of APPTAINER in these names.
 */
#define _GNU_SOURCE
#include "libimpi/front.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_SIZE 1024
#define LIST_SIZE (64 * 1024)

extern char **environ;

/* "DIR:DIR:ro,DIR:DIR" */
struct binds {
    char text[LIST_SIZE];
    size_t len;
};

/* One more; false: its name cannot be said, or does not fit. */
static bool bind_dir(struct binds *b, const char *dir, size_t len,
                     const char *options)
{
    size_t room = sizeof(b->text) - b->len;
    int n =
        snprintf(b->text + b->len, room, "%s%.*s:%.*s%s", b->len > 0 ? "," : "",
                 (int)len, dir, (int)len, dir, options);

    if (n < 0 || (size_t)n >= room || memchr(dir, ':', len) ||
        memchr(dir, ',', len))
        return false;
    b->len += (size_t)n;
    return true;
}

static bool bind_dir_of(struct binds *b, const char *file, const char *options)
{
    const char *slash = strrchr(file, '/');

    return slash && bind_dir(b, file, (size_t)(slash - file), options);
}

/* What the user has bound, the step's directory, the front and the user's own
 * back ends. */
static bool bind_all(struct binds *b, const char *old, const char *own,
                     const char *agent)
{
    const char *dirs = getenv("SLURM_IMPI_BACKENDS");
    bool ok = true;

    b->len = (size_t)snprintf(b->text, sizeof(b->text), "%s", old ? old : "");
    if (b->len >= sizeof(b->text))
        return false;
    ok = bind_dir_of(b, agent, "") && bind_dir_of(b, own, ":ro");
    while (dirs && *dirs) {
        char dir[NAME_SIZE];
        size_t len = strcspn(dirs, ":");

        snprintf(dir, sizeof(dir), "%.*s", (int)len, dirs);
        if (len > 0 && access(dir, X_OK) == 0)
            ok = bind_dir(b, dir, strlen(dir), ":ro") && ok;
        dirs += len + (dirs[len] == ':');
    }
    return ok;
}

/* X=VALUE as PREFIXENV_X, unless the user has said that. */
static void say_again(const char *prefix, const char *setting)
{
    const char *value = strchr(setting, '=');
    char name[NAME_SIZE];
    int n;

    if (!value)
        return;
    n = snprintf(name, sizeof(name), "%sENV_%.*s", prefix,
                 (int)(value - setting), setting);
    if (n > 0 && (size_t)n < sizeof(name))
        setenv(name, value + 1, 0);
}

static void say_all_again(const char *prefix)
{
    size_t n = 0;

    while (environ[n])
        n++;
    /* What comes is put behind them. */
    for (size_t i = 0; i < n; i++)
        if (front_passes(environ[i]) ||
            strncmp(environ[i], "LD_PRELOAD=", 11) == 0)
            say_again(prefix, environ[i]);
}

/* Is the step's directory one of the list? */
static bool is_bound(const char *list, const char *agent)
{
    const char *slash = strrchr(agent, '/');
    size_t len = slash ? (size_t)(slash - agent) : 0;

    while (len > 0 && list && *list) {
        if (strncmp(list, agent, len) == 0 && strchr(":,", list[len]))
            return true; /* also at the end */
        list += strcspn(list, ",");
        list += *list == ',';
    }
    return false;
}

void front_apptainer(const char *agent)
{
    const char *prefix = front_file_has("/proc/self/exe", "APPTAINERENV_")
                             ? "APPTAINER"
                             : "SINGULARITY";
    struct binds *b;
    char name[32];
    Dl_info info;

    snprintf(name, sizeof(name), "%s_BIND", prefix);
    if (is_bound(getenv(name), agent))
        return;
    b = malloc(sizeof(*b));
    if (!b || !dladdr(front_slots, &info)) {
        front_complain("Apptainer", "out of memory");
    } else if (!bind_all(b, getenv(name), info.dli_fname, agent)) {
        front_complain("Apptainer",
                       "%s would be longer than %d bytes, or a directory of "
                       "ours has a colon or a comma in its name",
                       name, LIST_SIZE);
    } else if (setenv(name, b->text, 1) == 0) {
        say_all_again(prefix);
        front_begin_again();
        front_complain("Apptainer", "it cannot be started again");
    }
    free(b);
}

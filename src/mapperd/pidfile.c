/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Becoming a daemon, and the pid file: where --daemon-pid-file says, else
 * pid.UNIT in PidDir.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "mapperd/mapperd.h"

static int choose_path(struct mapperd *d)
{
    const struct settings *s = &d->settings;

    if (s->pid_file) {
        d->pid_path = strdup(s->pid_file);
        return d->pid_path ? 0 : -1;
    }
    mkdir(s->pid_dir, 0755);
    return asprintf(&d->pid_path, "%s/pid.%ld", s->pid_dir, s->unit) < 0 ? -1
                                                                         : 0;
}

/* A new file takes the old one's place: a stale one is no obstacle. */
static int write_pid(const char *path, struct errbuf *err)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

    return file_replace(path, text, (size_t)len, 0644, 0, err);
}

int mapperd_pid_file(struct mapperd *d, struct errbuf *err)
{
    /* stderr stays: --verbose-file, or where the starter put it. */
    if (d->settings.pid_file && daemon(1, 1) < 0)
        return errprintf(err, "cannot become a daemon: %s", strerror(errno));
    if (choose_path(d) < 0)
        return errprintf(err, "no memory");
    if (write_pid(d->pid_path, err) == 0)
        return 0;
    if (d->settings.pid_file)
        return -1;
    log_debug("no pid file: %s", err->text);
    free(d->pid_path);
    d->pid_path = NULL;
    return 0;
}

void mapperd_pid_remove(struct mapperd *d)
{
    if (d->pid_path)
        unlink(d->pid_path);
    free(d->pid_path);
    d->pid_path = NULL;
}

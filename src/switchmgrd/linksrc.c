/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "switchmgrd/linksrc.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a directory tree -------------------------------------------------- */

/* Link status from a directory tree, as a kernel module that reads Elite
 * switches by JTAG would show it. */

struct scan {
    void (*add)(const struct report_record *, void *);
    void *arg;
    char xbar[SF_REPORT_NAME_MAX];
};

static void *dir_open(const char *argument, struct errbuf *err)
{
    if (argument[0] != '/') {
        errprintf(err, "LinkStatus: not an absolute path: %s", argument);
        errno = EINVAL;
        return NULL;
    }
    return strdup(argument);
}

static void dir_close(void *source)
{
    free(source);
}

static bool is_name(const char *s)
{
    if (!isalnum((unsigned char)*s) || strlen(s) > 48)
        return false;
    for (; *s; s++) {
        if (!isalnum((unsigned char)*s) && !strchr(".-_", *s))
            return false;
    }
    return true;
}

/* The first line of a small file; "" when it is not there. */
static void read_line(int dir, const char *name, char *buf, size_t size)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? 0 : read(fd, buf, size - 1);

    if (fd >= 0)
        close(fd);
    buf[n > 0 ? n : 0] = '\0';
    buf[strcspn(buf, " \t\r\n")] = '\0';
}

static enum report_seen seen_of(const char *word)
{
    if (strcmp(word, "up") == 0 || strcmp(word, "ok") == 0)
        return SEEN_UP;
    if (strcmp(word, "degraded") == 0)
        return SEEN_DEGRADED;
    if (strcmp(word, "down") == 0 || strcmp(word, "failed") == 0)
        return SEEN_DOWN;
    return SEEN_UNKNOWN;
}

static bool peer_is_name(const char *peer)
{
    const char *colon = strchr(peer, ':');

    return colon && colon != peer && isdigit((unsigned char)colon[1]) &&
           strspn(peer, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                        "0123456789.-_:") == strlen(peer);
}

static void scan_port(struct scan *s, int dir, unsigned port)
{
    struct report_record r = {.kind = REPORT_LINK};
    char status[32], errors[32], rail[8];

    read_line(dir, "status", status, sizeof(status));
    read_line(dir, "peer", r.peer, sizeof(r.peer));
    read_line(dir, "errors", errors, sizeof(errors));
    read_line(dir, "rail", rail, sizeof(rail));
    if (strcmp(status, "empty") == 0 || !peer_is_name(r.peer))
        return;
    r.seen = seen_of(status);
    r.rail = (uint8_t)(strtoul(rail, NULL, 10) % SF_ELAN_RAILS_MAX);
    r.count = strtoull(errors, NULL, 10) & INT64_MAX;
    snprintf(r.name, sizeof(r.name), "%.48s:%u", s->xbar, port);
    snprintf(r.why, sizeof(r.why), "%s",
             r.seen == SEEN_UP ? "" : "link status");
    s->add(&r, s->arg);
}

/* Names of a directory's entries that begin with prefix; how many. */
static size_t scan_ports(struct scan *s, int dir)
{
    char name[32];
    size_t n = 0;

    for (unsigned port = 0; port < SF_LINKSRC_PORTS_MAX; port++) {
        int fd;

        snprintf(name, sizeof(name), "port%u", port);
        fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            continue;
        scan_port(s, fd, port);
        close(fd);
        n++;
    }
    return n;
}

static void scan_xbar(struct scan *s, int dir)
{
    struct report_record r = {.kind = REPORT_XBAR};
    char status[32];

    read_line(dir, "status", status, sizeof(status));
    snprintf(r.name, sizeof(r.name), "%.48s", s->xbar);
    r.seen = *status ? seen_of(status) : SEEN_UP;
    snprintf(r.why, sizeof(r.why), "%s",
             r.seen == SEEN_UP ? "" : "switch status");
    s->add(&r, s->arg);
    scan_ports(s, dir);
}

static int dir_poll(void *source,
                    void (*add)(const struct report_record *, void *),
                    void *arg, struct errbuf *err)
{
    struct scan s = {.add = add, .arg = arg};
    DIR *d = opendir(source);
    struct dirent *e;
    size_t n = 0;

    if (!d)
        return errprintf(err, "%s: %s", (char *)source, strerror(errno));
    while ((e = readdir(d)) && n < SF_LINKSRC_XBARS_MAX) {
        int fd;

        if (!is_name(e->d_name))
            continue;
        fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0)
            continue;
        snprintf(s.xbar, sizeof(s.xbar), "%.48s", e->d_name);
        scan_xbar(&s, fd);
        close(fd);
        n++;
    }
    closedir(d);
    return 0;
}

static const struct linksrc_ops linksrc_dir = {"dir", dir_open, dir_poll,
                                               dir_close};

/* ---- the source that is configured ------------------------------------- */

static const struct linksrc_ops *const sources[] = {&linksrc_dir};

struct linksrc {
    const struct linksrc_ops *ops;
    void *state;
};

struct linksrc *linksrc_open(const char *spec, struct errbuf *err)
{
    const char *colon = strchr(spec, ':');
    size_t len = colon ? (size_t)(colon - spec) : strlen(spec);
    struct linksrc *s;

    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (strlen(sources[i]->name) != len ||
            strncmp(sources[i]->name, spec, len) != 0)
            continue;
        s = calloc(1, sizeof(*s));
        if (!s)
            break;
        s->ops = sources[i];
        s->state = s->ops->open(colon ? colon + 1 : "", err);
        if (s->state)
            return s;
        free(s);
        return NULL;
    }
    errprintf(err, "LinkStatus: no such source: %s", spec);
    errno = EINVAL;
    return NULL;
}

void linksrc_close(struct linksrc *s)
{
    if (!s)
        return;
    s->ops->close(s->state);
    free(s);
}

struct filling {
    struct report *report;
    size_t room;
    int failed;
};

static void add(const struct report_record *record, void *arg)
{
    struct filling *f = arg;
    struct report *r = f->report;

    if (r->nrecords == f->room) {
        size_t room = f->room ? f->room * 2 : 64;
        struct report_record *more = realloc(r->records, room * sizeof(*more));

        if (!more) {
            f->failed = 1;
            return;
        }
        r->records = more;
        f->room = room;
    }
    r->records[r->nrecords++] = *record;
}

int linksrc_report(struct linksrc *s, struct report *report, struct errbuf *err)
{
    struct filling f = {.report = report};

    memset(report, 0, sizeof(*report));
    report->from = REPORT_LINKS;
    if (s->ops->poll(s->state, add, &f, err) == 0 && !f.failed)
        return 0;
    report_free(report);
    return -1;
}

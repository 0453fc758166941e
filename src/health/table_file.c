/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "health/table.h"

static int write_all(int fd, const char *text, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, text, len);

        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0) {
            text += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

int health_table_write(const char *path, struct health_table *table,
                       struct errbuf *err)
{
    char beside[SF_ELAN_PATH_MAX + 8];
    size_t len;
    char *text = health_table_encode(table, &len);
    int fd, rc = -1;

    if (!text) {
        errno = ENOMEM;
        return errprintf(err, "out of memory");
    }
    snprintf(beside, sizeof(beside), "%s.new", path);
    fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
              0644);
    if (fd >= 0) {
        rc = write_all(fd, text, len);
        if (close(fd) < 0)
            rc = -1;
    }
    free(text);
    if (rc == 0)
        rc = rename(beside, path);
    if (rc < 0)
        errprintf(err, "%s: %s", path, strerror(errno));
    return rc;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The whole file, or NULL with text.  Never waits: a name that someone made a
 * pipe of is not opened for reading to its end. */
static char *read_file(const char *path, struct stat *st, size_t *len,
                       struct errbuf *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    char *text = NULL;
    ssize_t n;

    *len = 0;
    errno = fd < 0 ? errno : 0;
    if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
        st->st_size <= SF_HEALTH_TABLE_MAX &&
        (text = malloc((size_t)st->st_size + 1))) {
        while (*len < (size_t)st->st_size &&
               (n = read(fd, text + *len, (size_t)st->st_size - *len)) > 0)
            *len += (size_t)n;
    } else {
        errprintf(err, "%s: %s", path,
                  errno ? strerror(errno) : "no ordinary file, or too long");
    }
    if (fd >= 0)
        close(fd);
    return text;
}

static enum health_table_news read_it(struct health_table_reader *r,
                                      const char *path, struct errbuf *err)
{
    struct health_table fresh;
    struct errbuf why;
    size_t len;
    char *text = read_file(path, &r->seen, &len, err);
    int rc;

    if (!text)
        return HEALTH_TABLE_BAD;
    rc = health_table_decode(&fresh, text, len, &why);
    free(text);
    if (rc < 0) {
        errprintf(err, "%s: %s", path, why.text);
        return HEALTH_TABLE_BAD;
    }
    health_table_free(&r->table);
    r->table = fresh;
    r->known = true;
    return HEALTH_TABLE_NEW;
}

enum health_table_news health_table_look(struct health_table_reader *r,
                                         const char *path, struct errbuf *err)
{
    struct stat st;

    if (stat(path, &st) < 0) {
        r->has_seen = false;
        errprintf(err, "%s: %s", path, strerror(errno));
        return HEALTH_TABLE_ABSENT;
    }
    if (r->has_seen && unchanged(&st, &r->seen))
        return HEALTH_TABLE_SAME;
    r->seen = st;
    r->has_seen = true;
    return read_it(r, path, err);
}

void health_table_reader_free(struct health_table_reader *r)
{
    health_table_free(&r->table);
    memset(r, 0, sizeof(*r));
}

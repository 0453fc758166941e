/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "health/table.h"

int health_table_write(const char *path, struct health_table *table,
                       struct errbuf *err)
{
    size_t len;
    char *text = health_table_encode(table, &len);
    int rc;

    if (!text) {
        errno = ENOMEM;
        return errprintf(err, "out of memory");
    }
    rc = file_replace(path, text, len, 0644, 0, err);
    free(text);
    return rc;
}

static bool unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static enum health_table_news read_it(struct health_table_reader *r,
                                      const char *path, struct errbuf *err)
{
    struct health_table fresh;
    struct errbuf why;
    size_t len;
    char *text = file_read(path, SF_HEALTH_TABLE_MAX, 0, &len, err);
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

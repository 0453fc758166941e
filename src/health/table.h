/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health table: an ordinary file by which switchmgrd tells slurmctld's
 * switch/elan what it may not build a step on.  It is replaced by rename, so a
 * reader finds the old one or the new one; header, length and CRC catch what
 * still goes wrong.
 *
 *     SFHEALTH 1 LENGTH CRC\n       ten decimal, eight hexadecimal digits
 *     written 1700000000000\n       ms since the epoch
 *     nodes 8192 healthy 8190\n
 *     n17 down 1700000000000 3 01 01 mute\n
 *
 * A line for each node that is not healthy, ordered by name: state, since when
 * (ms), how often it went down, rails that are not healthy and rails that
 * steps are refused on (hexadecimal bits), evidence.  Healthy nodes are not
 * listed, so the table of a good day is 80 bytes.
 */
#ifndef SF_HEALTH_TABLE_H
#define SF_HEALTH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/errbuf.h"
#include "base/limits.h"
#include "health/state.h"

#define HEALTH_TABLE_VERSION 1

struct health_table_node {
    char name[SF_REPORT_NAME_MAX];
    enum health_state state;
    int64_t since;
    uint32_t count;
    uint8_t rails;  /* not healthy */
    uint8_t refuse; /* no step here */
    char why[SF_REPORT_WHY_MAX];
};

struct health_table {
    int64_t written;
    uint32_t nodes, healthy;
    struct health_table_node *list; /* by name */
    size_t n;
};

/* The file's text (free() it); sorts table->list.  NULL: ENOMEM. */
char *health_table_encode(struct health_table *table, size_t *len);

/* 0, or -1 with text and errno: EBADMSG torn, truncated or malformed, EPROTO
 * another version, EMSGSIZE, ENOMEM; *table is empty then. */
int health_table_decode(struct health_table *table, const char *text,
                        size_t len, struct errbuf *err);
void health_table_free(struct health_table *table);
const struct health_table_node *
health_table_find(const struct health_table *table, const char *name);

/* Write the file: a new one beside it, renamed.  0, or -1 with text, errno. */
int health_table_write(const char *path, struct health_table *table,
                       struct errbuf *err);

/* A reader that looks again only when the file has changed. */
struct health_table_reader {
    struct health_table table; /* the last good one */
    bool known;                /* there is a good one */
    struct stat seen;          /* of the file looked at last */
    bool has_seen;
};

enum health_table_news {
    HEALTH_TABLE_SAME, /* not changed since */
    HEALTH_TABLE_NEW,
    HEALTH_TABLE_ABSENT, /* no file; the last good table stays */
    HEALTH_TABLE_BAD     /* text says why; the last good table stays */
};

/* One stat(2) when nothing changed.  A bad file is read once. */
enum health_table_news health_table_look(struct health_table_reader *reader,
                                         const char *path, struct errbuf *err);
void health_table_reader_free(struct health_table_reader *reader);

#endif

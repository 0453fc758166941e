/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last map, kept on disk: after a restart it is verified instead of
 * exploring anew.  A file that is damaged, another board's or of another
 * version costs a line in the log and an exploration.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sitedir.h"
#include "mapper/gm2_store.h"
#include "mapperd/mapperd.h"
#include "mapperd/netfile.h"

/* Boards of one machine have files of their own. */
static char *path_of(const struct mapperd *d)
{
    const struct settings *s = &d->settings;
    char *path;

    if (s->no_stored_map)
        return NULL;
    if (s->stored_map)
        return strdup(s->stored_map);
    return asprintf(&path, "%s/mapperd-%012" PRIx64 ".map",
                    SITEDIR_OWN_STATE(""), d->address) < 0
               ? NULL
               : path;
}

/* ---- writing ------------------------------------------------------------- */

void mapperd_store_map(struct mapperd *d, const struct gm2_map *map)
{
    struct errbuf err = {"no memory"};
    struct bytebuf bytes;
    char *path = path_of(d);
    int rc = -1;

    if (!path)
        return;
    bytebuf_init(&bytes, SF_NET_FILE_MAX);
    if (gm2_store_write(map, d->address, &bytes))
        rc = netfile_put(path, &bytes, 0600, &err);
    if (rc < 0 && !d->unstored)
        log_warn("SF-E856 the map is not stored, the next start explores "
                 "anew: %s",
                 err.text);
    d->unstored = rc < 0;
    bytebuf_free(&bytes);
    free(path);
}

/* ---- reading ------------------------------------------------------------- */

/* -1 with errno; ENOENT: there is none. */
static int get_file(const char *path, struct bytebuf *bytes)
{
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC), e;
    struct stat st;
    ssize_t n = -1;

    if (fd < 0)
        return -1;
    errno = EINVAL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
        uint8_t *room;

        do {
            errno = EFBIG;
            room = bytebuf_room(bytes, 65536);
            n = room ? read(fd, room, 65536) : -1;
            if (n > 0)
                bytebuf_grow(bytes, (size_t)n);
        } while (n > 0);
    }
    e = errno;
    close(fd);
    errno = e;
    return n < 0 ? -1 : 0;
}

struct gm2_map *mapperd_stored_map(struct mapperd *d)
{
    struct errbuf err = {""};
    struct gm2_map *map = NULL;
    struct bytebuf bytes;
    char *path = path_of(d);

    if (!path)
        return NULL;
    bytebuf_init(&bytes, SF_NET_FILE_MAX);
    if (get_file(path, &bytes) == 0)
        map = gm2_store_read(bytebuf_data(&bytes), bytebuf_len(&bytes),
                             d->address, &err);
    else if (errno != ENOENT)
        errprintf(&err, "%s", strerror(errno));
    if (map)
        log_info("the stored map %s, of %u hosts, will be verified", path,
                 map->net->nhosts);
    else if (err.text[0])
        log_warn("SF-E856 the stored map %s is not used: %s", path, err.text);
    bytebuf_free(&bytes);
    free(path);
    return map;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The last map, kept on disk: after a restart it is verified instead of
 * exploring anew.  A file that is damaged, another board's or of another
 * version costs a line in the log and an exploration.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sitedir.h"
#include "mapper/gm2_store.h"
#include "mapperd/mapperd.h"

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
        rc = file_replace(path, bytebuf_data(&bytes), bytebuf_len(&bytes), 0600,
                          0, &err);
    if (rc < 0 && !d->unstored)
        log_warn("SF-E856 the map is not stored, the next start explores "
                 "anew: %s",
                 err.text);
    d->unstored = rc < 0;
    bytebuf_free(&bytes);
    free(path);
}

/* ---- reading ------------------------------------------------------------- */

static struct gm2_map *read_map(const struct mapperd *d, const char *path,
                                struct errbuf *err)
{
    size_t len;
    char *bytes = file_read(path, SF_NET_FILE_MAX, FILE_NO_LINK, &len, err);
    struct gm2_map *map = NULL;
    struct errbuf why;

    if (bytes) {
        map = gm2_store_read((const uint8_t *)bytes, len, d->address, &why);
        if (!map)
            errprintf(err, "%s: %s", path, why.text);
        free(bytes);
    } else if (errno == ENOENT) {
        err->text[0] = '\0';
    }
    return map;
}

struct gm2_map *mapperd_stored_map(struct mapperd *d)
{
    struct errbuf err = {""};
    char *path = path_of(d);
    struct gm2_map *map = path ? read_map(d, path, &err) : NULL;

    if (map)
        log_info("the stored map %s, of %u hosts, will be verified", path,
                 map->net->nhosts);
    else if (err.text[0])
        log_warn("SF-E856 the stored map is not used: %s", err.text);
    free(path);
    return map;
}

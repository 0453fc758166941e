/* SPDX-License-Identifier: BSD-3-Clause
 * Who this board is, and which board has which Elan id.
 *
 * Where neither hsn.conf nor elanhosts gives a board address, it follows from
 * rail and Elan id (locally administered), the same on all nodes:
 *     0x02 rail 0x00 0x00 id id
 */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/host_names.h"
#include "base/service.h"
#include "base/sitedir.h"
#include "hsn/frame.h"
#include "hsnd/hsnd.h"

static uint64_t rule(const struct hsnd *d, uint32_t elan_id)
{
    return 0x020000000000ULL | (uint64_t)d->conf.rail << 32 | elan_id;
}

uint64_t hsnd_board_of(const struct hsnd *d, uint32_t elan_id)
{
    if (elan_id > SF_ELAN_NODE_ID_MAX)
        return 0;
    if (d->board_of)
        return d->board_of[elan_id];
    return rule(d, elan_id);
}

static void last_error(const char *text, void *arg)
{
    errprintf(arg, "%s", text);
}

static const char *hosts_path(const struct hsnd *d, struct sitedir *sitedir)
{
    if (d->conf.elanhosts)
        return d->conf.elanhosts;
    return sitedir_conf(sitedir, "elanhosts");
}

static int read_hosts(struct hsnd *d, struct errbuf *err)
{
    struct sitedir sitedir;
    const char *path = hosts_path(d, &sitedir);
    char *text;
    size_t len;

    text = file_read(path, SF_ELAN_HOSTS_SIZE_MAX, 0, &len, err);
    if (text)
        d->hosts = elanhosts_parse(path, text, len, last_error, err);
    else if (errno == ENOENT && !d->conf.elanhosts)
        d->hosts = elanhosts_natural();
    free(text);
    return d->hosts ? 0 : -1;
}

/* Boards of all Elan ids of a table; NULL stays where there is none. */
static int index_boards(struct hsnd *d, struct errbuf *err)
{
    const struct elan_host *h = elanhosts_get(d->hosts, 0);
    uint32_t id;

    if (!h)
        return 0;
    d->board_of = calloc(SF_ELAN_NODE_ID_MAX + 1, sizeof(*d->board_of));
    if (!d->board_of)
        return errprintf(err, "no memory");
    for (uint32_t i = 0; (h = elanhosts_get(d->hosts, i)); i++) {
        id = h->id[d->conf.rail];
        if (id <= SF_ELAN_NODE_ID_MAX)
            d->board_of[id] =
                h->board[d->conf.rail] ? h->board[d->conf.rail] : rule(d, id);
    }
    return 0;
}

static int own_board(struct hsnd *d, struct errbuf *err)
{
    struct sitedir sitedir;
    char *end;

    if (d->conf.board) {
        errno = 0;
        d->board = strtoull(d->conf.board, &end, 16);
        if (*end || errno)
            d->board = 0;
    } else if (d->has_elan) {
        d->board = hsnd_board_of(d, d->elan_id);
    }
    if (d->board > 0 && d->board <= HSN_BOARD_MAX)
        return 0;
    if (d->conf.board)
        return errprintf(err, "Board: %s: not a board address", d->conf.board);
    return errprintf(err,
                     "node %s is not in %s: write it there, or set Board in %s",
                     d->node, hosts_path(d, &sitedir), d->conf_path);
}

static int group_of(const char *name, gid_t *gid, bool *has, struct errbuf *err)
{
    struct group *g;

    if (!name)
        return 0;
    g = getgrnam(name);
    if (!g)
        return errprintf(err, "there is no group %s", name);
    *gid = g->gr_gid;
    *has = true;
    return 0;
}

int hsnd_identity(struct hsnd *d, struct errbuf *err)
{
    uint32_t ids[SF_ELAN_RAILS_MAX];

    if (host_names_own(d->node, sizeof(d->node), d->conf.node, err) < 0 ||
        read_hosts(d, err) < 0 || index_boards(d, err) < 0)
        return -1;
    d->has_elan = elanhosts_ids(d->hosts, d->node, (uint32_t)d->conf.rail + 1,
                                ids, NULL) == 0;
    if (d->has_elan)
        d->elan_id = ids[d->conf.rail];
    if (!d->conf.raw_group && getgrnam(SERVICE_MAPPER))
        d->conf.raw_group = strdup(SERVICE_MAPPER);
    if (group_of(d->conf.raw_group, &d->raw_gid, &d->has_raw_gid, err) < 0 ||
        group_of(d->conf.dgram_group, &d->dgram_gid, &d->has_dgram_gid, err) <
            0)
        return -1;
    return own_board(d, err);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Look-ups in the identity table; elanhosts_parse.c fills it.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elan/elanhosts_impl.h"
#include "elan/hostlist.h"

struct elanhosts *elanhosts_natural(void)
{
    struct elanhosts *hosts = calloc(1, sizeof(*hosts));

    if (hosts)
        hosts->natural = true;
    return hosts;
}

void elanhosts_destroy(struct elanhosts *hosts)
{
    int saved = errno;

    if (!hosts)
        return;
    for (uint32_t i = 0; i < hosts->n; i++)
        free(hosts->host[i].name);
    free(hosts->host);
    free(hosts->by_name);
    free(hosts->by_board);
    free(hosts);
    errno = saved;
}

const struct elan_host *elanhosts_get(const struct elanhosts *hosts,
                                      uint32_t index)
{
    return index < hosts->n ? &hosts->host[index] : NULL;
}

const struct elan_host *elanhosts_find(const struct elanhosts *hosts,
                                       const char *node)
{
    uint32_t low = 0, high = hosts->n;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct elan_host *host = &hosts->host[hosts->by_name[mid]];
        int diff = strcmp(node, host->name);

        if (diff == 0)
            return host;
        if (diff < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const struct elan_host *elanhosts_find_board(const struct elanhosts *hosts,
                                             uint64_t board, uint32_t *rail)
{
    uint32_t low = 0, high = hosts->nboards;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct board_index *at = &hosts->by_board[mid];

        if (at->board == board) {
            *rail = at->rail;
            return &hosts->host[at->host];
        }
        if (board < at->board)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

/* The number that ends a name, up to its first dot. */
static int natural_id(const char *node, uint32_t *id, struct errbuf *err)
{
    size_t end = strcspn(node, "."), start = end;
    uint64_t value = 0;

    while (start > 0 && isdigit((unsigned char)node[start - 1]))
        start--;
    if (start == end) {
        errno = ENOENT;
        return errprintf(err,
                         "node %.100s: no number ends its name and there "
                         "is no elanhosts file",
                         node);
    }
    for (size_t i = start; i < end && value <= SF_ELAN_NODE_ID_MAX; i++)
        value = value * 10 + (uint64_t)(node[i] - '0');
    if (value > SF_ELAN_NODE_ID_MAX) {
        errno = EINVAL;
        return errprintf(err,
                         "node %.100s: Elan id above %d, write an "
                         "elanhosts file",
                         node, SF_ELAN_NODE_ID_MAX);
    }
    *id = (uint32_t)value;
    return 0;
}

int elanhosts_ids(const struct elanhosts *hosts, const char *node,
                  uint32_t nrails, uint32_t *ids, struct errbuf *err)
{
    const struct elan_host *host;
    uint32_t id = 0;

    if (hosts->natural) {
        if (natural_id(node, &id, err) < 0)
            return -1;
        for (uint32_t rail = 0; rail < nrails; rail++)
            ids[rail] = id;
        return 0;
    }
    host = elanhosts_find(hosts, node);
    if (!host) {
        errno = ENOENT;
        return errprintf(err, "node %.100s is not in elanhosts", node);
    }
    memcpy(ids, host->id, nrails * sizeof(*ids));
    return 0;
}

static int fill_ids(const struct elanhosts *hosts,
                    const struct elan_names *names, uint32_t nrails,
                    uint32_t *ids, struct errbuf *err)
{
    uint32_t one[SF_ELAN_RAILS_MAX];

    for (uint32_t n = 0; n < names->n; n++) {
        if (elanhosts_ids(hosts, names->name[n], nrails, one, err) < 0)
            return -1;
        for (uint32_t rail = 0; rail < nrails; rail++)
            ids[(size_t)rail * names->n + n] = one[rail];
    }
    return 0;
}

static int make_layout(const struct elanhosts *hosts,
                       const struct elan_names *names,
                       struct elan_layout *layout,
                       const struct elan_step_layout *step, uint32_t nrails,
                       struct errbuf *err)
{
    uint32_t *ids = calloc((size_t)nrails * names->n, sizeof(*ids));
    int rc = -1;

    if (!ids)
        return errprintf(err, "out of memory");
    if (fill_ids(hosts, names, nrails, ids, err) == 0) {
        struct elan_layout_spec spec = {
            .nnodes = step->nnodes,
            .nrails = nrails,
            .ids = ids,
            .tasks = step->tasks,
            .tids = step->tids,
            .cyclic = step->cyclic,
        };

        rc = elan_layout_make(layout, &spec, err);
    }
    free(ids);
    return rc;
}

int elanhosts_layout(const struct elanhosts *hosts, struct elan_layout *layout,
                     const struct elan_step_layout *step, uint32_t nrails,
                     struct errbuf *err)
{
    struct elan_names names;
    int rc = -1;

    memset(layout, 0, sizeof(*layout));
    errno = EINVAL;
    if (nrails < 1 || nrails > SF_ELAN_RAILS_MAX)
        return errprintf(err, "%u rails, limit %d", nrails, SF_ELAN_RAILS_MAX);
    if (elan_hostlist_expand(&names, step->node_list, err) < 0)
        return -1;
    if (names.n == step->nnodes) {
        rc = make_layout(hosts, &names, layout, step, nrails, err);
    } else {
        errprintf(err, "%u names for %u nodes", names.n, step->nnodes);
        errno = EINVAL;
    }
    elan_names_free(&names);
    return rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "impi/clients.h"

/* What makes two processes members of one client. */
struct identity {
    uint32_t component, family, node, build;
};

struct forming {
    const struct impi_member *members;
    bool by_node;
    struct identity id[SF_IMPI_CLIENTS_MAX];
    struct impi_clients *c;
};

static int find_or_add(struct forming *f, const struct impi_member *m)
{
    struct identity id = {m->component, m->family, f->by_node ? m->node : 0,
                          m->build};
    uint32_t i;

    for (i = 0; i < f->c->nclients; i++)
        if (f->id[i].component == id.component &&
            f->id[i].family == id.family && f->id[i].node == id.node &&
            f->id[i].build == id.build)
            return (int)i;
    if (i == SF_IMPI_CLIENTS_MAX)
        return -1;
    f->id[i] = id;
    f->c->nclients++;
    return (int)i;
}

static int assign_clients(struct forming *f, struct errbuf *err)
{
    struct impi_clients *c = f->c;

    for (uint32_t r = 0; r < c->nprocs; r++) {
        int k;

        if (f->members[r].family == 0) {
            errno = EINVAL;
            return errprintf(err, "rank %u has no MPI library", r);
        }
        k = find_or_add(f, &f->members[r]);
        if (k < 0) {
            errno = E2BIG;
            return errprintf(err,
                             "more than %d IMPI clients (a client is the "
                             "tasks of one component with one build of an MPI "
                             "library)",
                             SF_IMPI_CLIENTS_MAX);
        }
        c->client[r] = (uint32_t)k;
    }
    return 0;
}

/* Native ranks, in world rank order within each client. */
static int fill_clients(struct forming *f)
{
    struct impi_clients *c = f->c;

    c->clients = calloc(c->nclients, sizeof(*c->clients));
    if (!c->clients)
        return -1;
    for (uint32_t r = 0; r < c->nprocs; r++) {
        c->native[r] = c->clients[c->client[r]].nprocs++;
        c->memory[r] = f->members[r].memory;
    }
    for (uint32_t k = 0; k < c->nclients; k++) {
        struct impi_client_info *info = &c->clients[k];

        info->component = f->id[k].component;
        info->family = f->id[k].family;
        info->ranks = calloc(info->nprocs, sizeof(*info->ranks));
        if (!info->ranks)
            return -1;
    }
    for (uint32_t r = 0; r < c->nprocs; r++)
        c->clients[c->client[r]].ranks[c->native[r]] = r;
    return 0;
}

static uint32_t count_nodes(const struct forming *f)
{
    uint32_t max = 0;

    for (uint32_t r = 0; r < f->c->nprocs; r++)
        if (f->members[r].node > max)
            max = f->members[r].node;
    return max + 1;
}

/* The hosts of one client.  per_node: scratch, zero before and after. */
static void fill_client_hosts(struct forming *f, uint32_t k, uint32_t *per_node,
                              uint32_t nnodes)
{
    struct impi_client_info *info = &f->c->clients[k];

    info->first_host = f->c->nhosts;
    for (uint32_t i = 0; i < info->nprocs; i++)
        per_node[f->members[info->ranks[i]].node]++;
    for (uint32_t node = 0; node < nnodes; node++) {
        struct impi_client_host host = {k, node, per_node[node]};

        if (per_node[node] == 0)
            continue;
        per_node[node] = f->c->nhosts;
        f->c->hosts[f->c->nhosts++] = host;
        info->nhosts++;
    }
    for (uint32_t i = 0; i < info->nprocs; i++) {
        uint32_t r = info->ranks[i];

        f->c->host[r] = per_node[f->members[r].node];
    }
    memset(per_node, 0, nnodes * sizeof(*per_node));
}

static int fill_hosts(struct forming *f)
{
    uint32_t nnodes = count_nodes(f);
    uint32_t *per_node;

    if (nnodes > SF_AGENTS_MAX) {
        errno = E2BIG;
        return -1;
    }
    per_node = calloc(nnodes, sizeof(*per_node));
    f->c->hosts = calloc(f->c->nprocs, sizeof(*f->c->hosts));
    if (!per_node || !f->c->hosts) {
        free(per_node);
        return -1;
    }
    for (uint32_t k = 0; k < f->c->nclients; k++)
        fill_client_hosts(f, k, per_node, nnodes);
    free(per_node);
    return 0;
}

static int allocate(struct impi_clients *c, uint32_t n)
{
    c->nprocs = n;
    c->client = calloc(n, sizeof(*c->client));
    c->host = calloc(n, sizeof(*c->host));
    c->native = calloc(n, sizeof(*c->native));
    c->memory = calloc(n, sizeof(*c->memory));
    return c->client && c->host && c->native && c->memory ? 0 : -1;
}

int impi_clients_form(struct impi_clients *c, const struct impi_member *members,
                      uint32_t n, bool by_node, struct errbuf *err)
{
    struct forming f = {.members = members, .by_node = by_node, .c = c};

    memset(c, 0, sizeof(*c));
    if (n == 0 || n > SF_IMPI_PROCS_MAX) {
        errno = EINVAL;
        return errprintf(err, "no world of %u processes", n);
    }
    if (allocate(c, n) < 0) {
        errprintf(err, "forming clients: %s", strerror(errno));
        goto error;
    }
    if (assign_clients(&f, err) < 0)
        goto error;
    if (fill_clients(&f) < 0 || fill_hosts(&f) < 0) {
        errprintf(err, "forming clients: %s", strerror(errno));
        goto error;
    }
    return 0;
error:
    impi_clients_free(c);
    return -1;
}

void impi_clients_free(struct impi_clients *c)
{
    int saved = errno;

    if (c->clients)
        for (uint32_t k = 0; k < c->nclients; k++)
            free(c->clients[k].ranks);
    free(c->clients);
    free(c->hosts);
    free(c->client);
    free(c->host);
    free(c->native);
    free(c->memory);
    memset(c, 0, sizeof(*c));
    errno = saved;
}

int64_t impi_clients_host_on(const struct impi_clients *c, uint32_t client,
                             uint32_t node)
{
    const struct impi_client_info *info = &c->clients[client];

    for (uint32_t i = 0; i < info->nhosts; i++)
        if (c->hosts[info->first_host + i].node == node)
            return info->first_host + i;
    return -1;
}

/* Numbers of hosts with as many places behind each as a node has memories. */
uint32_t *impi_clients_native_nodes(const struct impi_clients *c,
                                    uint32_t client)
{
    const struct impi_client_info *info = &c->clients[client];
    uint32_t *node = calloc(info->nprocs, sizeof(*node));
    uint32_t most = 0;

    for (uint32_t i = 0; node && i < info->nprocs; i++)
        if (c->memory[info->ranks[i]] > most)
            most = c->memory[info->ranks[i]];
    for (uint32_t i = 0; node && i < info->nprocs; i++) {
        uint32_t r = info->ranks[i];

        node[i] = (c->host[r] - info->first_host) * (most + 1) + c->memory[r];
    }
    return node;
}

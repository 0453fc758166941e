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

_Static_assert(SF_IMPI_CLIENTS_MAX <= UINT8_MAX, "impi_clients.client");
_Static_assert(SF_AGENTS_MAX <= UINT16_MAX + 1, "impi_clients.node");

static int find_or_add(struct forming *f, uint32_t rank)
{
    const struct impi_member *m = &f->members[rank];
    struct identity id = {m->component, m->family,
                          f->by_node ? f->c->node[rank] : 0, m->build};
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
        k = find_or_add(f, r);
        if (k < 0) {
            errno = E2BIG;
            return errprintf(err,
                             "more than %d IMPI clients (a client is the "
                             "tasks of one component with one build of an MPI "
                             "library)",
                             SF_IMPI_CLIENTS_MAX);
        }
        c->client[r] = (uint8_t)k;
    }
    return 0;
}

static int fill_clients(struct forming *f)
{
    struct impi_clients *c = f->c;

    c->clients = calloc(c->nclients, sizeof(*c->clients));
    if (!c->clients)
        return -1;
    for (uint32_t k = 0; k < c->nclients; k++) {
        c->clients[k].component = f->id[k].component;
        c->clients[k].family = f->id[k].family;
    }
    for (uint32_t r = 0; r < c->nprocs; r++)
        c->clients[c->client[r]].nprocs++;
    return 0;
}

static uint32_t count_nodes(const struct impi_clients *c)
{
    uint32_t max = 0;

    for (uint32_t r = 0; r < c->nprocs; r++)
        if (c->node[r] > max)
            max = c->node[r];
    return max + 1;
}

static uint32_t count_hosts(const uint32_t *per_node, uint32_t nnodes)
{
    uint32_t n = 0;

    for (uint32_t node = 0; node < nnodes; node++)
        n += per_node[node] > 0;
    return n;
}

static int add_hosts(struct impi_clients *c, uint32_t n)
{
    struct impi_client_host *hosts =
        realloc(c->hosts, (c->nhosts + n) * sizeof(*hosts));

    if (!hosts)
        return -1;
    c->hosts = hosts;
    return 0;
}

/* The hosts of one client.  per_node: scratch, zero before and after. */
static int fill_client_hosts(struct impi_clients *c, uint32_t k,
                             uint32_t *per_node, uint32_t nnodes)
{
    struct impi_client_info *info = &c->clients[k];

    info->first_host = c->nhosts;
    for (uint32_t r = 0; r < c->nprocs; r++)
        per_node[c->node[r]] += c->client[r] == k;
    info->nhosts = count_hosts(per_node, nnodes);
    if (add_hosts(c, info->nhosts) < 0)
        return -1;
    for (uint32_t node = 0; node < nnodes; node++)
        if (per_node[node] > 0)
            c->hosts[c->nhosts++] =
                (struct impi_client_host){k, node, per_node[node]};
    memset(per_node, 0, nnodes * sizeof(*per_node));
    return 0;
}

static int fill_hosts(struct impi_clients *c)
{
    uint32_t nnodes = count_nodes(c);
    uint32_t *per_node = calloc(nnodes, sizeof(*per_node));
    int rc = 0;

    if (!per_node)
        return -1;
    for (uint32_t k = 0; rc == 0 && k < c->nclients; k++)
        rc = fill_client_hosts(c, k, per_node, nnodes);
    free(per_node);
    return rc;
}

static int fill_before(struct impi_clients *c)
{
    uint32_t n[SF_IMPI_CLIENTS_MAX] = {0};
    uint32_t *at;

    c->before =
        calloc(((size_t)c->nprocs / IMPI_CLIENTS_BLOCK + 1) * c->nclients,
               sizeof(*c->before));
    if (!c->before)
        return -1;
    at = c->before;
    for (uint32_t r = 0; r < c->nprocs; r++) {
        if (r % IMPI_CLIENTS_BLOCK == 0) {
            memcpy(at, n, c->nclients * sizeof(*n));
            at += c->nclients;
        }
        n[c->client[r]]++;
    }
    return 0;
}

static int fill_memory(const struct forming *f)
{
    struct impi_clients *c = f->c;
    bool some = false;

    for (uint32_t r = 0; r < c->nprocs; r++)
        some = some || f->members[r].memory > 0;
    if (!some)
        return 0;
    c->memory = calloc(c->nprocs, sizeof(*c->memory));
    if (!c->memory)
        return -1;
    for (uint32_t r = 0; r < c->nprocs; r++)
        c->memory[r] = f->members[r].memory;
    return 0;
}

int impi_clients_form(struct impi_clients *c, const struct impi_member *members,
                      const uint16_t *node, uint32_t n, bool by_node,
                      struct errbuf *err)
{
    struct forming f = {.members = members, .by_node = by_node, .c = c};
    int rc = 0;

    memset(c, 0, sizeof(*c));
    if (n == 0 || n > SF_IMPI_PROCS_MAX) {
        errno = EINVAL;
        return errprintf(err, "no world of %u processes", n);
    }
    c->nprocs = n;
    c->node = node;
    c->client = calloc(n, sizeof(*c->client));
    if (!c->client)
        rc = errprintf(err, "forming clients: %s", strerror(errno));
    else
        rc = assign_clients(&f, err);
    if (rc == 0 && (fill_clients(&f) < 0 || fill_hosts(c) < 0 ||
                    fill_before(c) < 0 || fill_memory(&f) < 0))
        rc = errprintf(err, "forming clients: %s", strerror(errno));
    if (rc < 0)
        impi_clients_free(c);
    return rc;
}

void impi_clients_free(struct impi_clients *c)
{
    int saved = errno;

    free(c->clients);
    free(c->hosts);
    free(c->client);
    free(c->before);
    free(c->memory);
    memset(c, 0, sizeof(*c));
    errno = saved;
}

/* A client's hosts are in node order. */
int64_t impi_clients_host_on(const struct impi_clients *c, uint32_t client,
                             uint32_t node)
{
    const struct impi_client_info *info = &c->clients[client];
    uint32_t low = info->first_host, high = low + info->nhosts;

    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;

        if (c->hosts[mid].node <= node)
            low = mid;
        else
            high = mid;
    }
    return c->hosts[low].node == node ? (int64_t)low : -1;
}

uint32_t impi_clients_client(const struct impi_clients *c, uint32_t rank)
{
    return c->client[rank];
}

uint32_t impi_clients_native(const struct impi_clients *c, uint32_t rank)
{
    uint32_t client = c->client[rank], block = rank / IMPI_CLIENTS_BLOCK;
    uint32_t n = c->before[(size_t)block * c->nclients + client];

    for (uint32_t r = block * IMPI_CLIENTS_BLOCK; r < rank; r++)
        n += c->client[r] == client;
    return n;
}

static uint32_t memory_of(const struct impi_clients *c, uint32_t rank)
{
    return c->memory ? c->memory[rank] : 0;
}

/* For each native rank: its host's number times `each`, and which of the
 * memories it sees if there is more than one. */
static uint32_t *by_native(const struct impi_clients *c, uint32_t client,
                           uint32_t each)
{
    const struct impi_client_info *info = &c->clients[client];
    uint32_t *node = calloc(info->nprocs, sizeof(*node)), n = 0;

    for (uint32_t r = 0; node && r < c->nprocs; r++) {
        uint32_t host;

        if (c->client[r] != client)
            continue;
        host = (uint32_t)impi_clients_host_on(c, client, c->node[r]);
        node[n++] =
            (host - info->first_host) * each + (each > 1 ? memory_of(c, r) : 0);
    }
    return node;
}

uint32_t *impi_clients_native_hosts(const struct impi_clients *c,
                                    uint32_t client)
{
    return by_native(c, client, 1);
}

/* Numbers of hosts with as many places behind each as a node has memories. */
uint32_t *impi_clients_native_nodes(const struct impi_clients *c,
                                    uint32_t client)
{
    uint32_t most = 0;

    for (uint32_t r = 0; r < c->nprocs; r++)
        if (c->client[r] == client && memory_of(c, r) > most)
            most = memory_of(c, r);
    return by_native(c, client, most + 1);
}

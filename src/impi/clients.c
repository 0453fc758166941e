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
    uint8_t *client; /* of each world rank, */
    uint32_t *host;  /* its host rank */
};

_Static_assert(SF_IMPI_CLIENTS_MAX <= UINT8_MAX, "forming.client");

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
        f->client[r] = (uint8_t)k;
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
        c->clients[f->client[r]].nprocs++;
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
static int fill_client_hosts(struct forming *f, uint32_t k, uint32_t *per_node,
                             uint32_t nnodes)
{
    struct impi_client_info *info = &f->c->clients[k];

    info->first_host = f->c->nhosts;
    for (uint32_t r = 0; r < f->c->nprocs; r++)
        per_node[f->members[r].node] += f->client[r] == k;
    info->nhosts = count_hosts(per_node, nnodes);
    if (add_hosts(f->c, info->nhosts) < 0)
        return -1;
    for (uint32_t node = 0; node < nnodes; node++) {
        struct impi_client_host host = {k, node, per_node[node]};

        if (per_node[node] == 0)
            continue;
        per_node[node] = f->c->nhosts;
        f->c->hosts[f->c->nhosts++] = host;
    }
    for (uint32_t r = 0; r < f->c->nprocs; r++) {
        if (f->client[r] == k)
            f->host[r] = per_node[f->members[r].node];
    }
    memset(per_node, 0, nnodes * sizeof(*per_node));
    return 0;
}

static int fill_hosts(struct forming *f)
{
    uint32_t nnodes = count_nodes(f);
    uint32_t *per_node;
    int rc = 0;

    if (nnodes > SF_AGENTS_MAX) {
        errno = E2BIG;
        return -1;
    }
    per_node = calloc(nnodes, sizeof(*per_node));
    if (!per_node)
        return -1;
    for (uint32_t k = 0; rc == 0 && k < f->c->nclients; k++)
        rc = fill_client_hosts(f, k, per_node, nnodes);
    free(per_node);
    return rc;
}

static bool run_goes_on(const struct forming *f, uint32_t r)
{
    return f->host[r] == f->host[r - 1] &&
           f->members[r].memory == f->members[r - 1].memory;
}

static int fill_runs(struct forming *f)
{
    uint32_t next[SF_IMPI_CLIENTS_MAX] = {0}; /* native rank of a client */
    struct impi_clients *c = f->c;
    uint32_t n = 1;

    for (uint32_t r = 1; r < c->nprocs; r++)
        n += !run_goes_on(f, r);
    c->runs = calloc(n, sizeof(*c->runs));
    if (!c->runs)
        return -1;
    for (uint32_t r = 0; r < c->nprocs; r++) {
        uint32_t native = next[f->client[r]]++;

        if (r == 0 || !run_goes_on(f, r))
            c->runs[c->nruns++] = (struct impi_clients_run){
                r, native, f->host[r], f->members[r].memory};
    }
    return 0;
}

static int allocate(struct forming *f)
{
    f->client = calloc(f->c->nprocs, sizeof(*f->client));
    f->host = calloc(f->c->nprocs, sizeof(*f->host));
    return f->client && f->host ? 0 : -1;
}

int impi_clients_form(struct impi_clients *c, const struct impi_member *members,
                      uint32_t n, bool by_node, struct errbuf *err)
{
    struct forming f = {.members = members, .by_node = by_node, .c = c};
    int rc;

    memset(c, 0, sizeof(*c));
    if (n == 0 || n > SF_IMPI_PROCS_MAX) {
        errno = EINVAL;
        return errprintf(err, "no world of %u processes", n);
    }
    c->nprocs = n;
    rc = allocate(&f);
    if (rc < 0)
        errprintf(err, "forming clients: %s", strerror(errno));
    else
        rc = assign_clients(&f, err);
    if (rc == 0 &&
        (fill_clients(&f) < 0 || fill_hosts(&f) < 0 || fill_runs(&f) < 0))
        rc = errprintf(err, "forming clients: %s", strerror(errno));
    if (rc < 0)
        impi_clients_free(c);
    free(f.client);
    free(f.host);
    return rc;
}

void impi_clients_free(struct impi_clients *c)
{
    int saved = errno;

    free(c->clients);
    free(c->hosts);
    free(c->runs);
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

/* Of that rank. */
static const struct impi_clients_run *find_run(const struct impi_clients *c,
                                               uint32_t rank)
{
    uint32_t low = 0, high = c->nruns;

    while (high - low > 1) {
        uint32_t mid = low + (high - low) / 2;

        if (c->runs[mid].first <= rank)
            low = mid;
        else
            high = mid;
    }
    return &c->runs[low];
}

uint32_t impi_clients_client(const struct impi_clients *c, uint32_t rank)
{
    return c->hosts[find_run(c, rank)->host].client;
}

uint32_t impi_clients_native(const struct impi_clients *c, uint32_t rank)
{
    const struct impi_clients_run *run = find_run(c, rank);

    return run->native + rank - run->first;
}

static uint32_t run_length(const struct impi_clients *c, uint32_t i)
{
    return (i + 1 < c->nruns ? c->runs[i + 1].first : c->nprocs) -
           c->runs[i].first;
}

/* For each native rank: its host's number times `each`, and which of the
 * memories it sees if there is more than one. */
static uint32_t *by_native(const struct impi_clients *c, uint32_t client,
                           uint32_t each)
{
    const struct impi_client_info *info = &c->clients[client];
    uint32_t *node = calloc(info->nprocs, sizeof(*node));

    for (uint32_t i = 0; node && i < c->nruns; i++) {
        const struct impi_clients_run *run = &c->runs[i];
        uint32_t n = run_length(c, i);

        if (c->hosts[run->host].client != client)
            continue;
        for (uint32_t k = 0; k < n; k++)
            node[run->native + k] = (run->host - info->first_host) * each +
                                    (each > 1 ? run->memory : 0);
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

    for (uint32_t i = 0; i < c->nruns; i++)
        if (c->hosts[c->runs[i].host].client == client &&
            c->runs[i].memory > most)
            most = c->runs[i].memory;
    return by_native(c, client, most + 1);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A process of another client, or of this host. */
struct entry {
    uint8_t id[IMPI_PROC_SIZE];
    uint32_t host;
    uint32_t number; /* on its host */
};

struct impi_relay {
    const struct impi_world *world;
    uint32_t host;
    uint32_t nentries;
    struct entry *entries; /* sorted by id */
    bool *proc_fini;       /* [own processes] */
    bool *host_fini;       /* [hosts] */
    uint32_t nproc_fini, nhost_fini, nothers;
};

static int compare(const void *a, const void *b)
{
    return memcmp(((const struct entry *)a)->id, ((const struct entry *)b)->id,
                  IMPI_PROC_SIZE);
}

bool impi_relay_wants(const struct impi_relay *r, uint32_t host)
{
    const struct impi_host *hosts = r->world->hosts;

    return host < r->world->nhosts &&
           hosts[host].client != hosts[r->host].client;
}

bool impi_relay_connects(const struct impi_relay *r, uint32_t host)
{
    return impi_relay_wants(r, host) && r->host > host;
}

/* Processes in world order: so they are numbered on each host. */
static void fill_entries(struct impi_relay *r, uint32_t *count)
{
    const struct impi_world *w = r->world;

    for (uint32_t i = 0; i < w->nprocs; i++) {
        const struct impi_proc *p = &w->procs[i];
        struct entry *e = &r->entries[r->nentries];

        if (p->host != r->host && !impi_relay_wants(r, p->host))
            continue;
        impi_proc_encode(e->id, p->hostid, p->pid);
        e->host = p->host;
        e->number = count[p->host]++;
        r->nentries++;
    }
    qsort(r->entries, r->nentries, sizeof(*r->entries), compare);
}

struct impi_relay *impi_relay_create(const struct impi_world *world,
                                     uint32_t host)
{
    struct impi_relay *r;
    uint32_t *count;

    if (host >= world->nhosts) {
        errno = EINVAL;
        return NULL;
    }
    r = calloc(1, sizeof(*r));
    count = calloc(world->nhosts, sizeof(*count));
    if (r) {
        r->world = world;
        r->host = host;
        r->entries = calloc(world->nprocs, sizeof(*r->entries));
        r->proc_fini = calloc(world->hosts[host].nprocs, sizeof(bool));
        r->host_fini = calloc(world->nhosts, sizeof(bool));
    }
    if (!r || !count || !r->entries || !r->proc_fini || !r->host_fini) {
        free(count);
        impi_relay_destroy(r);
        errno = ENOMEM;
        return NULL;
    }
    for (uint32_t h = 0; h < world->nhosts; h++)
        r->nothers += impi_relay_wants(r, h);
    fill_entries(r, count);
    free(count);
    return r;
}

void impi_relay_destroy(struct impi_relay *r)
{
    if (!r)
        return;
    free(r->entries);
    free(r->proc_fini);
    free(r->host_fini);
    free(r);
}

uint32_t impi_relay_nprocs(const struct impi_relay *r)
{
    return r->world->hosts[r->host].nprocs;
}

static const struct entry *find(const struct impi_relay *r,
                                const uint8_t proc[IMPI_PROC_SIZE])
{
    struct entry key;

    memcpy(key.id, proc, IMPI_PROC_SIZE);
    return bsearch(&key, r->entries, r->nentries, sizeof(key), compare);
}

/* Number on this host of a process of the world, given its identity as
 * packets carry it; -1: not ours. */
static int64_t find_own(const struct impi_relay *r,
                        const uint8_t proc[IMPI_PROC_SIZE])
{
    const struct entry *e = find(r, proc);

    return e && e->host == r->host ? (int64_t)e->number : -1;
}

static int64_t broken(struct errbuf *err, const char *what, uint32_t value)
{
    errprintf(err, "%s (%u)", what, value);
    errno = EPROTO;
    return -1;
}

/* What holds for both directions. */
static int64_t check_form(const struct impi_relay *r,
                          const struct impi_packet *pk, struct errbuf *err)
{
    if (impi_packet_is_swapped(pk, r->world->maxdatalen, r->world->nprocs))
        return broken(err, IMPI_PACKET_SWAPPED, pk->type);
    if (pk->type >= IMPI_PK_TYPES)
        return broken(err, "unknown packet type", pk->type);
    if (impi_packet_payload(pk) > r->world->maxdatalen)
        return broken(err, "packet is longer than agreed", pk->len);
    return 0;
}

int64_t impi_relay_from_proc(struct impi_relay *r, uint32_t proc,
                             const struct impi_packet *pk, struct errbuf *err)
{
    const struct entry *to;

    if (check_form(r, pk, err) < 0)
        return -1;
    if (pk->type == IMPI_PK_FINI) {
        if (r->proc_fini[proc])
            return broken(err, "second FINI of process", proc);
        r->proc_fini[proc] = true;
        r->nproc_fini++;
        return IMPI_RELAY_TAKEN;
    }
    if (r->proc_fini[proc] && !impi_relay_is_urgent(pk))
        return broken(err, "packet after FINI, type", pk->type);
    if (find_own(r, pk->src) != (int64_t)proc)
        return broken(err, "packet under another's name from process", proc);
    to = find(r, pk->dest);
    if (!to || to->host == r->host)
        return broken(err, "packet to nobody from process", proc);
    return to->host;
}

int64_t impi_relay_from_host(struct impi_relay *r, uint32_t host,
                             const struct impi_packet *pk, struct errbuf *err)
{
    const struct entry *from;
    int64_t to;

    if (check_form(r, pk, err) < 0)
        return -1;
    if (pk->type == IMPI_PK_FINI) {
        if (r->host_fini[host])
            return broken(err, "second FINI of host", host);
        r->host_fini[host] = true;
        r->nhost_fini++;
        return IMPI_RELAY_TAKEN;
    }
    if (r->host_fini[host] && !impi_relay_is_urgent(pk))
        return broken(err, "packet after FINI, type", pk->type);
    from = find(r, pk->src);
    if (!from || from->host != host)
        return broken(err, "packet under another's name from host", host);
    to = find_own(r, pk->dest);
    return to >= 0 ? to : broken(err, "packet to nobody from host", host);
}

bool impi_relay_procs_done(const struct impi_relay *r)
{
    return r->nproc_fini == impi_relay_nprocs(r);
}

bool impi_relay_hosts_done(const struct impi_relay *r)
{
    return r->nhost_fini == r->nothers;
}

bool impi_relay_host_done(const struct impi_relay *r, uint32_t host)
{
    return r->host_fini[host];
}

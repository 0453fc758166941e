/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes of the joined world: their ranks and identities.
 */
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "impi/join_priv.h"

/* World rank of process i in IMPI's order; -1: not a permutation. */
static int rank_of(const struct impi_join *j, const struct join_shape *s,
                   const struct impi_world *w, uint32_t i, uint32_t *rank,
                   struct errbuf *err)
{
    *rank = j->extended ? join_get32(j, IMPI_X_RANK, i) : i;
    if (*rank < w->nprocs && w->procs[*rank].host == UINT32_MAX)
        return 0;
    errprintf(err, "SF-E217: client %u: X_RANK: rank %u %s",
              join_client_of(s->proc, i), *rank,
              *rank < w->nprocs ? "is taken twice" : "is not in the world");
    return join_fail();
}

static int take_cpus(const struct impi_join *j, struct impi_proc *p, uint32_t i,
                     struct errbuf *err)
{
    uint32_t cpus = join_get32(j, IMPI_X_CPUS, i);

    if (cpus > UINT16_MAX)
        return join_bad_value(err, p->client, IMPI_X_CPUS, cpus);
    p->cpus = (uint16_t)cpus;
    return 0;
}

static int take_proc(const struct impi_join *j, const struct join_shape *s,
                     struct impi_world *w, uint32_t i, uint32_t host,
                     struct errbuf *err)
{
    const uint8_t *hostid = join_label(j, IMPI_P_IPV6)->data;
    const uint8_t *pid = join_label(j, IMPI_P_PID)->data;
    struct impi_proc *p;
    uint32_t rank, port;

    if (rank_of(j, s, w, i, &rank, err) < 0)
        return -1;
    p = &w->procs[rank];
    p->client = w->hosts[host].client;
    p->host = host;
    p->pid = be_load64(pid + (size_t)i * 8);
    memcpy(p->hostid, hostid + (size_t)i * IMPI_HOSTID_SIZE, IMPI_HOSTID_SIZE);
    if (!j->extended)
        return 0;
    port = join_get32(j, IMPI_X_PORT, i);
    if (port > UINT16_MAX)
        return join_bad_value(err, p->client, IMPI_X_PORT, port);
    p->port = (uint16_t)port;
    memcpy(p->addr,
           join_label(j, IMPI_X_ADDR)->data + (size_t)i * IMPI_HOSTID_SIZE,
           IMPI_HOSTID_SIZE);
    return join_agree_extended(j, IMPI_EXT_FLAT) ? take_cpus(j, p, i, err) : 0;
}

int join_take_procs(const struct impi_join *j, const struct join_shape *s,
                    struct impi_world *w, struct errbuf *err)
{
    uint32_t i = 0;

    for (uint32_t r = 0; r < w->nprocs; r++)
        w->procs[r].host = UINT32_MAX;
    for (uint32_t h = 0; h < w->nhosts; h++)
        for (uint32_t k = 0; k < w->hosts[h].nprocs; k++)
            if (take_proc(j, s, w, i++, h, err) < 0)
                return -1;
    return 0;
}

/* Without X_RANK the order is the standard's: does it suit us? */
int join_check_order(const struct impi_join *j, const struct join_shape *s,
                     struct errbuf *err)
{
    for (uint32_t i = 0; !j->extended && !j->o.reorder && i < j->o.nprocs; i++)
        if (j->o.procs[i].rank != s->proc[j->o.client] + i) {
            errprintf(err,
                      "SF-E217: without extensions ranks follow the clients: "
                      "rank %u of client %u would become rank %u; set "
                      "SLURM_IMPI_REORDER=1 to accept that",
                      j->o.procs[i].rank, j->o.client,
                      s->proc[j->o.client] + i);
            return join_fail();
        }
    return 0;
}

struct identity {
    uint8_t id[IMPI_HOSTID_SIZE + 8];
    uint32_t rank;
};

static int compare_identity(const void *a, const void *b)
{
    return memcmp(((const struct identity *)a)->id,
                  ((const struct identity *)b)->id, IMPI_HOSTID_SIZE + 8);
}

static void set_identity(struct identity *out, const struct impi_world *w,
                         uint32_t rank)
{
    const struct impi_proc *p = &w->procs[rank];
    uint8_t ipv4[4];

    out->rank = rank;
    memcpy(out->id, p->hostid, IMPI_HOSTID_SIZE);
    if (impi_hostid_get_ipv4(ipv4, p->hostid))
        impi_hostid_set_ipv4(out->id, ipv4);
    be_store64(out->id + IMPI_HOSTID_SIZE, p->pid);
}

/* (P_IPV6, P_PID) must name one process of the whole job (IM-092). */
int join_check_identities(const struct impi_world *w, struct errbuf *err)
{
    struct identity *all = calloc(w->nprocs, sizeof(*all));
    int rc = 0;

    if (!all)
        return errprintf(err, "out of memory");
    for (uint32_t r = 0; r < w->nprocs; r++)
        set_identity(&all[r], w, r);
    qsort(all, w->nprocs, sizeof(*all), compare_identity);
    for (uint32_t i = 1; rc == 0 && i < w->nprocs; i++)
        if (compare_identity(&all[i - 1], &all[i]) == 0) {
            errprintf(err,
                      "SF-E216: ranks %u (client %u) and %u (client %u) have "
                      "the same IMPI_P_IPV6 and IMPI_P_PID",
                      all[i - 1].rank, w->procs[all[i - 1].rank].client,
                      all[i].rank, w->procs[all[i].rank].client);
            rc = join_fail();
        }
    free(all);
    return rc;
}

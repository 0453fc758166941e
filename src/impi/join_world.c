/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the broadcast labels to the joined world: a ladder of checks, each of
 * which names the client and the label that is wrong, then the assembly.
 * The server concatenates without marks, so where one client's part begins
 * follows from NHOSTS and NPROCS.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "impi/join_priv.h"

const struct join_label *join_label(const struct impi_join *j, int32_t label)
{
    return &j->labels[impi_label_find(label)];
}

static const char *name_of(int32_t label)
{
    return impi_labels[impi_label_find(label)].name;
}

static int fail(void)
{
    errno = EPROTO;
    return -1;
}

int join_need(const struct impi_join *j, int32_t label, struct errbuf *err)
{
    const struct join_label *l = join_label(j, label);

    for (uint32_t c = 0; c < j->nclients; c++)
        if (!l->got || !(l->mask >> c & 1)) {
            errprintf(err, "SF-E211: client %u did not send %s", c,
                      name_of(label));
            return fail();
        }
    return 0;
}

static uint32_t get32(const struct impi_join *j, int32_t label, uint32_t i)
{
    return be_load32(join_label(j, label)->data + (size_t)i * 4);
}

/* ---- VERSION ---- */

/* Each client's array is strictly ascending and holds 0.0, the lowest there
 * is: so each 0.0 begins the part of the next client. */
static int split_versions(const struct impi_join *j, uint32_t *first,
                          struct errbuf *err)
{
    const struct join_label *l = join_label(j, IMPI_C_VERSION);
    uint32_t n = l->len / IMPI_VERSION_SIZE, client = 0;
    struct impi_version last = {0, 0};

    if (l->len % IMPI_VERSION_SIZE) {
        errprintf(err, "SF-E212: IMPI_C_VERSION: %u bytes in all", l->len);
        return fail();
    }
    for (uint32_t i = 0; i < n; i++) {
        struct impi_version v =
            impi_version_decode(l->data + (size_t)i * IMPI_VERSION_SIZE);

        if (v.major == 0 && v.minor == 0) {
            if (client == j->nclients)
                goto count;
            first[client++] = i;
        } else if (i == 0 || impi_version_compare(&v, &last) <= 0) {
            errprintf(err,
                      "SF-E214: client %u: IMPI_C_VERSION: %u.%u is out of "
                      "order, or 0.0 is missing",
                      i == 0 ? 0 : client - 1, v.major, v.minor);
            return fail();
        }
        last = v;
    }
    first[client] = n;
    if (client == j->nclients)
        return 0;
count:
    errprintf(err,
              "SF-E214: IMPI_C_VERSION: version 0.0 is not listed exactly "
              "once by each of %u clients",
              j->nclients);
    return fail();
}

static bool has_version(const struct impi_join *j, uint32_t from, uint32_t to,
                        const struct impi_version *want)
{
    const uint8_t *data = join_label(j, IMPI_C_VERSION)->data;

    for (uint32_t i = from; i < to; i++) {
        struct impi_version v =
            impi_version_decode(data + (size_t)i * IMPI_VERSION_SIZE);

        if (impi_version_compare(&v, want) == 0)
            return true;
    }
    return false;
}

int join_pick_version(struct impi_join *j, struct errbuf *err)
{
    uint32_t first[SF_IMPI_CLIENTS_MAX + 1], own;
    const uint8_t *data = join_label(j, IMPI_C_VERSION)->data;

    if (join_need(j, IMPI_C_VERSION, err) < 0 ||
        split_versions(j, first, err) < 0)
        return -1;
    own = j->o.client;
    for (uint32_t i = first[own + 1]; i-- > first[own];) {
        struct impi_version v =
            impi_version_decode(data + (size_t)i * IMPI_VERSION_SIZE);
        uint32_t c = 0;

        while (c < j->nclients && has_version(j, first[c], first[c + 1], &v))
            c++;
        if (c == j->nclients) {
            j->version = v;
            return 0;
        }
    }
    errprintf(err, "SF-E214: no IMPI version that all clients have");
    return fail();
}

bool join_agree_extended(const struct impi_join *j)
{
    const struct join_label *l = join_label(j, IMPI_X_EXT);

    if (join_need(j, IMPI_X_EXT, NULL) < 0 || l->len != j->nclients * 4)
        return false;
    for (uint32_t c = 0; c < j->nclients; c++)
        if (get32(j, IMPI_X_EXT, c) < IMPI_EXT_VERSION)
            return false;
    return true;
}

/* ---- lengths ---- */

/* Hosts and processes of each client, and where they begin. */
struct shape {
    uint32_t host[SF_IMPI_CLIENTS_MAX + 1];
    uint32_t proc[SF_IMPI_CLIENTS_MAX + 1];
};

static uint32_t shape_count(const struct impi_join *j, const struct shape *s,
                            enum impi_label_per per)
{
    switch (per) {
    case IMPI_PER_HOST:
        return s->host[j->nclients];
    case IMPI_PER_PROC:
        return s->proc[j->nclients];
    default:
        return j->nclients;
    }
}

/* The culprit is among the others: what we sent is right. */
static void name_suspects(const struct impi_join *j, char *buf, size_t size)
{
    size_t at = 0;

    buf[0] = '\0';
    for (uint32_t c = 0; c < j->nclients && at < size; c++)
        if (c != j->o.client || j->nclients == 1)
            at += (size_t)snprintf(buf + at, size - at, "%s%u",
                                   at ? " or " : "", c);
}

static int check_length(const struct impi_join *j, int32_t label,
                        const struct shape *s, struct errbuf *err)
{
    const struct impi_label_info *info = &impi_labels[impi_label_find(label)];
    uint64_t want =
        (uint64_t)info->size * (s ? shape_count(j, s, info->per) : j->nclients);
    uint32_t have = join_label(j, label)->len;
    char suspects[192];

    if (have == want)
        return 0;
    name_suspects(j, suspects, sizeof(suspects));
    errprintf(err, "SF-E212: client %s: %s: %u bytes in all, %llu expected",
              suspects, info->name, have, (unsigned long long)want);
    return fail();
}

static int get_counts(const struct impi_join *j, int32_t label,
                      uint32_t first[SF_IMPI_CLIENTS_MAX + 1], uint32_t max,
                      struct errbuf *err)
{
    if (join_need(j, label, err) < 0 || check_length(j, label, NULL, err) < 0)
        return -1;
    first[0] = 0;
    for (uint32_t c = 0; c < j->nclients; c++) {
        uint32_t n = get32(j, label, c);

        if (n < 1 || n > max - first[c]) {
            errprintf(err, "%s: client %u: %s is %u",
                      n < 1 ? "SF-E213" : "SF-E218", c, name_of(label), n);
            return fail();
        }
        first[c + 1] = first[c] + n;
    }
    return 0;
}

static bool used(const struct impi_join *j, const struct impi_label_info *info)
{
    if (info->label == IMPI_C_VERSION || info->label == IMPI_X_EXT)
        return false; /* looked at before */
    return info->mandatory || j->extended;
}

static int check_lengths(const struct impi_join *j, const struct shape *s,
                         struct errbuf *err)
{
    for (int i = 0; i < IMPI_N_LABELS; i++) {
        const struct impi_label_info *info = &impi_labels[i];

        if (used(j, info) && (join_need(j, info->label, err) < 0 ||
                              check_length(j, info->label, s, err) < 0))
            return -1;
    }
    return 0;
}

/* ---- values ---- */

static int bad_value(struct errbuf *err, uint32_t client, int32_t label,
                     long long value)
{
    errprintf(err, "SF-E213: client %u: %s is %lld", client, name_of(label),
              value);
    return fail();
}

/* Smallest DATALEN and TAGUB rule (3.9 bounds each). */
static int take_minima(const struct impi_join *j, struct impi_world *w,
                       struct errbuf *err)
{
    w->maxdatalen = UINT32_MAX;
    w->tagub = INT32_MAX;
    for (uint32_t c = 0; c < j->nclients; c++) {
        uint32_t datalen = get32(j, IMPI_C_DATALEN, c);
        int32_t tagub = (int32_t)get32(j, IMPI_C_TAGUB, c);

        if (datalen < 1)
            return bad_value(err, c, IMPI_C_DATALEN, datalen);
        if (tagub < SF_IMPI_TAGUB_MIN)
            return bad_value(err, c, IMPI_C_TAGUB, tagub);
        if (datalen < w->maxdatalen)
            w->maxdatalen = datalen;
        if (tagub < w->tagub)
            w->tagub = tagub;
    }
    return 0;
}

/* All must give the same value, -1 being the default (IM-086). */
static int take_equal(const struct impi_join *j, int32_t label, int32_t dflt,
                      int32_t *out, struct errbuf *err)
{
    for (uint32_t c = 0; c < j->nclients; c++) {
        int32_t v = (int32_t)get32(j, label, c);

        if (v < -1)
            return bad_value(err, c, label, v);
        if (v == -1)
            v = dflt;
        if (c > 0 && v != *out) {
            errprintf(err,
                      "SF-E215: clients disagree: %s is %d at client %u and "
                      "%d at client %u",
                      name_of(label), *out, c - 1, v, c);
            return fail();
        }
        *out = v;
    }
    return 0;
}

static uint32_t client_of(const uint32_t *first, uint32_t i)
{
    uint32_t c = 0;

    while (i >= first[c + 1])
        c++;
    return c;
}

/* Both are minima over all hosts (IM-089). */
static int take_flow(const struct impi_join *j, const struct shape *s,
                     struct impi_world *w, struct errbuf *err)
{
    w->ackmark = w->hiwater = UINT32_MAX;
    for (uint32_t i = 0; i < s->host[j->nclients]; i++) {
        uint32_t ackmark = get32(j, IMPI_H_ACKMARK, i);
        uint32_t hiwater = get32(j, IMPI_H_HIWATER, i);

        if (ackmark < 1 || ackmark > hiwater) {
            errprintf(err,
                      "SF-E213: client %u: IMPI_H_ACKMARK is %u and "
                      "IMPI_H_HIWATER %u at its host %u",
                      client_of(s->host, i), ackmark, hiwater,
                      i - s->host[client_of(s->host, i)]);
            return fail();
        }
        if (ackmark < w->ackmark)
            w->ackmark = ackmark;
        if (hiwater < w->hiwater)
            w->hiwater = hiwater;
    }
    return 0;
}

static int take_hosts(const struct impi_join *j, const struct shape *s,
                      struct impi_world *w, struct errbuf *err)
{
    const uint8_t *addr = join_label(j, IMPI_H_IPV6)->data;

    for (uint32_t i = 0; i < w->nhosts; i++) {
        struct impi_host *h = &w->hosts[i];
        uint32_t port = get32(j, IMPI_H_PORT, i);

        h->client = client_of(s->host, i);
        h->nprocs = get32(j, IMPI_H_NPROCS, i);
        memcpy(h->addr, addr + (size_t)i * IMPI_HOSTID_SIZE, IMPI_HOSTID_SIZE);
        if (port > UINT16_MAX)
            return bad_value(err, h->client, IMPI_H_PORT, port);
        if (h->nprocs < 1)
            return bad_value(err, h->client, IMPI_H_NPROCS, 0);
        h->port = (uint16_t)port;
    }
    return 0;
}

static int check_host_sizes(const struct impi_join *j, const struct shape *s,
                            const struct impi_world *w, struct errbuf *err)
{
    for (uint32_t c = 0; c < j->nclients; c++) {
        uint64_t sum = 0, want = s->proc[c + 1] - s->proc[c];

        for (uint32_t i = s->host[c]; i < s->host[c + 1]; i++)
            sum += w->hosts[i].nprocs;
        if (sum != want) {
            errprintf(err,
                      "SF-E213: client %u: IMPI_H_NPROCS add up to %llu, "
                      "IMPI_C_NPROCS is %llu",
                      c, (unsigned long long)sum, (unsigned long long)want);
            return fail();
        }
    }
    return 0;
}

/* ---- processes ---- */

/* World rank of process i in IMPI's order; -1: not a permutation. */
static int rank_of(const struct impi_join *j, const struct shape *s,
                   const struct impi_world *w, uint32_t i, uint32_t *rank,
                   struct errbuf *err)
{
    *rank = j->extended ? get32(j, IMPI_X_RANK, i) : i;
    if (*rank < w->nprocs && w->procs[*rank].host == UINT32_MAX)
        return 0;
    errprintf(err, "SF-E217: client %u: X_RANK: rank %u %s",
              client_of(s->proc, i), *rank,
              *rank < w->nprocs ? "is taken twice" : "is not in the world");
    return fail();
}

static int take_proc(const struct impi_join *j, const struct shape *s,
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
    port = get32(j, IMPI_X_PORT, i);
    if (port > UINT16_MAX)
        return bad_value(err, p->client, IMPI_X_PORT, port);
    p->port = (uint16_t)port;
    memcpy(p->addr,
           join_label(j, IMPI_X_ADDR)->data + (size_t)i * IMPI_HOSTID_SIZE,
           IMPI_HOSTID_SIZE);
    return 0;
}

static int take_procs(const struct impi_join *j, const struct shape *s,
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
static int check_order(const struct impi_join *j, const struct shape *s,
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
            return fail();
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
static int check_identities(const struct impi_world *w, struct errbuf *err)
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
            rc = fail();
        }
    free(all);
    return rc;
}

/* ---- all together ---- */

static bool same_representation(const struct impi_join *j)
{
    const uint8_t *repr = join_label(j, IMPI_X_REPR)->data;

    for (uint32_t c = 1; c < j->nclients; c++)
        if (memcmp(repr, repr + (size_t)c * IMPI_REPR_SIZE, IMPI_REPR_SIZE))
            return false;
    return true;
}

static int take_numbers(struct impi_join *j, const struct shape *s,
                        struct impi_world *w, struct errbuf *err)
{
    if (take_minima(j, w, err) < 0 ||
        take_equal(j, IMPI_C_COLL_XSIZE, 1024, &w->coll_xsize, err) < 0 ||
        take_equal(j, IMPI_C_COLL_MAXLINEAR, 4, &w->coll_maxlinear, err) < 0 ||
        take_flow(j, s, w, err) < 0)
        return -1;
    w->version_major = j->version.major;
    w->version_minor = j->version.minor;
    w->nclients = j->nclients;
    memcpy(w->secret, j->o.secret, sizeof(w->secret));
    if (j->extended)
        w->flags |= IMPI_WORLD_EXTENDED;
    if (j->extended && same_representation(j))
        w->flags |= IMPI_WORLD_NATIVE;
    return 0;
}

int join_make_world(struct impi_join *j, struct errbuf *err)
{
    struct impi_world *w = &j->world;
    struct shape s;

    if (get_counts(j, IMPI_C_NHOSTS, s.host, SF_IMPI_HOSTS_MAX, err) < 0 ||
        get_counts(j, IMPI_C_NPROCS, s.proc, SF_IMPI_PROCS_MAX, err) < 0 ||
        check_lengths(j, &s, err) < 0)
        return -1;
    if (impi_world_alloc(w, s.host[j->nclients], s.proc[j->nclients]) < 0)
        return errprintf(err, "out of memory");
    if (take_numbers(j, &s, w, err) < 0 || take_hosts(j, &s, w, err) < 0 ||
        check_host_sizes(j, &s, w, err) < 0 || take_procs(j, &s, w, err) < 0 ||
        check_order(j, &s, err) < 0 || check_identities(w, err) < 0)
        return -1;
    return impi_world_check(w, err);
}

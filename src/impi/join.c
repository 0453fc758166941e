/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A client that joins: what it contributes, what is made of everybody's
 * contributions, and the conversation.
 *
 * Between clients of ours the start costs three round
 * trips: the version; X_EXT with the first label behind it; all others and
 * DONE, when all have said X_EXT.  With anybody else we send one label, await
 * its answer, and send the next: a server that waits for all clients at each
 * label may lose what it has read ahead.
 */
#include "impi/join.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/bytebuf.h"
#include "base/number.h"

/* Longest payload kept of one label: 16 bytes for each process; versions are
 * far below. */
#define JOIN_LABEL_MAX (16 * SF_IMPI_PROCS_MAX)

enum join_item {
    JOIN_CHOICE,    /* IMPI_Server_auth */
    JOIN_CHALLENGE, /* its follow-on bytes */
    JOIN_HEADER,
    JOIN_SIZE,  /* payload of IMPI */
    JOIN_CHDR,  /* front of COLL */
    JOIN_LABEL, /* rest of a COLL that we know */
    JOIN_SKIP,
};

enum join_phase {
    JOIN_AUTH,    /* offered methods */
    JOIN_WAIT,    /* sent the rank */
    JOIN_VERSION, /* sent VERSION */
    JOIN_LABELS,  /* sends labels and awaits each */
    JOIN_ENDING,  /* sent all labels and DONE */
    JOIN_DONE,
    JOIN_FINI,
};

/* What the server broadcast for one label. */
struct join_label {
    bool got;
    uint32_t mask;
    uint8_t *data; /* allocated */
    uint32_t len;
};

struct impi_join {
    struct impi_join_options o; /* hosts and procs are our own copies */
    enum join_phase phase;
    enum join_item item;
    size_t want;
    struct impi_cmd cmd;
    int method;         /* chosen by the server, -1 before */
    bool refused_early; /* nothing came after our answer */
    uint32_t nclients;
    bool extended;
    struct impi_version version;
    int32_t asked;                           /* label that was sent last */
    int current;                             /* index of the label being read */
    struct join_label labels[IMPI_N_LABELS]; /* parallel to impi_labels */
    struct bytebuf in, out;
    struct impi_world world;
};

/* Hosts and processes of each client, and where they begin. */
struct join_shape {
    uint32_t host[SF_IMPI_CLIENTS_MAX + 1];
    uint32_t proc[SF_IMPI_CLIENTS_MAX + 1];
};

static const struct impi_auth_method *method(const struct impi_join *j);

/* ---- join version ------------------------------------------------------ */

/* What is decided before all labels are there: the version, and whether
 * everybody has the extensions. And the small helpers of the other checks. */

static const struct join_label *join_label(const struct impi_join *j,
                                           int32_t label)
{
    return &j->labels[impi_label_find(label)];
}

static const char *join_label_name(int32_t label)
{
    return impi_labels[impi_label_find(label)].name;
}

static int join_fail(void)
{
    errno = EPROTO;
    return -1;
}

/* All clients contributed to the label. */
static int join_need(const struct impi_join *j, int32_t label,
                     struct errbuf *err)
{
    const struct join_label *l = join_label(j, label);

    for (uint32_t c = 0; c < j->nclients; c++)
        if (!l->got || !(l->mask >> c & 1)) {
            errprintf(err, "SF-E211: client %u did not send %s", c,
                      join_label_name(label));
            return join_fail();
        }
    return 0;
}

/* Element i of a label with 32-bit elements; it must be there. */
static uint32_t join_get32(const struct impi_join *j, int32_t label, uint32_t i)
{
    return be_load32(join_label(j, label)->data + (size_t)i * 4);
}

static int join_bad_value(struct errbuf *err, uint32_t client, int32_t label,
                          long long value)
{
    errprintf(err, "SF-E213: client %u: %s is %lld", client,
              join_label_name(label), value);
    return join_fail();
}

/* Whose part of an array element i is. */
static uint32_t join_client_of(const uint32_t *first, uint32_t i)
{
    uint32_t c = 0;

    while (i >= first[c + 1])
        c++;
    return c;
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
        return join_fail();
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
            return join_fail();
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
    return join_fail();
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

static int join_pick_version(struct impi_join *j, struct errbuf *err)
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
    return join_fail();
}

/* Whether every client offers extensions that we know. */
static bool join_agree_extended(const struct impi_join *j, uint32_t version)
{
    const struct join_label *l = join_label(j, IMPI_X_EXT);

    if (join_need(j, IMPI_X_EXT, NULL) < 0 || l->len != j->nclients * 4)
        return false;
    for (uint32_t c = 0; c < j->nclients; c++)
        if (join_get32(j, IMPI_X_EXT, c) < version)
            return false;
    return true;
}

/* ---- join procs -------------------------------------------------------- */

/* The processes of the joined world: their ranks and identities. */

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

static int join_take_procs(const struct impi_join *j,
                           const struct join_shape *s, struct impi_world *w,
                           struct errbuf *err)
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
static int join_check_order(const struct impi_join *j,
                            const struct join_shape *s, struct errbuf *err)
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
static int join_check_identities(const struct impi_world *w, struct errbuf *err)
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

/* ---- join labels ------------------------------------------------------- */

/* What a joining client contributes, label by label in ascending order. */

/* IPv4 goes out in the compatible form, which every peer reads (IM-022). */
static void put_addr(struct bytebuf *o, const uint8_t addr[IMPI_HOSTID_SIZE])
{
    uint8_t ipv4[4], id[IMPI_HOSTID_SIZE];

    memcpy(id, addr, sizeof(id));
    if (impi_hostid_get_ipv4(ipv4, addr))
        impi_hostid_set_ipv4(id, ipv4);
    bytebuf_add(o, id, sizeof(id));
}

/* How many we offer. */
static uint32_t count_versions(const struct impi_join *j)
{
    return j->o.versions ? j->o.nversions : 1;
}

static void join_send_version(struct impi_join *j)
{
    static const struct impi_version zero;
    const struct impi_version *v = j->o.versions ? j->o.versions : &zero;
    uint32_t n = count_versions(j);

    impi_coll_encode(&j->out, IMPI_C_VERSION, n * IMPI_VERSION_SIZE);
    for (uint32_t i = 0; i < n; i++)
        impi_version_encode(&j->out, &v[i]);
    j->asked = IMPI_C_VERSION;
}

/* ---- one function for each shape of element ---- */

static void put_client(struct impi_join *j, int32_t label)
{
    const struct impi_join_options *o = &j->o;
    struct bytebuf *out = &j->out;

    switch (label) {
    case IMPI_X_EXT:
        bytebuf_add32(out, IMPI_EXT_VERSION);
        break;
    case IMPI_C_NHOSTS:
        bytebuf_add32(out, o->nhosts);
        break;
    case IMPI_C_NPROCS:
        bytebuf_add32(out, o->nprocs);
        break;
    case IMPI_C_DATALEN:
        bytebuf_add32(out, o->maxdatalen);
        break;
    case IMPI_C_TAGUB:
        bytebuf_add32(out, (uint32_t)o->tagub);
        break;
    case IMPI_C_COLL_XSIZE:
        bytebuf_add32(out, (uint32_t)o->coll_xsize);
        break;
    case IMPI_C_COLL_MAXLINEAR:
        bytebuf_add32(out, (uint32_t)o->coll_maxlinear);
        break;
    case IMPI_X_REPR:
        bytebuf_add(out, o->repr, IMPI_REPR_SIZE);
        break;
    }
}

static void put_host(struct impi_join *j, int32_t label,
                     const struct impi_join_host *h)
{
    struct bytebuf *out = &j->out;

    switch (label) {
    case IMPI_H_IPV6:
        put_addr(out, h->addr);
        break;
    case IMPI_H_PORT:
        bytebuf_add32(out, h->port);
        break;
    case IMPI_H_NPROCS:
        bytebuf_add32(out, h->nprocs);
        break;
    case IMPI_H_ACKMARK:
        bytebuf_add32(out, j->o.ackmark);
        break;
    case IMPI_H_HIWATER:
        bytebuf_add32(out, j->o.hiwater);
        break;
    }
}

static void put_proc(struct impi_join *j, int32_t label,
                     const struct impi_join_proc *p)
{
    struct bytebuf *out = &j->out;

    switch (label) {
    case IMPI_P_IPV6:
        put_addr(out, p->hostid);
        break;
    case IMPI_P_PID:
        bytebuf_add64(out, p->pid);
        break;
    case IMPI_X_RANK:
        bytebuf_add32(out, p->rank);
        break;
    case IMPI_X_ADDR:
        put_addr(out, p->addr);
        break;
    case IMPI_X_PORT:
        bytebuf_add32(out, p->port);
        break;
    case IMPI_X_CPUS:
        bytebuf_add32(out, p->cpus);
        break;
    }
}

static void send_label(struct impi_join *j, const struct impi_label_info *l)
{
    uint32_t count[] = {1, j->o.nhosts, j->o.nprocs};

    impi_coll_encode(&j->out, l->label, count[l->per] * l->size);
    if (l->per == IMPI_PER_CLIENT)
        put_client(j, l->label);
    for (uint32_t i = 0; l->per == IMPI_PER_HOST && i < j->o.nhosts; i++)
        put_host(j, l->label, &j->o.hosts[i]);
    for (uint32_t i = 0; l->per == IMPI_PER_PROC && i < j->o.nprocs; i++)
        put_proc(j, l->label, &j->o.procs[i]);
}

/* The next label of version 0.0, behind X_EXT where that is asked for: a server
 * that swallows it answers the other one.  False: there is none. */
static bool join_send_next(struct impi_join *j)
{
    for (int i = 0; i < IMPI_N_LABELS; i++) {
        const struct impi_label_info *l = &impi_labels[i];

        if (l->label <= j->asked || l->label > IMPI_P_PID)
            continue;
        if (!l->mandatory && !j->o.extensions)
            continue;
        send_label(j, l);
        j->asked = l->label;
        if (l->mandatory)
            return true;
    }
    return false;
}

/* All that are left, in a world of ours. */
static void join_send_rest(struct impi_join *j)
{
    for (int i = 0; i < IMPI_N_LABELS; i++) {
        const struct impi_label_info *l = &impi_labels[i];

        if (l->label > j->asked &&
            (l->mandatory || join_agree_extended(j, l->since)))
            send_label(j, l);
    }
}

/* ---- join world -------------------------------------------------------- */

/* From the broadcast labels to the joined world: a ladder of checks, each of
 * which names the client and the label that is wrong, then the assembly. The
 * server concatenates without marks, so where one client's part begins
 * follows from NHOSTS and NPROCS. */

/* ---- lengths ---- */

static uint32_t shape_count(const struct impi_join *j,
                            const struct join_shape *s, enum impi_label_per per)
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
                        const struct join_shape *s, struct errbuf *err)
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
    return join_fail();
}

static int get_counts(const struct impi_join *j, int32_t label,
                      uint32_t first[SF_IMPI_CLIENTS_MAX + 1], uint32_t max,
                      struct errbuf *err)
{
    if (join_need(j, label, err) < 0 || check_length(j, label, NULL, err) < 0)
        return -1;
    first[0] = 0;
    for (uint32_t c = 0; c < j->nclients; c++) {
        uint32_t n = join_get32(j, label, c);

        if (n < 1 || n > max - first[c]) {
            errprintf(err, "%s: client %u: %s is %u",
                      n < 1 ? "SF-E213" : "SF-E218", c, join_label_name(label),
                      n);
            return join_fail();
        }
        first[c + 1] = first[c] + n;
    }
    return 0;
}

static bool used(const struct impi_join *j, const struct impi_label_info *info)
{
    if (info->label == IMPI_C_VERSION || info->label == IMPI_X_EXT)
        return false; /* looked at before */
    return info->mandatory ||
           (j->extended && join_agree_extended(j, info->since));
}

static int check_lengths(const struct impi_join *j, const struct join_shape *s,
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

/* Smallest DATALEN and TAGUB rule (3.9 bounds each). */
static int take_minima(const struct impi_join *j, struct impi_world *w,
                       struct errbuf *err)
{
    w->maxdatalen = UINT32_MAX;
    w->tagub = INT32_MAX;
    for (uint32_t c = 0; c < j->nclients; c++) {
        uint32_t datalen = join_get32(j, IMPI_C_DATALEN, c);
        int32_t tagub = (int32_t)join_get32(j, IMPI_C_TAGUB, c);

        if (datalen < 1)
            return join_bad_value(err, c, IMPI_C_DATALEN, datalen);
        if (tagub < SF_IMPI_TAGUB_MIN)
            return join_bad_value(err, c, IMPI_C_TAGUB, tagub);
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
        int32_t v = (int32_t)join_get32(j, label, c);

        if (v < -1)
            return join_bad_value(err, c, label, v);
        if (v == -1)
            v = dflt;
        if (c > 0 && v != *out) {
            errprintf(err,
                      "SF-E215: clients disagree: %s is %d at client %u and "
                      "%d at client %u",
                      join_label_name(label), *out, c - 1, v, c);
            return join_fail();
        }
        *out = v;
    }
    return 0;
}

/* Both are minima over all hosts (IM-089). */
static int take_flow(const struct impi_join *j, const struct join_shape *s,
                     struct impi_world *w, struct errbuf *err)
{
    w->ackmark = w->hiwater = UINT32_MAX;
    for (uint32_t i = 0; i < s->host[j->nclients]; i++) {
        uint32_t ackmark = join_get32(j, IMPI_H_ACKMARK, i);
        uint32_t hiwater = join_get32(j, IMPI_H_HIWATER, i);

        if (ackmark < 1 || ackmark > hiwater) {
            errprintf(err,
                      "SF-E213: client %u: IMPI_H_ACKMARK is %u and "
                      "IMPI_H_HIWATER %u at its host %u",
                      join_client_of(s->host, i), ackmark, hiwater,
                      i - s->host[join_client_of(s->host, i)]);
            return join_fail();
        }
        if (ackmark < w->ackmark)
            w->ackmark = ackmark;
        if (hiwater < w->hiwater)
            w->hiwater = hiwater;
    }
    return 0;
}

static int take_hosts(const struct impi_join *j, const struct join_shape *s,
                      struct impi_world *w, struct errbuf *err)
{
    const uint8_t *addr = join_label(j, IMPI_H_IPV6)->data;

    for (uint32_t i = 0; i < w->nhosts; i++) {
        struct impi_host *h = &w->hosts[i];
        uint32_t port = join_get32(j, IMPI_H_PORT, i);

        h->client = join_client_of(s->host, i);
        h->nprocs = join_get32(j, IMPI_H_NPROCS, i);
        memcpy(h->addr, addr + (size_t)i * IMPI_HOSTID_SIZE, IMPI_HOSTID_SIZE);
        if (port > UINT16_MAX)
            return join_bad_value(err, h->client, IMPI_H_PORT, port);
        if (h->nprocs < 1)
            return join_bad_value(err, h->client, IMPI_H_NPROCS, 0);
        h->port = (uint16_t)port;
    }
    return 0;
}

static int check_host_sizes(const struct impi_join *j,
                            const struct join_shape *s,
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
            return join_fail();
        }
    }
    return 0;
}

/* ---- whose they are ---- */

/* Has client c this value at each of its hosts? */
static bool hosts_say(const struct impi_join *j, const struct join_shape *s,
                      uint32_t c, int32_t label, uint32_t value)
{
    for (uint32_t i = s->host[c]; i < s->host[c + 1]; i++)
        if (join_get32(j, label, i) != value)
            return false;
    return true;
}

/* The thresholds of collectives are left out: users set those. */
static bool is_old(const struct impi_join *j, const struct join_shape *s,
                   const struct impi_world *w, uint32_t c)
{
    static const uint8_t zero[IMPI_HOSTID_SIZE - 4];

    return s->host[c + 1] - s->host[c] == 1 &&
           join_get32(j, IMPI_C_DATALEN, c) == IMPI_OLD_MAXDATALEN &&
           join_get32(j, IMPI_C_TAGUB, c) == INT32_MAX &&
           hosts_say(j, s, c, IMPI_H_ACKMARK, IMPI_OLD_ACKMARK) &&
           hosts_say(j, s, c, IMPI_H_HIWATER, IMPI_OLD_HIWATER) &&
           memcmp(w->hosts[s->host[c]].addr, zero, sizeof(zero)) == 0;
}

static void recognise(const struct impi_join *j, const struct join_shape *s,
                      struct impi_world *w)
{
    for (uint32_t c = 0; c < j->nclients && !j->extended; c++) {
        uint32_t bit = UINT32_C(1) << c;

        if (join_get32(j, IMPI_C_DATALEN, c) == IMPI_STRICT_MAXDATALEN)
            w->own_clients |= bit;
        if (is_old(j, s, w, c))
            w->old_clients |= bit;
    }
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

static int take_numbers(struct impi_join *j, const struct join_shape *s,
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
    if (j->extended && join_agree_extended(j, IMPI_EXT_SHARE))
        w->flags |= IMPI_WORLD_SHARE;
    if (j->extended && join_agree_extended(j, IMPI_EXT_FLAT))
        w->flags |= IMPI_WORLD_FLAT;
    if (j->extended && join_agree_extended(j, IMPI_EXT_RMA))
        w->flags |= IMPI_WORLD_RMA;
    if (j->extended && join_agree_extended(j, IMPI_EXT_RMA_SHARE))
        w->flags |= IMPI_WORLD_RMA_SHARE;
    if (j->extended && join_agree_extended(j, IMPI_EXT_FABRIC))
        w->flags |= IMPI_WORLD_FABRIC;
    if (j->extended && join_agree_extended(j, IMPI_EXT_FILES))
        w->flags |= IMPI_WORLD_FILES;
    if (j->extended && join_agree_extended(j, IMPI_EXT_RMA_FABRIC))
        w->flags |= IMPI_WORLD_RMA_FABRIC;
    if (j->extended && join_agree_extended(j, IMPI_EXT_FEW_ROUNDS))
        w->flags |= IMPI_WORLD_FEW_ROUNDS;
    if (j->extended && join_agree_extended(j, IMPI_EXT_RMA_EARLY))
        w->flags |= IMPI_WORLD_RMA_EARLY;
    if (j->extended && join_agree_extended(j, IMPI_EXT_FEW_BYTES))
        w->flags |= IMPI_WORLD_FEW_BYTES;
    if (j->extended && same_representation(j))
        w->flags |= IMPI_WORLD_NATIVE;
    return 0;
}

/* Check every label and make the world.  0 or -1. */
static int join_make_world(struct impi_join *j, struct errbuf *err)
{
    struct impi_world *w = &j->world;
    struct join_shape s;

    if (get_counts(j, IMPI_C_NHOSTS, s.host, SF_IMPI_HOSTS_MAX, err) < 0 ||
        get_counts(j, IMPI_C_NPROCS, s.proc, SF_IMPI_PROCS_MAX, err) < 0 ||
        check_lengths(j, &s, err) < 0)
        return -1;
    if (impi_world_alloc(w, s.host[j->nclients], s.proc[j->nclients]) < 0)
        return errprintf(err, "out of memory");
    if (take_numbers(j, &s, w, err) < 0 || take_hosts(j, &s, w, err) < 0 ||
        check_host_sizes(j, &s, w, err) < 0 ||
        join_take_procs(j, &s, w, err) < 0 ||
        join_check_order(j, &s, err) < 0 || join_check_identities(w, err) < 0)
        return -1;
    recognise(j, &s, w);
    return impi_world_check(w, err);
}

/* ---- join create ------------------------------------------------------- */

/* The joining client as an object: options in, memory. */

void impi_join_defaults(struct impi_join_options *o)
{
    memset(o, 0, sizeof(*o));
    o->extensions = true;
    o->maxdatalen = IMPI_OLD_MAXDATALEN;
    o->tagub = INT32_MAX;
    o->coll_xsize = -1;
    o->coll_maxlinear = -1;
    o->ackmark = IMPI_OLD_ACKMARK;
    o->hiwater = IMPI_OLD_HIWATER;
    impi_repr_own(o->repr);
}

int impi_join_threshold(int32_t *value, const char *name, const char *text,
                        struct errbuf *err)
{
    uint32_t v;

    if (!text || !*text)
        return 0;
    if (number_parse(&v, text, 0, INT32_MAX) < 0)
        return errprintf(err, "SF-E219: %s is not a number 0..2147483647: %s",
                         name, text);
    *value = (int32_t)v;
    return 0;
}

static int copy_arrays(struct impi_join *j, const struct impi_join_options *o)
{
    struct impi_join_host *hosts = calloc(o->nhosts, sizeof(*hosts));
    struct impi_join_proc *procs = calloc(o->nprocs, sizeof(*procs));

    j->o.hosts = hosts;
    j->o.procs = procs;
    if (!hosts || !procs)
        return -1;
    memcpy(hosts, o->hosts, o->nhosts * sizeof(*hosts));
    memcpy(procs, o->procs, o->nprocs * sizeof(*procs));
    return 0;
}

static int check_options(const struct impi_join_options *o, struct errbuf *err)
{
    uint64_t sum = 0;

    errno = EINVAL;
    if (o->nmethods == 0)
        return errprintf(err, "SF-E201: %s", IMPI_AUTH_NOTHING);
    if (o->client >= SF_IMPI_CLIENTS_MAX || o->nclients > SF_IMPI_CLIENTS_MAX ||
        (o->nclients && o->client >= o->nclients))
        return errprintf(err, "SF-E207: client %u of %u: IMPI allows 1 to %d",
                         o->client, o->nclients, SF_IMPI_CLIENTS_MAX);
    if (o->nhosts < 1 || o->nhosts > SF_IMPI_HOSTS_MAX || o->nprocs < 1 ||
        o->nprocs > SF_IMPI_PROCS_MAX)
        return errprintf(err, "SF-E218: %u hosts and %u processes", o->nhosts,
                         o->nprocs);
    for (uint32_t i = 0; i < o->nhosts; i++)
        sum += o->hosts[i].nprocs;
    if (sum != o->nprocs)
        return errprintf(err, "hosts and processes do not add up");
    return 0;
}

struct impi_join *impi_join_create(const struct impi_join_options *o,
                                   struct errbuf *err)
{
    uint32_t mask[SF_IMPI_AUTH_WORDS_MAX], words;
    struct impi_join *j;

    if (check_options(o, err) < 0)
        return NULL;
    j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->o = *o;
    if (copy_arrays(j, o) < 0) {
        impi_join_destroy(j);
        errno = ENOMEM;
        return NULL;
    }
    bytebuf_init(&j->in, JOIN_LABEL_MAX);
    bytebuf_init(&j->out, 4 * (size_t)SF_IMPI_CLIENT_BYTES_MAX);
    j->method = -1;
    words = impi_auth_masks(mask, o->methods, o->nmethods);
    impi_auth_encode(&j->out, mask, words);
    j->item = JOIN_CHOICE;
    j->want = IMPI_SERVER_AUTH_SIZE;
    return j;
}

void impi_join_destroy(struct impi_join *j)
{
    if (!j)
        return;
    for (int i = 0; i < IMPI_N_LABELS; i++)
        free(j->labels[i].data);
    impi_world_free(&j->world);
    bytebuf_free(&j->in);
    bytebuf_free(&j->out);
    free((void *)j->o.hosts);
    free((void *)j->o.procs);
    explicit_bzero(j, sizeof(*j));
    free(j);
}

/* ---- join -------------------------------------------------------------- */

static void expect(struct impi_join *j, enum join_item item, size_t want)
{
    j->item = item;
    j->want = want;
}

static void expect_header(struct impi_join *j)
{
    expect(j, JOIN_HEADER, IMPI_CMD_SIZE);
}

static int fail(struct errbuf *err)
{
    errno = EPROTO;
    return -1;
}

/* ---- AUTH and IMPI ---- */

static const struct impi_auth_method *method(const struct impi_join *j)
{
    return &j->o.methods[j->method];
}

static void ask_to_join(struct impi_join *j)
{
    impi_impi_encode(&j->out, (int32_t)j->o.client);
    j->phase = JOIN_WAIT;
    j->refused_early = true;
    expect_header(j);
}

static int answer(struct impi_join *j, const uint8_t *challenge,
                  struct errbuf *err)
{
    const struct impi_auth_method *m = method(j);
    struct bytebuf text;
    int rc = 0;

    bytebuf_init(&text, SF_IMPI_CMD_MAX);
    if (m->answer)
        rc = m->answer(m, challenge, &text, err);
    if (rc == 0 && m->answer_max)
        bytebuf_add32(&j->out, (uint32_t)bytebuf_len(&text));
    if (rc == 0)
        bytebuf_add(&j->out, bytebuf_data(&text), bytebuf_len(&text));
    bytebuf_free(&text);
    if (rc == 0)
        ask_to_join(j);
    return rc;
}

static int find_method(const struct impi_join *j, int32_t number)
{
    for (size_t i = 0; i < j->o.nmethods; i++)
        if ((int32_t)j->o.methods[i].number == number)
            return (int)i;
    return -1;
}

static int got_choice(struct impi_join *j, const uint8_t *p, size_t len,
                      struct errbuf *err)
{
    struct impi_server_auth a = impi_server_auth_decode(p);

    j->method = find_method(j, a.which);
    if (j->method < 0) {
        errprintf(err,
                  "SF-E210: the server chose authentication method %d, "
                  "which was not offered",
                  a.which);
        return fail(err);
    }
    if (a.len < 0 || a.len > SF_IMPI_CREDENTIAL_MAX ||
        (method(j)->challenge && (size_t)a.len != method(j)->challenge)) {
        errprintf(err, "SF-E210: %s: the server announces %d bytes",
                  method(j)->name, a.len);
        return fail(err);
    }
    if (a.len == 0)
        return answer(j, NULL, err);
    expect(j, JOIN_CHALLENGE, (size_t)a.len);
    return 0;
}

static int got_challenge(struct impi_join *j, const uint8_t *p, size_t len,
                         struct errbuf *err)
{
    return answer(j, p, err);
}

static int got_size(struct impi_join *j, const uint8_t *p, size_t len,
                    struct errbuf *err)
{
    int32_t size = impi_impi_decode(p);

    if (size < 1 || size > SF_IMPI_CLIENTS_MAX ||
        (uint32_t)size <= j->o.client ||
        (j->o.nclients && (uint32_t)size != j->o.nclients)) {
        errprintf(err,
                  "SF-E210: the server says %d clients; we are client %u of %u",
                  size, j->o.client, j->o.nclients);
        return fail(err);
    }
    j->nclients = (uint32_t)size;
    join_send_version(j);
    j->phase = JOIN_VERSION;
    expect_header(j);
    return 0;
}

/* ---- COLL ---- */

static void end_labels(struct impi_join *j)
{
    impi_cmd_encode(&j->out, IMPI_CMD_DONE, 0);
    j->phase = JOIN_ENDING;
}

/* How far the conversation may go on with what has arrived. */
static int advance(struct impi_join *j, int32_t label, struct errbuf *err)
{
    if (j->phase == JOIN_VERSION) {
        if (!join_label(j, IMPI_C_VERSION)->got)
            return 0;
        if (join_pick_version(j, err) < 0)
            return -1;
        j->phase = JOIN_LABELS;
    }
    if (j->phase != JOIN_LABELS)
        return 0;
    if (j->o.extensions && join_agree_extended(j, IMPI_EXT_FIRST)) {
        j->extended = true;
        join_send_rest(j);
        end_labels(j);
        return 0;
    }
    while (j->phase == JOIN_LABELS && label >= j->asked)
        if (!join_send_next(j))
            end_labels(j);
    return 0;
}

static int got_label(struct impi_join *j, const uint8_t *p, size_t len,
                     struct errbuf *err)
{
    struct join_label *l = &j->labels[j->current];

    l->data = malloc(len ? len : 1);
    if (!l->data)
        return errprintf(err, "out of memory");
    if (len)
        memcpy(l->data, p, len);
    l->len = (uint32_t)len;
    l->got = true;
    expect_header(j);
    return advance(j, impi_labels[j->current].label, err);
}

static int known_label(struct impi_join *j, const struct impi_chdr *h,
                       uint32_t rest, struct errbuf *err)
{
    const char *name = impi_labels[j->current].name;

    if (j->labels[j->current].got) {
        errprintf(err, "SF-E210: the server sent %s twice", name);
        return fail(err);
    }
    if (j->nclients < 32 && h->client_mask >> j->nclients) {
        errprintf(err, "SF-E210: %s: client mask 0x%x, but %u clients", name,
                  h->client_mask, j->nclients);
        return fail(err);
    }
    if (rest > JOIN_LABEL_MAX) {
        errprintf(err, "SF-E210: %s of %u bytes", name, rest);
        return fail(err);
    }
    j->labels[j->current].mask = h->client_mask;
    expect(j, JOIN_LABEL, rest);
    return rest ? 0 : got_label(j, NULL, 0, err);
}

static int got_chdr(struct impi_join *j, const uint8_t *p, size_t len,
                    struct errbuf *err)
{
    struct impi_chdr h = impi_chdr_decode(p);
    uint32_t rest = (uint32_t)j->cmd.len - IMPI_CHDR_SIZE;

    j->current = impi_label_find(h.label);
    if (j->current >= 0)
        return known_label(j, &h, rest, err);
    if (rest)
        expect(j, JOIN_SKIP, rest);
    else
        expect_header(j);
    return advance(j, h.label, err);
}

static int got_done(struct impi_join *j, const uint8_t *p, size_t len,
                    struct errbuf *err)
{
    if (join_make_world(j, err) < 0)
        return fail(err);
    j->phase = JOIN_DONE;
    expect_header(j);
    return 0;
}

/* ---- headers ---- */

static const struct reply {
    int32_t cmd;
    enum join_phase first, last; /* when it may come */
    int32_t min, max;
    enum join_item item;
    uint32_t want;
} replies[] = {
    {IMPI_CMD_IMPI, JOIN_WAIT, JOIN_WAIT, 4, 4, JOIN_SIZE, 4},
    {IMPI_CMD_COLL, JOIN_VERSION, JOIN_ENDING, IMPI_CHDR_SIZE, INT32_MAX,
     JOIN_CHDR, IMPI_CHDR_SIZE},
    {IMPI_CMD_DONE, JOIN_ENDING, JOIN_ENDING, 0, 0, JOIN_HEADER, 0},
};

static int known_reply(struct impi_join *j, const struct reply *r,
                       struct errbuf *err)
{
    char name[24];

    if (j->phase < r->first || j->phase > r->last || j->cmd.len < r->min ||
        j->cmd.len > r->max) {
        errprintf(err, "SF-E210: the server sent %s of %d bytes out of turn",
                  impi_cmd_name(j->cmd.cmd, name), j->cmd.len);
        return fail(err);
    }
    if (r->cmd == IMPI_CMD_DONE)
        return got_done(j, NULL, 0, err);
    expect(j, r->item, r->want);
    return 0;
}

static int got_header(struct impi_join *j, const uint8_t *p, size_t len,
                      struct errbuf *err)
{
    char name[24];

    j->refused_early = false;
    j->cmd = impi_cmd_decode(p);
    for (size_t i = 0; i < sizeof(replies) / sizeof(replies[0]); i++)
        if (replies[i].cmd == j->cmd.cmd)
            return known_reply(j, &replies[i], err);
    if (j->cmd.len < 0) {
        errprintf(err, "SF-E210: the server sent %s of %d bytes",
                  impi_cmd_name(j->cmd.cmd, name), j->cmd.len);
        return fail(err);
    }
    if (j->cmd.len)
        expect(j, JOIN_SKIP, (size_t)j->cmd.len);
    else
        expect_header(j);
    return 0;
}

static int got_skipped(struct impi_join *j, const uint8_t *p, size_t len,
                       struct errbuf *err)
{
    expect_header(j);
    return 0;
}

static int (*const handlers[])(struct impi_join *j, const uint8_t *p,
                               size_t len, struct errbuf *err) = {
    [JOIN_CHOICE] = got_choice, [JOIN_CHALLENGE] = got_challenge,
    [JOIN_HEADER] = got_header, [JOIN_SIZE] = got_size,
    [JOIN_CHDR] = got_chdr,     [JOIN_LABEL] = got_label,
    [JOIN_SKIP] = got_skipped,
};

static int finish_item(struct impi_join *j, struct errbuf *err)
{
    struct bytebuf item = j->in;
    int rc;

    bytebuf_init(&j->in, JOIN_LABEL_MAX);
    rc = handlers[j->item](j, bytebuf_data(&item), bytebuf_len(&item), err);
    bytebuf_free(&item);
    return rc;
}

int impi_join_input(struct impi_join *j, const void *data, size_t len,
                    struct errbuf *err)
{
    const uint8_t *p = data;

    while (len) {
        size_t n = len < j->want ? len : j->want;

        if (j->item != JOIN_SKIP)
            bytebuf_add(&j->in, p, n);
        if (j->in.bad || j->out.bad) {
            errno = ENOMEM;
            return errprintf(err, "out of memory");
        }
        p += n;
        len -= n;
        j->want -= n;
        if (j->want == 0 && finish_item(j, err) < 0)
            return -1;
    }
    return 0;
}

int impi_join_eof(struct impi_join *j, struct errbuf *err)
{
    if (j->phase == JOIN_FINI)
        return 0;
    errno = EPROTO;
    if (j->phase == JOIN_AUTH)
        return errprintf(err, "SF-E210: Server disconnected (no common "
                              "authentication method?)");
    if (j->refused_early && method(j)->number == IMPI_AUTH_KEY)
        return errprintf(err, "SF-E210: Server disconnected (wrong "
                              "authentication key?)");
    if (j->refused_early)
        return errprintf(err, "SF-E210: Server disconnected (%s refused?)",
                         method(j)->name);
    if (j->phase == JOIN_DONE)
        return errprintf(err, "SF-E210: the IMPI server is gone");
    return errprintf(err, "SF-E210: the IMPI server hung up during start-up");
}

size_t impi_join_output(const struct impi_join *j, const uint8_t **data)
{
    *data = bytebuf_data(&j->out);
    return bytebuf_len(&j->out);
}

void impi_join_sent(struct impi_join *j, size_t n)
{
    bytebuf_consume(&j->out, n);
}

bool impi_join_done(const struct impi_join *j)
{
    return j->phase >= JOIN_DONE;
}

void impi_join_take_world(struct impi_join *j, struct impi_world *world)
{
    *world = j->world;
    memset(&j->world, 0, sizeof(j->world));
}

void impi_join_fini(struct impi_join *j)
{
    if (j->phase != JOIN_DONE)
        return;
    impi_cmd_encode(&j->out, IMPI_CMD_FINI, 0);
    j->phase = JOIN_FINI;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From the broadcast labels to the joined world: a ladder of checks, each of
 * which names the client and the label that is wrong, then the assembly.
 * The server concatenates without marks, so where one client's part begins
 * follows from NHOSTS and NPROCS.
 */
#include <stdio.h>
#include <string.h>

#include "base/be.h"
#include "impi/join_priv.h"

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
    if (j->extended && same_representation(j))
        w->flags |= IMPI_WORLD_NATIVE;
    return 0;
}

int join_make_world(struct impi_join *j, struct errbuf *err)
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

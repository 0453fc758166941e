/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/world.h"

#include <errno.h>
#include <float.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/be.h"
#include "impi/table.h"

/* Encoded sizes.  The format never leaves one job, whose parts are all of
 * one build: the version word only catches a mixture.
 *
 * head; hosts; u32 places, u32 runs; places; runs of ranks of one place, in
 * rank order, (u32 place, u32 ranks); by rank: u32 lower half of the pid, u16
 * port. */
#define WORLD_FORMAT 0x49570004 /* "IW", 4 */
#define HOST_SIZE (3 * 4 + IMPI_HOSTID_SIZE)
#define PLACE_SIZE (4 * 4 + 2 * IMPI_HOSTID_SIZE)
#define RUN_SIZE 8
#define PROC_SIZE 6

int impi_world_alloc(struct impi_world *w, uint32_t nhosts, uint32_t nprocs)
{
    w->hosts = calloc(nhosts ? nhosts : 1, sizeof(*w->hosts));
    w->procs = calloc(nprocs ? nprocs : 1, sizeof(*w->procs));
    w->nhosts = nhosts;
    w->nprocs = nprocs;
    if (w->hosts && w->procs)
        return 0;
    impi_world_free(w);
    errno = ENOMEM;
    return -1;
}

void impi_world_free(struct impi_world *w)
{
    free(w->hosts);
    free(w->procs);
    free(w->foreign);
    free(w->foreign_hosts);
    explicit_bzero(w, sizeof(*w));
}

static void put_head(struct be_writer *o, const struct impi_world *w)
{
    be_put32(o, WORLD_FORMAT);
    be_put32(o, w->version_major);
    be_put32(o, w->version_minor);
    be_put32(o, w->maxdatalen);
    be_put32(o, (uint32_t)w->tagub);
    be_put32(o, (uint32_t)w->coll_xsize);
    be_put32(o, (uint32_t)w->coll_maxlinear);
    be_put32(o, w->ackmark);
    be_put32(o, w->hiwater);
    be_put32(o, w->flags);
    be_put32(o, w->nclients);
    be_put32(o, w->nhosts);
    be_put32(o, w->nprocs);
    be_put32(o, w->own_clients);
    be_put32(o, w->old_clients);
    be_put_bytes(o, w->secret, IMPI_SECRET_SIZE);
}

static void put_host(struct be_writer *o, const struct impi_host *h)
{
    be_put32(o, h->client);
    be_put32(o, h->nprocs);
    be_put32(o, h->port);
    be_put_bytes(o, h->addr, IMPI_HOSTID_SIZE);
}

static void put_place(struct be_writer *o, const struct impi_place *p)
{
    be_put32(o, p->client);
    be_put32(o, p->host);
    be_put_bytes(o, p->hostid, IMPI_HOSTID_SIZE);
    be_put_bytes(o, p->addr, IMPI_HOSTID_SIZE);
    be_put32(o, p->pid_high);
    be_put32(o, p->cpus);
}

void impi_world_encode_head(const struct impi_world *w, uint8_t *buf)
{
    struct be_writer o;

    be_writer_init(&o, buf, IMPI_WORLD_HEAD_SIZE);
    put_head(&o, w);
}

/* ---- places ---- */

struct seat {
    struct impi_place place;
    uint32_t rank;
};

static int by_place(const void *a, const void *b)
{
    const struct seat *x = a, *y = b;
    int d = memcmp(&x->place, &y->place, sizeof(x->place));

    return d ? d : x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* struct impi_place has no holes, so places are compared as bytes. */
_Static_assert(sizeof(struct impi_place) == PLACE_SIZE, "struct impi_place");

void impi_world_get_place(const struct impi_world *w, uint32_t rank,
                          struct impi_place *out)
{
    const struct impi_proc *p = &w->procs[rank];

    out->client = p->client;
    out->host = p->host;
    memcpy(out->hostid, p->hostid, IMPI_HOSTID_SIZE);
    memcpy(out->addr, p->addr, IMPI_HOSTID_SIZE);
    out->pid_high = (uint32_t)(p->pid >> 32);
    out->cpus = p->cpus;
}

/* place[] of each rank becomes the first rank of its place. */
static int find_first_ranks(const struct impi_world *w, uint32_t *place)
{
    struct seat *all = calloc(w->nprocs, sizeof(*all));
    uint32_t first = 0;

    if (!all)
        return -1;
    for (uint32_t r = 0; r < w->nprocs; r++) {
        impi_world_get_place(w, r, &all[r].place);
        all[r].rank = r;
    }
    qsort(all, w->nprocs, sizeof(*all), by_place);
    for (uint32_t i = 0; i < w->nprocs; i++) {
        if (memcmp(&all[i].place, &all[first].place, sizeof(all->place)) != 0)
            first = i;
        place[all[i].rank] = all[first].rank;
    }
    free(all);
    return 0;
}

uint32_t impi_world_places(const struct impi_world *w, uint32_t *place,
                           uint32_t *first)
{
    uint32_t n = 0;

    if (find_first_ranks(w, place) < 0)
        return 0;
    for (uint32_t r = 0; r < w->nprocs; r++) {
        if (place[r] == r) {
            first[n] = r;
            place[r] = n++;
        } else {
            place[r] = place[place[r]];
        }
    }
    return n;
}

/* ---- encoding ---- */

static uint32_t count_runs(const uint32_t *place, uint32_t n)
{
    uint32_t runs = 1;

    for (uint32_t r = 1; r < n; r++)
        runs += place[r] != place[r - 1];
    return runs;
}

static void put_runs(struct be_writer *o, const uint32_t *place, uint32_t n)
{
    uint32_t first = 0;

    for (uint32_t r = 1; r <= n; r++) {
        if (r < n && place[r] == place[first])
            continue;
        be_put32(o, place[first]);
        be_put32(o, r - first);
        first = r;
    }
}

static void put_procs(struct be_writer *o, const struct impi_world *w)
{
    for (uint32_t i = 0; i < w->nprocs; i++)
        be_put32(o, (uint32_t)w->procs[i].pid);
    for (uint32_t i = 0; i < w->nprocs; i++)
        be_put16(o, w->procs[i].port);
}

static int encode(const struct impi_world *w, const uint32_t *place,
                  const uint32_t *first, uint32_t nplaces, uint8_t **buf,
                  size_t *len)
{
    uint32_t nruns = count_runs(place, w->nprocs);
    struct impi_place p;
    struct be_writer o;

    *len = IMPI_WORLD_HEAD_SIZE + (size_t)w->nhosts * HOST_SIZE + 8 +
           (size_t)nplaces * PLACE_SIZE + (size_t)nruns * RUN_SIZE +
           (size_t)w->nprocs * PROC_SIZE;
    *buf = malloc(*len);
    if (!*buf)
        return -1;
    be_writer_init(&o, *buf, *len);
    put_head(&o, w);
    for (uint32_t i = 0; i < w->nhosts; i++)
        put_host(&o, &w->hosts[i]);
    be_put32(&o, nplaces);
    be_put32(&o, nruns);
    for (uint32_t i = 0; i < nplaces; i++) {
        impi_world_get_place(w, first[i], &p);
        put_place(&o, &p);
    }
    put_runs(&o, place, w->nprocs);
    put_procs(&o, w);
    return 0;
}

int impi_world_encode(const struct impi_world *w, uint8_t **buf, size_t *len)
{
    uint32_t *place = calloc(w->nprocs, sizeof(*place));
    uint32_t *first = calloc(w->nprocs, sizeof(*first)), n = 0;
    int rc = -1;

    if (place && first)
        n = impi_world_places(w, place, first);
    if (n > 0)
        rc = encode(w, place, first, n, buf, len);
    free(place);
    free(first);
    return rc;
}

static void get_head(struct be_reader *r, struct impi_world *w)
{
    w->version_major = be_get32(r);
    w->version_minor = be_get32(r);
    w->maxdatalen = be_get32(r);
    w->tagub = (int32_t)be_get32(r);
    w->coll_xsize = (int32_t)be_get32(r);
    w->coll_maxlinear = (int32_t)be_get32(r);
    w->ackmark = be_get32(r);
    w->hiwater = be_get32(r);
    w->flags = be_get32(r);
    w->nclients = be_get32(r);
    w->nhosts = be_get32(r);
    w->nprocs = be_get32(r);
    w->own_clients = be_get32(r);
    w->old_clients = be_get32(r);
    be_copy_bytes(r, w->secret, IMPI_SECRET_SIZE);
}

static void get_host(struct be_reader *r, struct impi_host *h)
{
    uint32_t port;

    h->client = be_get32(r);
    h->nprocs = be_get32(r);
    port = be_get32(r);
    r->bad |= port > UINT16_MAX;
    h->port = (uint16_t)port;
    be_copy_bytes(r, h->addr, IMPI_HOSTID_SIZE);
}

static void get_place(struct be_reader *r, struct impi_place *p)
{
    p->client = be_get32(r);
    p->host = be_get32(r);
    be_copy_bytes(r, p->hostid, IMPI_HOSTID_SIZE);
    be_copy_bytes(r, p->addr, IMPI_HOSTID_SIZE);
    p->pid_high = be_get32(r);
    p->cpus = be_get32(r);
    r->bad |= p->cpus > UINT16_MAX;
}

static void set_proc(struct impi_proc *p, const struct impi_place *at)
{
    p->client = at->client;
    p->host = at->host;
    memcpy(p->hostid, at->hostid, IMPI_HOSTID_SIZE);
    memcpy(p->addr, at->addr, IMPI_HOSTID_SIZE);
    p->pid = (uint64_t)at->pid_high << 32;
    p->cpus = (uint16_t)at->cpus;
}

static int fail(struct errbuf *err, const char *text)
{
    errno = EPROTO;
    return errprintf(err, "world: %s", text);
}

static int check_limits(const struct impi_world *w, struct errbuf *err)
{
    if (w->nclients < 1 || w->nclients > SF_IMPI_CLIENTS_MAX)
        return fail(err, "bad number of clients");
    if (w->nhosts < w->nclients || w->nhosts > SF_IMPI_HOSTS_MAX)
        return fail(err, "bad number of hosts");
    if (w->nprocs < w->nhosts || w->nprocs > SF_IMPI_PROCS_MAX)
        return fail(err, "bad number of processes");
    return 0;
}

static int check_properties(const struct impi_world *w, struct errbuf *err)
{
    if (w->ackmark < 1 || w->ackmark > w->hiwater)
        return fail(err, "ackmark is not between 1 and hiwater");
    if (w->maxdatalen < 1)
        return fail(err, "maxdatalen is 0");
    if (w->tagub < SF_IMPI_TAGUB_MIN)
        return fail(err, "tag bound is below 32767");
    if (w->coll_xsize < 0 || w->coll_maxlinear < 0)
        return fail(err, "negative collective threshold");
    return 0;
}

/* Each process sits on a host of its own client, and each host has as many
 * processes as it says.  `count` has room for nhosts. */
static int check_places(const struct impi_world *w, uint32_t *count,
                        struct errbuf *err)
{
    for (uint32_t i = 0; i < w->nhosts; i++)
        if (w->hosts[i].client >= w->nclients)
            return fail(err, "host of a client that does not exist");
    for (uint32_t i = 0; i < w->nprocs; i++) {
        const struct impi_proc *p = &w->procs[i];

        if (p->host >= w->nhosts || w->hosts[p->host].client != p->client)
            return fail(err, "process on a host that is not its client's");
        count[p->host]++;
    }
    for (uint32_t i = 0; i < w->nhosts; i++)
        if (count[i] != w->hosts[i].nprocs)
            return fail(err, "host sizes do not add up");
    return 0;
}

int impi_world_check(const struct impi_world *w, struct errbuf *err)
{
    uint32_t *count;
    int rc;

    if (check_limits(w, err) < 0 || check_properties(w, err) < 0)
        return -1;
    count = calloc(w->nhosts, sizeof(*count));
    if (!count)
        return errprintf(err, "world: out of memory");
    rc = check_places(w, count, err);
    free(count);
    return rc;
}

/* The ranks of each run get what its place says. */
static int get_runs(struct impi_world *w, struct be_reader *r,
                    const uint8_t *places, uint32_t nplaces, uint32_t nruns)
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < nruns; i++) {
        uint32_t at = be_get32(r), n = be_get32(r);
        struct impi_place place;
        struct be_reader one;

        if (at >= nplaces || n == 0 || n > w->nprocs - rank)
            return -1;
        be_reader_init(&one, places + (size_t)at * PLACE_SIZE, PLACE_SIZE);
        get_place(&one, &place);
        if (one.bad)
            return -1;
        while (n-- > 0)
            set_proc(&w->procs[rank++], &place);
    }
    return rank == w->nprocs ? 0 : -1;
}

static int get_procs(struct impi_world *w, struct be_reader *r)
{
    uint32_t nplaces = be_get32(r), nruns = be_get32(r);
    const uint8_t *places;

    if (nplaces > w->nprocs || nruns > w->nprocs)
        return -1;
    places = be_get_bytes(r, (size_t)nplaces * PLACE_SIZE);
    if (r->left != (size_t)nruns * RUN_SIZE + (size_t)w->nprocs * PROC_SIZE ||
        get_runs(w, r, places, nplaces, nruns) < 0)
        return -1;
    for (uint32_t i = 0; i < w->nprocs; i++)
        w->procs[i].pid |= be_get32(r);
    for (uint32_t i = 0; i < w->nprocs; i++)
        w->procs[i].port = be_get16(r);
    return be_reader_done(r) ? 0 : -1;
}

static int decode_arrays(struct impi_world *w, struct be_reader *r,
                         struct errbuf *err)
{
    if (impi_world_alloc(w, w->nhosts, w->nprocs) < 0)
        return errprintf(err, "world: out of memory");
    for (uint32_t i = 0; i < w->nhosts; i++)
        get_host(r, &w->hosts[i]);
    if (get_procs(w, r) < 0)
        return fail(err, "malformed entry");
    return impi_world_check(w, err);
}

/* So many bytes at least follow the head. */
static size_t least_size(const struct impi_world *w)
{
    return (size_t)w->nhosts * HOST_SIZE + (size_t)w->nprocs * PROC_SIZE;
}

static int decode_head(struct impi_world *w, struct be_reader *r,
                       struct errbuf *err)
{
    if (be_get32(r) != WORLD_FORMAT)
        return fail(err, "not a world, or of another version");
    get_head(r, w);
    if (r->bad)
        return fail(err, "wrong length");
    return check_limits(w, err);
}

static int decode(struct impi_world *w, const void *buf, size_t len, bool whole,
                  struct errbuf *err)
{
    struct be_reader r;
    int rc, saved;

    memset(w, 0, sizeof(*w));
    be_reader_init(&r, buf, len);
    rc = decode_head(w, &r, err);
    if (rc == 0 && !whole)
        rc = be_reader_done(&r) ? check_properties(w, err)
                                : fail(err, "wrong length");
    else if (rc == 0)
        rc = r.left >= least_size(w) ? decode_arrays(w, &r, err)
                                     : fail(err, "wrong length");
    if (rc < 0) {
        saved = errno;
        impi_world_free(w);
        errno = saved;
    }
    return rc;
}

int impi_world_decode_head(struct impi_world *w, const void *buf, size_t len,
                           struct errbuf *err)
{
    return decode(w, buf, len, false, err);
}

int impi_world_decode(struct impi_world *w, const void *buf, size_t len,
                      struct errbuf *err)
{
    return decode(w, buf, len, true, err);
}

/* ---- one process ---- */

static bool is_foreign(const struct impi_world *w, uint32_t rank)
{
    return w->foreign && rank >= w->home;
}

struct impi_proc impi_world_proc(const struct impi_world *w, uint32_t rank)
{
    const struct impi_table *t = w->table;
    struct impi_proc p = {.port = 0};

    if (is_foreign(w, rank))
        return w->foreign[rank - w->home];

    if (!t)
        return w->procs[rank];
    set_proc(&p, &impi_table_place(t, rank)->place);
    p.pid |= t->pid[rank];
    p.port = t->port[rank];
    return p;
}

uint32_t impi_world_client(const struct impi_world *w, uint32_t rank)
{
    const struct impi_table *t = w->table;

    if (is_foreign(w, rank))
        return w->foreign[rank - w->home].client;
    return t ? impi_table_place(t, rank)->place.client : w->procs[rank].client;
}

const struct impi_host *impi_world_host(const struct impi_world *w,
                                        uint32_t host)
{
    if (w->foreign_hosts && host >= w->home_hosts)
        return &w->foreign_hosts[host - w->home_hosts];
    return w->table ? &w->table->hosts[host] : &w->hosts[host];
}

/* Byte order, then sizes and formats of what the two languages share.  Two
 * builds with equal descriptors have every basic type alike. */
void impi_repr_own(uint8_t repr[IMPI_REPR_SIZE])
{
    const uint16_t probe = 1;
    const uint8_t r[IMPI_REPR_SIZE] = {
        1,                                /* format of the descriptor */
        *(const uint8_t *)&probe ? 1 : 2, /* 1 little-endian, 2 big-endian */
        sizeof(short),
        sizeof(int),
        sizeof(long),
        sizeof(long long),
        sizeof(void *),
        sizeof(wchar_t),
        sizeof(bool),
        sizeof(float),
        sizeof(double),
        sizeof(long double),
        LDBL_MANT_DIG, /* 64: x87, 106: double-double, 113: binary128 */
        (char)-1 < 0,  /* plain char is signed */
        _Alignof(double),
        _Alignof(long double),
    };

    memcpy(repr, r, IMPI_REPR_SIZE);
}

bool impi_hostid_get_ipv4(uint8_t ipv4[4], const uint8_t id[IMPI_HOSTID_SIZE])
{
    static const uint8_t zero[10];

    if (memcmp(id, zero, sizeof(zero)))
        return false;
    if (!(id[10] == 0 && id[11] == 0) && !(id[10] == 0xff && id[11] == 0xff))
        return false;
    memcpy(ipv4, id + 12, 4);
    /* ::0 and ::1 are IPv6's own, not addresses of IPv4. */
    return id[10] || ipv4[0] || ipv4[1] || ipv4[2] || ipv4[3] > 1;
}

void impi_hostid_set_ipv4(uint8_t id[IMPI_HOSTID_SIZE], const uint8_t ipv4[4])
{
    memset(id, 0, IMPI_HOSTID_SIZE);
    memcpy(id + 12, ipv4, 4);
}

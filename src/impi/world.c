/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/world.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"

/* Encoded sizes.  The format never leaves one job, whose parts are all of
 * one build: the version word only catches a mixture. */
#define WORLD_FORMAT 0x49570003 /* "IW", 3 */
#define FIXED_SIZE (15 * 4 + IMPI_SECRET_SIZE)
#define HOST_SIZE (3 * 4 + IMPI_HOSTID_SIZE)
#define PROC_SIZE (4 * 4 + 8 + 2 * IMPI_HOSTID_SIZE)

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
    explicit_bzero(w, sizeof(*w));
}

static void put_fixed(struct be_writer *o, const struct impi_world *w)
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

static void put_proc(struct be_writer *o, const struct impi_proc *p)
{
    be_put32(o, p->client);
    be_put32(o, p->host);
    be_put32(o, p->port);
    be_put32(o, p->cpus);
    be_put64(o, p->pid);
    be_put_bytes(o, p->hostid, IMPI_HOSTID_SIZE);
    be_put_bytes(o, p->addr, IMPI_HOSTID_SIZE);
}

int impi_world_encode(const struct impi_world *w, uint8_t **buf, size_t *len)
{
    struct be_writer o;

    *len = FIXED_SIZE + (size_t)w->nhosts * HOST_SIZE +
           (size_t)w->nprocs * PROC_SIZE;
    *buf = malloc(*len);
    if (!*buf)
        return -1;
    be_writer_init(&o, *buf, *len);
    put_fixed(&o, w);
    for (uint32_t i = 0; i < w->nhosts; i++)
        put_host(&o, &w->hosts[i]);
    for (uint32_t i = 0; i < w->nprocs; i++)
        put_proc(&o, &w->procs[i]);
    return 0;
}

static void get_fixed(struct be_reader *r, struct impi_world *w)
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

static void get_proc(struct be_reader *r, struct impi_proc *p)
{
    uint32_t port, cpus;

    p->client = be_get32(r);
    p->host = be_get32(r);
    port = be_get32(r);
    r->bad |= port > UINT16_MAX;
    p->port = (uint16_t)port;
    cpus = be_get32(r);
    r->bad |= cpus > UINT16_MAX;
    p->cpus = (uint16_t)cpus;
    p->pid = be_get64(r);
    be_copy_bytes(r, p->hostid, IMPI_HOSTID_SIZE);
    be_copy_bytes(r, p->addr, IMPI_HOSTID_SIZE);
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

static int decode_arrays(struct impi_world *w, struct be_reader *r,
                         struct errbuf *err)
{
    if (impi_world_alloc(w, w->nhosts, w->nprocs) < 0)
        return errprintf(err, "world: out of memory");
    for (uint32_t i = 0; i < w->nhosts; i++)
        get_host(r, &w->hosts[i]);
    for (uint32_t i = 0; i < w->nprocs; i++)
        get_proc(r, &w->procs[i]);
    if (!be_reader_done(r))
        return fail(err, "malformed entry");
    return impi_world_check(w, err);
}

int impi_world_decode(struct impi_world *w, const void *buf, size_t len,
                      struct errbuf *err)
{
    struct be_reader r;

    memset(w, 0, sizeof(*w));
    be_reader_init(&r, buf, len);
    if (be_get32(&r) != WORLD_FORMAT)
        return fail(err, "not a world, or of another version");
    get_fixed(&r, w);
    w->nhosts = be_get32(&r);
    w->nprocs = be_get32(&r);
    w->own_clients = be_get32(&r);
    w->old_clients = be_get32(&r);
    be_copy_bytes(&r, w->secret, IMPI_SECRET_SIZE);
    if (r.bad || check_limits(w, err) < 0 ||
        r.left !=
            (size_t)w->nhosts * HOST_SIZE + (size_t)w->nprocs * PROC_SIZE) {
        memset(w, 0, sizeof(*w));
        return fail(err, "wrong length");
    }
    if (decode_arrays(w, &r, err) < 0) {
        int saved = errno;

        impi_world_free(w);
        errno = saved;
        return -1;
    }
    return 0;
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

bool impi_hostid_equal(const uint8_t a[IMPI_HOSTID_SIZE],
                       const uint8_t b[IMPI_HOSTID_SIZE])
{
    uint8_t a4[4], b4[4];

    if (impi_hostid_get_ipv4(a4, a) && impi_hostid_get_ipv4(b4, b))
        return memcmp(a4, b4, 4) == 0;
    return memcmp(a, b, IMPI_HOSTID_SIZE) == 0;
}

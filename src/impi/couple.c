/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/couple.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "base/limits.h"
#include "base/number.h"
#include "impi/hostaddr.h"

#define SIDE_FORMAT 0x53460002 /* "SF", 2 */
#define FIXED_SIZE                                                             \
    (4 + 4 + 8 + IMPI_CHAN_NONCE_SIZE + 5 * 4 + 4 + IMPI_REPR_SIZE + 4)
#define SIDE_MAX (FIXED_SIZE + (size_t)SF_IMPI_PROCS_MAX * IMPI_SIDE_PROC_SIZE)
#define PREFIX "impi1/"
#define SHARE 1u

/* ---- names of ports ---- */

void impi_port_print(char name[IMPI_PORT_NAME_SIZE], const struct impi_port *p)
{
    struct netaddr at = impi_hostaddr(p->addr, p->port);
    char where[NETADDR_TEXT_MAX], key[2 * sizeof(p->key) + 1];

    netaddr_print(where, &at);
    for (size_t i = 0; i < sizeof(p->key); i++)
        snprintf(key + 2 * i, 3, "%02x", p->key[i]);
    snprintf(name, IMPI_PORT_NAME_SIZE, PREFIX "%s/%08x/%s", where, p->number,
             key);
}

static int wrong_name(struct errbuf *err, const char *what)
{
    errno = EINVAL;
    return errprintf(err, "the name of the port %s", what);
}

int impi_port_parse(struct impi_port *p, const char *name, struct errbuf *err)
{
    char where[NETADDR_TEXT_MAX];
    struct netaddr at;
    const char *slash, *key;
    uint8_t number[4] = {0};

    memset(p, 0, sizeof(*p));
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return wrong_name(err, "is not one of slurm-fabric (impi1/..)");
    name += strlen(PREFIX);
    slash = memchr(name, '/', strnlen(name, sizeof(where)));
    if (!slash || (size_t)(slash - name) >= sizeof(where))
        return wrong_name(err, "has no address");
    memcpy(where, name, (size_t)(slash - name));
    where[slash - name] = '\0';
    if (netaddr_parse(&at, where) < 0 || at.port == 0)
        return wrong_name(err, "has a broken address");
    key = number_hex_part(number, sizeof(number), slash + 1);
    if (!key || *key++ != '/')
        return wrong_name(err, "has a broken number");
    if (number_hex(p->key, sizeof(p->key), key) < 0)
        return wrong_name(err, "has a broken key");
    impi_hostaddr_put(p->addr, &at.ip);
    p->port = at.port;
    p->number = be_load32(number);
    return 0;
}

/* ---- frames ---- */

void impi_couple_header_put(uint8_t out[IMPI_COUPLE_HEADER_SIZE], uint32_t type,
                            uint32_t len)
{
    be_store32(out, type);
    be_store32(out + 4, len);
}

ssize_t impi_couple_header_get(uint32_t *type,
                               const uint8_t in[IMPI_COUPLE_HEADER_SIZE])
{
    static const size_t most[] = {
        [IMPI_COUPLE_SIDE] = SIDE_MAX,
        [IMPI_COUPLE_REFUSE] = SF_IMPI_REFUSAL_MAX,
        [IMPI_COUPLE_GO] = 0,
        [IMPI_COUPLE_PROOF] = SF_IMPI_CREDENTIAL_MAX - 1,
    };
    uint32_t len = be_load32(in + 4);

    *type = be_load32(in);
    if (*type >= IMPI_COUPLE_SIDE && *type <= IMPI_COUPLE_PROOF &&
        len <= most[*type])
        return (ssize_t)len;
    errno = EPROTO;
    return -1;
}

/* ---- the group ---- */

void impi_side_proc_encode(uint8_t out[IMPI_SIDE_PROC_SIZE],
                           const struct impi_side_proc *p)
{
    struct be_writer w;

    be_writer_init(&w, out, IMPI_SIDE_PROC_SIZE);
    be_put_bytes(&w, p->addr, sizeof(p->addr));
    be_put16(&w, p->port);
    be_put_bytes(&w, p->hostid, sizeof(p->hostid));
    be_put64(&w, p->pid);
    be_put32(&w, p->client);
    be_put32(&w, p->can);
    assert(!w.bad && w.len == IMPI_SIDE_PROC_SIZE);
}

static void proc_decode(struct be_reader *r, struct impi_side_proc *p)
{
    be_copy_bytes(r, p->addr, sizeof(p->addr));
    p->port = be_get16(r);
    be_copy_bytes(r, p->hostid, sizeof(p->hostid));
    p->pid = be_get64(r);
    p->client = be_get32(r);
    p->can = be_get32(r);
}

int impi_side_encode(const struct impi_side *s, uint8_t **buf, size_t *len)
{
    struct be_writer w;

    *len = FIXED_SIZE + (size_t)s->nprocs * IMPI_SIDE_PROC_SIZE;
    *buf = malloc(*len);
    if (!*buf)
        return -1;
    be_writer_init(&w, *buf, *len);
    be_put32(&w, SIDE_FORMAT);
    be_put32(&w, s->number);
    be_put64(&w, s->cid);
    be_put_bytes(&w, s->nonce, sizeof(s->nonce));
    be_put32(&w, s->maxdatalen);
    be_put32(&w, s->ackmark);
    be_put32(&w, s->hiwater);
    be_put32(&w, (uint32_t)s->coll_xsize);
    be_put32(&w, (uint32_t)s->coll_maxlinear);
    be_put32(&w, s->share ? SHARE : 0);
    be_put_bytes(&w, s->repr, sizeof(s->repr));
    be_put32(&w, s->nprocs);
    assert(!w.bad && w.len == FIXED_SIZE);
    for (uint32_t i = 0; i < s->nprocs; i++)
        impi_side_proc_encode(
            *buf + FIXED_SIZE + (size_t)i * IMPI_SIDE_PROC_SIZE, &s->procs[i]);
    return 0;
}

static int wrong_side(struct impi_side *s, struct errbuf *err, const char *what)
{
    impi_side_free(s);
    errno = EPROTO;
    return errprintf(err, "the other world says nonsense: %s", what);
}

static int procs_are_sound(const struct impi_side *s)
{
    for (uint32_t i = 0; i < s->nprocs; i++) {
        if (s->procs[i].client >= SF_IMPI_CLIENTS_MAX)
            return 0;
    }
    return 1;
}

/* r: that many processes. */
static int procs_decode(struct impi_side *s, struct be_reader *r)
{
    s->procs = calloc(s->nprocs, sizeof(*s->procs));
    if (!s->procs)
        return -1;
    for (uint32_t i = 0; i < s->nprocs; i++)
        proc_decode(r, &s->procs[i]);
    if (procs_are_sound(s))
        return 0;
    errno = EPROTO;
    return -1;
}

int impi_side_deaf(const struct impi_side *s)
{
    for (uint32_t i = 0; i < s->nprocs; i++) {
        if (s->procs[i].port == 0)
            return (int)i;
    }
    return -1;
}

int impi_side_put_procs(struct impi_side *s, const uint8_t *all,
                        struct errbuf *err)
{
    struct be_reader r;

    be_reader_init(&r, all, (size_t)s->nprocs * IMPI_SIDE_PROC_SIZE);
    if (procs_decode(s, &r) == 0)
        return 0;
    return errprintf(err, "%s",
                     errno == ENOMEM ? "no memory"
                                     : "the group has too many IMPI clients");
}

int impi_side_decode(struct impi_side *s, const void *buf, size_t len,
                     struct errbuf *err)
{
    struct be_reader r;
    uint32_t flags;

    memset(s, 0, sizeof(*s));
    be_reader_init(&r, buf, len);
    if (be_get32(&r) != SIDE_FORMAT)
        return wrong_side(s, err, "another version");
    s->number = be_get32(&r);
    s->cid = be_get64(&r);
    be_copy_bytes(&r, s->nonce, sizeof(s->nonce));
    s->maxdatalen = be_get32(&r);
    s->ackmark = be_get32(&r);
    s->hiwater = be_get32(&r);
    s->coll_xsize = (int32_t)be_get32(&r);
    s->coll_maxlinear = (int32_t)be_get32(&r);
    flags = be_get32(&r);
    s->share = flags & SHARE;
    be_copy_bytes(&r, s->repr, sizeof(s->repr));
    s->nprocs = be_get32(&r);
    if (r.bad || s->nprocs == 0 || s->nprocs > SF_IMPI_PROCS_MAX ||
        r.left != (size_t)s->nprocs * IMPI_SIDE_PROC_SIZE)
        return wrong_side(s, err, "a number of processes");
    if (procs_decode(s, &r) == 0)
        return 0;
    if (errno == EPROTO)
        return wrong_side(s, err, "a process");
    impi_side_free(s);
    return errprintf(err, "no memory");
}

void impi_side_free(struct impi_side *s)
{
    free(s->procs);
    explicit_bzero(s, sizeof(*s));
}

int impi_side_fits(const struct impi_side *own, const struct impi_side *other,
                   struct errbuf *err)
{
    if (memcmp(own->repr, other->repr, sizeof(own->repr)) != 0)
        return errprintf(err, "the two worlds represent data differently");
    if (own->maxdatalen != other->maxdatalen ||
        own->ackmark != other->ackmark || own->hiwater != other->hiwater)
        return errprintf(err, "the two worlds have agreed on different lengths "
                              "of packets");
    if (own->coll_xsize != other->coll_xsize ||
        own->coll_maxlinear != other->coll_maxlinear)
        return errprintf(err, "IMPI_COLL_XSIZE or IMPI_COLL_MAXLINEAR are not "
                              "the same in the two worlds");
    return 0;
}

int impi_couple_secret(uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                       const struct impi_port *port,
                       const struct impi_side *acceptor,
                       const struct impi_side *connector)
{
    const struct mac_part parts[] = {
        {"couple", 6},
        {acceptor->nonce, sizeof(acceptor->nonce)},
        {connector->nonce, sizeof(connector->nonce)},
    };

    _Static_assert(MAC_SIZE == IMPI_CHAN_SECRET_SIZE,
                   "one is made of the other");
    return mac_sign(secret, port->key, sizeof(port->key), parts, 3);
}

int impi_couple_about(uint8_t about[IMPI_COUPLE_ABOUT_SIZE],
                      const uint8_t secret[IMPI_CHAN_SECRET_SIZE],
                      bool acceptor)
{
    const struct mac_part role = {acceptor ? "accepts " : "connects", 8};

    return mac_sign(about, secret, IMPI_CHAN_SECRET_SIZE, &role, 1);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a joining client contributes, label by label in ascending order.
 */
#include <float.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "impi/join_priv.h"

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
    uint32_t n = j->o.versions ? j->o.nversions : 1;

    while (n > 1 && j->o.versions && j->o.version_cap &&
           impi_version_compare(&j->o.versions[n - 1], j->o.version_cap) > 0)
        n--;
    return n;
}

void join_send_version(struct impi_join *j)
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

bool join_send_next(struct impi_join *j)
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

void join_send_rest(struct impi_join *j)
{
    for (int i = 0; i < IMPI_N_LABELS; i++) {
        const struct impi_label_info *l = &impi_labels[i];

        if (l->label > j->asked &&
            (l->mandatory || join_agree_extended(j, l->since)))
            send_label(j, l);
    }
}

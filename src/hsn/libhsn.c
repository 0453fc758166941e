/* SPDX-License-Identifier: BSD-3-Clause
 * libhsn: handles and endpoints.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/sitedir.h"
#include "elan/capability.h"
#include "hsn/libhsn_priv.h"
#include "hsn/port_record.h"

static int default_path(char *path, size_t size)
{
    const char *own = getenv("HSN_SOCKET");
    const char *program = getenv("SLURM_FABRIC_PROGRAM");
    const char *slash = program ? strrchr(program, '/') : NULL;

    if (own)
        return snprintf(path, size, "%s", own);
    if (slash) {
        int n = snprintf(path, size, "%.*s/hsnd-0", (int)(slash - program),
                         program);

        if (n > 0 && (size_t)n < size && access(path, F_OK) == 0)
            return n;
    }
    return snprintf(path, size, "%s", SITEDIR_RUN("hsnd-0"));
}

struct hsn *hsn_open(const char *path)
{
    struct hsn *h = calloc(1, sizeof(*h));
    int n;

    if (!h)
        return NULL;
    h->bell = h->call = -1;
    h->look.most = LOOK_MOST_NS;
    n = path ? snprintf(h->path, sizeof(h->path), "%s", path)
             : default_path(h->path, sizeof(h->path));
    if (n > 0 && (size_t)n < sizeof(h->path) && hsn_call_fd(h) >= 0)
        return h;
    if ((size_t)n >= sizeof(h->path))
        errno = ENAMETOOLONG;
    hsn_close(h);
    return NULL;
}

void hsn_close(struct hsn *h)
{
    int e = errno;

    if (!h)
        return;
    hsn_mapped_free(h);
    ring_detach(&h->to);
    ring_detach(&h->from);
    if (h->bell >= 0)
        close(h->bell);
    if (h->call >= 0)
        close(h->call);
    free(h);
    errno = e;
}

/* Map both rings; the descriptors are closed. */
static int map_rings(struct hsn *h, int fds[2])
{
    int rc = -1;

    if (fds[0] >= 0 && fds[1] >= 0 &&
        ring_attach(&h->to, fds[0], RING_PRODUCER, HSN_RECORD_MAX, NULL) == 0 &&
        ring_attach(&h->from, fds[1], RING_CONSUMER, HSN_RECORD_MAX, NULL) == 0)
        rc = 0;
    else
        errno = EPROTO;
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

/* Say the request in h->buf; the connection becomes the endpoint's. */
static struct hsn *open_endpoint(struct hsn *h, enum hsn_kind kind,
                                 const struct be_writer *w)
{
    struct be_reader answer;
    int fds[2] = {-1, -1};

    if (hsn_call(h, h->call, w, &answer, fds) < 0 || map_rings(h, fds) < 0) {
        hsn_close(h);
        return NULL;
    }
    h->kind = kind;
    h->bell = h->call;
    h->limit_ms = -2; /* not known */
    h->call = -1;
    return h;
}

static struct hsn *open_simple(const char *path, enum hsn_kind kind,
                               enum hsn_verb verb, uint32_t number)
{
    struct hsn *h = hsn_open(path);
    struct be_writer w;

    if (!h)
        return NULL;
    h->number = number;
    hsn_request_begin(&w, h->buf, sizeof(h->buf), verb, number, 0);
    return open_endpoint(h, kind, &w);
}

struct hsn *hsn_raw_open(const char *path, uint16_t type)
{
    return open_simple(path, HSN_KIND_RAW, HSN_OPEN_RAW, type);
}

struct hsn *hsn_dgram_open(const char *path, uint16_t module)
{
    return open_simple(path, HSN_KIND_DGRAM, HSN_OPEN_DGRAM, module);
}

struct hsn *hsn_attach(const char *path, const ELAN_CAPABILITY *cap,
                       int context)
{
    struct hsn *h = hsn_open(path);
    struct be_writer w;
    size_t len;

    if (!h)
        return NULL;
    h->number = (uint32_t)(context >= 0 ? context : cap->MyContext);
    hsn_request_begin(&w, h->buf, sizeof(h->buf), HSN_OPEN_ELAN, h->number, 0);
    elan_capability_put(&w, cap);
    len = w.len;
    h = open_endpoint(h, HSN_KIND_ELAN, &w);
    if (h)
        explicit_bzero(h->buf, len);
    return h;
}

int elan3_attach(struct hsn **ctx, const ELAN_CAPABILITY *cap)
{
    *ctx = hsn_attach(NULL, cap, -1);
    return *ctx ? 0 : -1;
}

int hsn_fd(const struct hsn *h)
{
    return h->bell;
}

int hsn_ring_failed(struct hsn *h)
{
    if (errno == EPROTO)
        h->gone = true;
    if (h->gone)
        errno = ECONNRESET;
    return -1;
}

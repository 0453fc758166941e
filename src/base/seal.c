/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <munge.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "base/heap_forget.h"
#include "base/seal.h"

static munge_ctx_t context_create(const char *socket, struct errbuf *err)
{
    munge_ctx_t ctx = munge_ctx_create();

    if (!ctx) {
        errprintf(err, "munge: out of memory");
        errno = ENOMEM;
        return NULL;
    }
    if (socket && munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket) != 0) {
        errprintf(err, "munge: %s: %s", socket, munge_ctx_strerror(ctx));
        munge_ctx_destroy(ctx);
        errno = EIO;
        return NULL;
    }
    return ctx;
}

/* The context's own text names the socket; the code alone does not. */
static void explain(struct errbuf *err, munge_ctx_t ctx, munge_err_t code)
{
    const char *text = munge_ctx_strerror(ctx);

    errprintf(err, "munge: %s", text ? text : munge_strerror(code));
}

static munge_err_t encode(munge_ctx_t ctx, char **cred, const void *payload,
                          size_t len, uid_t reader, int ttl)
{
    munge_err_t e = EMUNGE_SUCCESS;

    if (reader != SEAL_ANY_UID)
        e = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, reader);
    if (e == EMUNGE_SUCCESS && ttl > 0)
        e = munge_ctx_set(ctx, MUNGE_OPT_TTL, ttl);
    if (e == EMUNGE_SUCCESS)
        e = munge_encode(cred, ctx, payload, (int)len);
    return e;
}

int seal_make(char **cred, const void *payload, size_t len, uid_t reader,
              int ttl, const char *socket, struct errbuf *err)
{
    munge_ctx_t ctx;
    munge_err_t e;

    *cred = NULL;
    if (len > SF_SEAL_PAYLOAD_MAX) {
        errno = EMSGSIZE;
        return errprintf(err, "munge: payload of %zu bytes is longer than %d",
                         len, SF_SEAL_PAYLOAD_MAX);
    }
    ctx = context_create(socket, err);
    if (!ctx)
        return -1;
    e = encode(ctx, cred, payload, len, reader, ttl);
    if (e != EMUNGE_SUCCESS)
        explain(err, ctx, e);
    munge_ctx_destroy(ctx);
    if (e == EMUNGE_SUCCESS)
        return 0;
    free(*cred);
    *cred = NULL;
    errno = EIO;
    return -1;
}

static int errno_of(munge_err_t e)
{
    switch (e) {
    case EMUNGE_CRED_UNAUTHORIZED:
        return EPERM;
    case EMUNGE_NO_MEMORY:
        return ENOMEM;
    case EMUNGE_BAD_CRED:
    case EMUNGE_BAD_VERSION:
    case EMUNGE_BAD_CIPHER:
    case EMUNGE_BAD_MAC:
    case EMUNGE_BAD_ZIP:
    case EMUNGE_BAD_REALM:
    case EMUNGE_CRED_INVALID:
        return EBADMSG;
    default:
        return EIO;
    }
}

/* What munged tells about the maker; missing pieces stay zero. */
static void fill_info(struct seal_info *info, munge_ctx_t ctx, munge_err_t e)
{
    struct in_addr addr = {0};

    munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &info->encoded);
    munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &info->decoded);
    munge_ctx_get(ctx, MUNGE_OPT_ADDR4, &addr);
    info->addr_be = addr.s_addr;
    info->replayed = (e == EMUNGE_CRED_REPLAYED);
    info->expired = (e == EMUNGE_CRED_EXPIRED);
}

static int open_it(void **payload, size_t *len, struct seal_info *info,
                   const char *cred, const char *socket, bool secret,
                   struct errbuf *err)
{
    munge_ctx_t ctx = context_create(socket, err);
    int buf_len = 0;
    void *buf = NULL;
    munge_err_t e;

    *payload = NULL;
    *len = 0;
    if (!ctx)
        return -1;
    *info = (struct seal_info){.uid = SEAL_ANY_UID, .gid = (gid_t)-1};
    e = munge_decode(cred, ctx, &buf, &buf_len, &info->uid, &info->gid);
    if (secret && buf && buf_len > 0)
        heap_forget(buf, (size_t)buf_len);
    fill_info(info, ctx, e);
    if (e != EMUNGE_SUCCESS)
        explain(err, ctx, e);
    munge_ctx_destroy(ctx);
    if (e == EMUNGE_SUCCESS || info->replayed || info->expired) {
        *payload = buf ? buf : calloc(1, 1);
        *len = (size_t)buf_len;
        errno = ENOMEM;
        return *payload ? 0 : -1;
    }
    free(buf);
    errno = errno_of(e);
    return -1;
}

int seal_open(void **payload, size_t *len, struct seal_info *info,
              const char *cred, const char *socket, struct errbuf *err)
{
    return open_it(payload, len, info, cred, socket, false, err);
}

int seal_open_secret(void **payload, size_t *len, struct seal_info *info,
                     const char *cred, const char *socket, struct errbuf *err)
{
    return open_it(payload, len, info, cred, socket, true, err);
}

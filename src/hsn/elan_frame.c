/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "base/be.h"
#include "base/fastmac.h"
#include "base/limits.h"
#include "base/mac.h"
#include "base/replay.h"
#include "elan/capability.h"
#include "hsn/elan_frame.h"

#define VERSION 1
#define SIGNED (HSN_ELAN_HEADER - HSN_ELAN_TAG)

/* The key of one sender's epoch. */
static struct fastmac *derive(const struct elan_userkey *key, uint32_t node,
                              uint16_t context, uint64_t epoch)
{
    static const char label[] = "hsn elan 1";
    uint8_t secret[16], text[sizeof(label) + 14], out[MAC_SIZE];
    struct mac_part part = {text, sizeof(text)};
    struct fastmac *mac = NULL;
    struct be_writer w;

    for (int i = 0; i < ELAN_USERKEY_ENTRIES; i++)
        be_store32(secret + 4 * i, key->Values[i]);
    be_writer_init(&w, text, sizeof(text));
    be_put_bytes(&w, label, sizeof(label));
    be_put32(&w, node);
    be_put16(&w, context);
    be_put64(&w, epoch);
    if (mac_sign(out, secret, sizeof(secret), &part, 1) == 0)
        mac = fastmac_new(out);
    explicit_bzero(secret, sizeof(secret));
    explicit_bzero(out, sizeof(out));
    return mac;
}

int hsn_elan_sender_init(struct hsn_elan_sender *s,
                         const struct elan_userkey *key, uint32_t node,
                         uint16_t context, uint64_t epoch)
{
    *s = (struct hsn_elan_sender){
        .node = node,
        .context = context,
        .epoch = epoch,
        .mac = derive(key, node, context, epoch),
    };
    return s->mac ? 0 : -1;
}

void hsn_elan_sender_clear(struct hsn_elan_sender *s)
{
    fastmac_free(s->mac);
    s->mac = NULL;
}

/* The parts under the tag: the header, the lengths of what follows, that. */
static size_t tagged(struct mac_part parts[5], uint8_t lengths[8],
                     const uint8_t *head, const struct iovec *data,
                     size_t ndata, const struct iovec *header)
{
    size_t n = 0, len = 0;

    parts[n++] = (struct mac_part){head, SIGNED};
    parts[n++] = (struct mac_part){lengths, 8};
    for (size_t i = 0; i < ndata; i++) {
        len += data[i].iov_len;
        parts[n++] = (struct mac_part){data[i].iov_base, data[i].iov_len};
    }
    parts[n++] = (struct mac_part){header->iov_base, header->iov_len};
    be_store32(lengths, (uint32_t)len);
    be_store32(lengths + 4, (uint32_t)header->iov_len);
    return n;
}

int hsn_elan_seal(struct hsn_elan_sender *s, uint32_t to_node,
                  uint16_t to_context, const struct iovec *data,
                  const struct iovec *header, uint8_t *out)
{
    struct mac_part parts[5];
    uint8_t lengths[8];
    struct be_writer w;
    size_t n;

    be_writer_init(&w, out, SIGNED);
    be_put32(&w, (uint32_t)VERSION << 24);
    be_put16(&w, s->context);
    be_put16(&w, to_context);
    be_put32(&w, s->node);
    be_put32(&w, to_node);
    be_put64(&w, s->epoch);
    be_put64(&w, ++s->counter);
    n = tagged(parts, lengths, out, data, 1, header);
    return fastmac_sign(s->mac, out + SIGNED, s->counter, parts, n);
}

int hsn_elan_head_get(struct hsn_elan_head *h, const void *buf, size_t len)
{
    struct be_reader r;
    uint32_t version;

    be_reader_init(&r, buf, len);
    version = be_get32(&r);
    h->from_context = be_get16(&r);
    h->to_context = be_get16(&r);
    h->from_node = be_get32(&r);
    h->to_node = be_get32(&r);
    h->epoch = be_get64(&r);
    h->counter = be_get64(&r);
    be_copy_bytes(&r, h->tag, HSN_ELAN_TAG);
    return r.bad || version != (uint32_t)VERSION << 24 ? -1 : 0;
}

/* One sender as it is known here. */
struct source {
    uint64_t who; /* node << 16 | context */
    uint64_t epoch;
    struct fastmac *mac;
    struct replay replay;
    UT_hash_handle hh;
};

struct hsn_elan_sources {
    struct elan_capability cap;
    struct source *known;
};

struct hsn_elan_sources *hsn_elan_sources_new(const struct elan_capability *c)
{
    struct hsn_elan_sources *s = calloc(1, sizeof(*s));

    if (s)
        s->cap = *c;
    return s;
}

void hsn_elan_sources_free(struct hsn_elan_sources *s)
{
    struct source *src, *next;

    if (!s)
        return;
    HASH_ITER(hh, s->known, src, next)
    {
        HASH_DEL(s->known, src);
        fastmac_free(src->mac);
        free(src);
    }
    explicit_bzero(&s->cap, sizeof(s->cap));
    free(s);
}

/* Does the program have a process on that node, and is the context one of its
 * own? */
static bool belongs(const struct elan_capability *c,
                    const struct hsn_elan_head *h)
{
    uint32_t width = (uint32_t)(c->HighContext - c->LowContext + 1);

    if (h->from_context < c->LowContext || h->from_context > c->HighContext ||
        h->from_node < (uint32_t)c->LowNode ||
        h->from_node > (uint32_t)c->HighNode)
        return false;
    for (uint32_t slot = 0; slot < width; slot++)
        if (elan_capability_has(c, h->from_node, slot))
            return true;
    return false;
}

static bool tag_right(struct fastmac *mac, const struct hsn_elan_head *h,
                      const uint8_t *raw, const struct iovec *data,
                      size_t ndata, const struct iovec *header)
{
    struct mac_part parts[5];
    uint8_t lengths[8];
    size_t n = tagged(parts, lengths, raw, data, ndata, header);

    return fastmac_check(mac, h->tag, h->counter, parts, n);
}

/* Remember the sender in its new epoch; it takes ownership of the key. */
static struct source *enter(struct hsn_elan_sources *s, struct source *src,
                            const struct hsn_elan_head *h, struct fastmac *mac)
{
    if (!src) {
        if (HASH_COUNT(s->known) >= SF_HSN_SOURCES_MAX)
            return NULL;
        src = calloc(1, sizeof(*src));
        if (!src)
            return NULL;
        src->who = (uint64_t)h->from_node << 16 | h->from_context;
        HASH_ADD(hh, s->known, who, sizeof(src->who), src);
    }
    fastmac_free(src->mac);
    src->mac = mac;
    src->epoch = h->epoch;
    src->replay = (struct replay){0};
    return src;
}

enum hsn_elan_fault hsn_elan_check(struct hsn_elan_sources *s,
                                   const struct hsn_elan_head *h,
                                   const uint8_t *raw, const struct iovec *data,
                                   size_t ndata, const struct iovec *header)
{
    uint64_t who = (uint64_t)h->from_node << 16 | h->from_context;
    struct fastmac *mac;
    struct source *src;
    bool fresh;

    HASH_FIND(hh, s->known, &who, sizeof(who), src);
    fresh = !src || h->epoch > src->epoch;
    if (!src && !belongs(&s->cap, h))
        return HSN_ELAN_STRANGER;
    if (!fresh &&
        (h->epoch < src->epoch || !replay_is_new(&src->replay, h->counter)))
        return HSN_ELAN_REPLAYED;
    mac = fresh
              ? derive(&s->cap.UserKey, h->from_node, h->from_context, h->epoch)
              : src->mac;
    if (!mac)
        return HSN_ELAN_NO_MEMORY;
    if (!tag_right(mac, h, raw, data, ndata, header)) {
        if (fresh)
            fastmac_free(mac);
        return HSN_ELAN_TAG_WRONG;
    }
    if (fresh && !(src = enter(s, src, h, mac))) {
        fastmac_free(mac);
        return HSN_ELAN_NO_MEMORY;
    }
    replay_mark(&src->replay, h->counter);
    return HSN_ELAN_OK;
}

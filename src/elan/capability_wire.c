/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bytes <-> struct elan_capability, and the check of what came from
 * elsewhere.  The form is in doc/jobinfo-wire.md.
 */
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "elan/capability.h"

#define WIRE_VERSION 1
#define FIXED_SIZE (2 + 16 + 8 * 4 + 4 + 2)

static uint32_t slots(const struct elan_capability *cap)
{
    return (uint32_t)(cap->HighNode - cap->LowNode + 1) *
           (uint32_t)(cap->HighContext - cap->LowContext + 1);
}

static uint32_t words(const struct elan_capability *cap)
{
    return (slots(cap) + 31) / 32;
}

static bool type_ok(uint32_t type)
{
    uint32_t order = type & ELAN_CAP_TYPE_MASK;
    uint32_t flags = type & ~ELAN_CAP_TYPE_MASK;

    return (order == ELAN_CAP_TYPE_BLOCK || order == ELAN_CAP_TYPE_CYCLIC) &&
           (flags & ~(ELAN_CAP_TYPE_MULTI_RAIL | ELAN_CAP_TYPE_BROADCASTABLE |
                      ELAN_CAP_TYPE_MAPPED)) == 0;
}

static bool contexts_ok(const struct elan_capability *cap)
{
    return cap->LowContext >= 0 && cap->LowContext <= cap->HighContext &&
           cap->HighContext < ELAN_MAX_CONTEXTS;
}

static bool nodes_ok(const struct elan_capability *cap)
{
    return cap->LowNode >= 0 && cap->LowNode <= cap->HighNode &&
           cap->HighNode <= SF_ELAN_NODE_ID_MAX;
}

static bool rails_ok(uint32_t mask)
{
    return mask != 0 && mask >> SF_ELAN_RAILS_MAX == 0;
}

/* Set bits; -1 when there is one past the last slot. */
static int64_t count_bits(const struct elan_capability *cap)
{
    uint32_t end = slots(cap);
    int64_t n = 0;

    for (uint32_t i = 0; i < ELAN_BITMAPSIZE; i++) {
        uint32_t word = cap->Bitmap[i];

        if (i * 32 >= end ? word != 0
                          : end - i * 32 < 32 && word >> (end - i * 32) != 0)
            return -1;
        n += __builtin_popcount(word);
    }
    return n;
}

int elan_capability_validate(const struct elan_capability *cap,
                             struct errbuf *err)
{
    errno = EPROTO;
    if (cap->Version != ELAN_CAP_VERSION_NUMBER)
        return errprintf(err, "capability: version 0x%x is not 0x%x",
                         (unsigned)cap->Version, ELAN_CAP_VERSION_NUMBER);
    if (!type_ok(cap->Type))
        return errprintf(err, "capability: type 0x%x", cap->Type);
    if (!contexts_ok(cap))
        return errprintf(err, "capability: contexts %d to %d", cap->LowContext,
                         cap->HighContext);
    if (!nodes_ok(cap))
        return errprintf(err, "capability: nodes %d to %d", cap->LowNode,
                         cap->HighNode);
    if (!rails_ok(cap->RailMask))
        return errprintf(err, "capability: rail mask 0x%x", cap->RailMask);
    if (slots(cap) > ELAN_MAX_VPS)
        return errprintf(err, "capability: %u possible processes, limit %d",
                         slots(cap), ELAN_MAX_VPS);
    if (cap->Entries < 1 || count_bits(cap) != cap->Entries)
        return errprintf(err, "capability: bitmap is not that of %d processes",
                         cap->Entries);
    return 0;
}

size_t elan_capability_size(const struct elan_capability *cap)
{
    return FIXED_SIZE + (size_t)words(cap) * 4;
}

void elan_capability_put(struct be_writer *w, const struct elan_capability *cap)
{
    uint32_t nwords = words(cap);

    be_put16(w, WIRE_VERSION);
    for (int i = 0; i < ELAN_USERKEY_ENTRIES; i++)
        be_put32(w, cap->UserKey.Values[i]);
    be_put32(w, (uint32_t)cap->Version);
    be_put32(w, cap->Type);
    be_put32(w, (uint32_t)cap->LowContext);
    be_put32(w, (uint32_t)cap->HighContext);
    be_put32(w, (uint32_t)cap->MyContext);
    be_put32(w, (uint32_t)cap->LowNode);
    be_put32(w, (uint32_t)cap->HighNode);
    be_put32(w, (uint32_t)cap->Entries);
    be_put32(w, cap->RailMask);
    be_put16(w, (uint16_t)nwords);
    for (uint32_t i = 0; i < nwords; i++)
        be_put32(w, cap->Bitmap[i]);
}

static int get_fixed(struct be_reader *r, struct elan_capability *cap)
{
    if (be_get16(r) != WIRE_VERSION)
        return -1;
    for (int i = 0; i < ELAN_USERKEY_ENTRIES; i++)
        cap->UserKey.Values[i] = be_get32(r);
    cap->Version = (int32_t)be_get32(r);
    cap->Type = be_get32(r);
    cap->LowContext = (int32_t)be_get32(r);
    cap->HighContext = (int32_t)be_get32(r);
    cap->MyContext = (int32_t)be_get32(r);
    cap->LowNode = (int32_t)be_get32(r);
    cap->HighNode = (int32_t)be_get32(r);
    cap->Entries = (int32_t)be_get32(r);
    cap->RailMask = be_get32(r);
    return r->bad ? -1 : 0;
}

int elan_capability_get(struct be_reader *r, struct elan_capability *cap,
                        struct errbuf *err)
{
    uint32_t nwords;

    memset(cap, 0, sizeof(*cap));
    errno = EPROTO;
    if (get_fixed(r, cap) < 0)
        return errprintf(err, "capability: cut, or of another version");
    nwords = be_get16(r);
    if (r->bad || nwords > ELAN_BITMAPSIZE)
        return errprintf(err, "capability: bitmap of %u words", nwords);
    for (uint32_t i = 0; i < nwords; i++)
        cap->Bitmap[i] = be_get32(r);
    if (r->bad)
        return errprintf(err, "capability: cut in its bitmap");
    if (elan_capability_validate(cap, err) < 0)
        return -1;
    if (nwords != words(cap)) {
        errno = EPROTO;
        return errprintf(err, "capability: bitmap of %u words, not %u", nwords,
                         words(cap));
    }
    return 0;
}

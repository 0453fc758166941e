/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The atlas: what an explorer knows, as facts that never take each other
 * back (internal to the explorer).
 *
 * A record is a crossbar as it was met by one way.  Its ports are numbered
 * relative to the port of entry (slot 0); the same crossbar may be met by
 * another way and get a second record.  As soon as a fact shows that two
 * records are one crossbar (the same host, the same id, a port with two
 * neighbours) they become one, with the shift between their numberings, and
 * so on for what hangs on them: the atlas is always closed under "a port has
 * one neighbour".  Records that are gone stay as signposts; atlas_at()
 * follows them.
 *
 * Functions that add facts return false when memory ran out.  Facts that
 * contradict each other set `torn`.
 */
#ifndef SF_MAPPER_ATLAS_H
#define SF_MAPPER_ATLAS_H

#include <stddef.h>

#include "mapper/idmap.h"
#include "mapper/prober.h"

#define ATLAS_NONE UINT32_MAX
#define ATLAS_RANK_NONE 255

enum slot_state {
    SLOT_UNKNOWN,
    SLOT_SILENT, /* neither host nor crossbar answered */
    SLOT_XBAR,   /* a crossbar, not known which */
    SLOT_LINK,   /* to far, far_slot */
    SLOT_HOST,   /* far is a host */
};

#define SLOT_BUSY 0x01    /* being asked */
#define SLOT_NO_HOST 0x02 /* a scout was not answered */
#define SLOT_NO_XBAR 0x04 /* a loop did not come back */
#define SLOT_STUCK 0x08   /* no guess told what crossbar this is */
#define SLOT_FAR 0x10     /* out of reach of the longest probe */
#define SLOT_GUESSED 0x20 /* guessed at on level 2 already */
#define SLOT_AGAIN 0x40   /* was silent, is asked once more */
#define SLOT_SURE 0x80    /* the driver knows that nothing is there */

struct atlas_slot {
    uint32_t far;
    int16_t far_slot;
    uint8_t state;
    uint8_t flags;
};

#define REC_NEW 0x01     /* may be a crossbar that is known already */
#define REC_QUEUED1 0x02 /* in the explorer's queue of that level */
#define REC_QUEUED2 0x04
#define REC_QUEUED3 0x08
#define REC_QUEUED4 0x10

struct atlas_rec {
    struct atlas_slot *slots; /* of slot -(P-1); NULL: gone */
    uint32_t up;              /* what it became, itself if it lives */
    int16_t shift;            /* slot s here is slot s + shift there */
    int16_t lo, hi;           /* slots in use lie in lo..hi */
    int16_t entry;            /* absolute port of slot 0; -1: not known */
    uint16_t nports;          /* 0: not known */
    uint64_t id;              /* 0: none */
    uint32_t from;            /* how it was reached: leave this record ... */
    int16_t from_slot;        /* ... by this slot (ATLAS_NONE: own cable) */
    uint16_t depth;           /* crossbars before it on that way */
    uint16_t nhosts, nlinks;
    uint16_t active; /* slots being asked, explorer's count */
    uint8_t rank;    /* crossbars to the nearest host, itself counted */
    uint8_t flags;
    uint32_t name; /* offset in names, 0: none */
};

struct atlas_host {
    struct probe_host info;
    uint32_t rec; /* ATLAS_NONE: not placed */
    int16_t slot;
};

struct atlas_ref {
    uint32_t rec;
    int slot;
};

struct atlas_slab;

struct atlas {
    int ports; /* P: of the widest crossbar */
    int nslots;
    struct atlas_rec *recs;
    uint32_t nrecs, cap_recs, nlive;
    struct atlas_host *hosts;
    uint32_t nhosts, cap_hosts;
    struct idmap by_address, by_id;
    struct atlas_pair *todo; /* records to be made one */
    size_t ntodo, cap_todo;
    struct atlas_ref *news; /* slots with new facts, for the explorer */
    size_t nnews, cap_news;
    char *names;
    size_t names_len, cap_names;
    struct atlas_slab *slabs; /* memory of slots */
    void *spare;
    uint32_t merges;
    size_t bytes;
    bool wary; /* a host's address alone does not make two records one */
    bool torn;
};

struct atlas_pair {
    struct atlas_ref a, b;
};

bool atlas_init(struct atlas *a, int ports, bool wary);
void atlas_clear(struct atlas *a);

/* A new record behind a slot of another one (ATLAS_NONE: the mapper's own
 * cable), without linking it.  ATLAS_NONE: no memory. */
uint32_t atlas_add(struct atlas *a, struct atlas_ref from);

/* The living record and slot that a reference means now. */
struct atlas_ref atlas_at(struct atlas *a, uint32_t rec, int slot);
/* NULL when no crossbar is that wide. */
static inline struct atlas_slot *atlas_slot(struct atlas *a,
                                            struct atlas_ref at)
{
    if (at.slot <= -a->ports || at.slot >= a->ports)
        return NULL;
    return &a->recs[at.rec].slots[at.slot + a->ports - 1];
}

/* The index of a host, added if need be; ATLAS_NONE: no memory. */
uint32_t atlas_host(struct atlas *a, const struct probe_host *info);

bool atlas_set_host(struct atlas *a, struct atlas_ref at, uint32_t host);
bool atlas_set_link(struct atlas *a, struct atlas_ref at, struct atlas_ref to);
bool atlas_set_xbar(struct atlas *a, struct atlas_ref at);
bool atlas_set_id(struct atlas *a, uint32_t rec, const struct probe_id *id);
/* What a crossbar is called; the first name stays. */
void atlas_name(struct atlas *a, uint32_t rec, const char *name);
/* Slot x is the same port as slot y. */
bool atlas_same(struct atlas *a, struct atlas_ref x, struct atlas_ref y);

/* Slots that may exist: from *first to *last. */
void atlas_window(const struct atlas *a, const struct atlas_rec *rec,
                  int *first, int *last);

static inline bool atlas_lives(const struct atlas *a, uint32_t rec)
{
    return a->recs[rec].up == rec;
}

static inline bool slot_wired(const struct atlas_slot *slot)
{
    return slot->state >= SLOT_XBAR;
}

/* The deltas from the mapper's cable to the record: depth of them.  False
 * when there are more than max. */
bool atlas_way(struct atlas *a, uint32_t rec, int16_t *deltas, unsigned max,
               unsigned *n);

#endif

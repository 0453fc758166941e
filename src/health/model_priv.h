/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the model: items with what is not shown of them.
 */
#ifndef SF_HEALTH_MODEL_PRIV_H
#define SF_HEALTH_MODEL_PRIV_H

#include <string.h>
#include <sys/queue.h>
#include <uthash.h>

#include "health/model.h"

#define MODEL_KEY_MAX (2 * SF_REPORT_NAME_MAX + 8)
#define MODEL_ECHOES_MAX 8

/* A host that lately lost echoes to this one. */
struct model_echo {
    uint32_t reporter; /* hash of its name */
    int64_t at;
};

/* What the ends of a link are, as of so many model.changes; NULL: no item. */
struct model_ends {
    uint64_t as_of;
    struct model_item *at[2];
};

struct model_item {
    struct health_item pub; /* first: shown as a pointer to it */
    char key[MODEL_KEY_MAX];
    enum report_seen raw; /* what the evidence says now */
    int64_t raw_since;
    bool judged;               /* raw is valid */
    bool bad_before;           /* the last definite state was not healthy */
    enum report_seen definite; /* raw, when it last was not unknown */
    int64_t back_since;        /* when it came back from down */
    int64_t proven_since;      /* raw is proven; 0: it is not */
    int64_t word;              /* when that was last said */
    uint8_t map;               /* rail of the map that last had it ... */
    uint64_t epoch;            /* ... and of which snapshot */
    int64_t downs[MODEL_FLAPS_MAX];
    bool downs_proven[MODEL_FLAPS_MAX];
    uint32_t ndowns; /* in all; downs[] is a ring */
    uint32_t untold; /* of them, since it flaps: pub.count has them later */
    int64_t gaps[MODEL_FLAPS_MAX]; /* that hsnd counted, which may be those */
    uint32_t ngaps;                /* in all; gaps[] is a ring */
    bool gaps_seen;                /* what it counted so far: */
    uint64_t gaps_told;
    uint64_t gaps_instance; /* link: of the mapper that counts them */
    int64_t others_at;      /* when model_judge.c last looked at all others */
    bool others_live;       /* what it found */
    struct model_echo echoes[MODEL_ECHOES_MAX];
    int64_t deaf_first; /* since when it tells that it loses most; 0: not */
    int64_t deaf_at;    /* when it did so after long enough; 0: not */
    struct rate errors; /* host: of its cable */
    int errors_by;      /* rule of model_judge.c that counts, and 1; 0: none */
    char nic[SF_REPORT_NIC_MAX]; /* host: of nicd, see model_nic.c */
    uint64_t nic_instance;       /* of the nicd that told so */
    uint64_t nic_flaps;          /* what it counted so far */
    uint32_t nic_mbps;
    bool nic_never, nic_was_up;
    uint32_t links, links_up;               /* crossbar: to other crossbars */
    struct model_ends host_ends, xbar_ends; /* link */
    bool counts; /* link: among those of both its crossbars */
    bool turned; /* crossbar: one of them came or went since */
    TAILQ_ENTRY(model_item) turned_next;
    LIST_HEAD(, model_item) hosts; /* crossbar: that hang on it */
    struct model_item *leaf;       /* host: on which it hangs, as of a tick */
    uint64_t leaf_as_of; /* ... and of so many model.changes; 0: none */
    LIST_ENTRY(model_item) at_leaf;
    struct model_nics
        *rests;          /* at rest, among these (model_rest.c); NULL: no */
    uint32_t rests_mbps; /* what it counts as there; 0: as no speed */
    TAILQ_ENTRY(model_item) rest;
    UT_hash_handle hh;
};

struct model_reporter {
    struct health_reporter pub;
    char key[SF_REPORT_NAME_MAX + 8];
    bool seen;                 /* instance and seq are valid */
    int64_t spoke;             /* last word, taken or not */
    int64_t steady;            /* since when without a start or a silence */
    bool alone;                /* a mapper that saw nothing but itself */
    uint64_t alone_version;    /* in this map */
    struct model_names *names; /* of its counters */
    UT_hash_handle hh;
};

/* What the mappers of one rail say. */
struct model_map {
    struct health_map pub;
    bool led;                      /* pub.leader still says it leads */
    int64_t rival_since, rival_at; /* another says so, too */
    uint64_t epoch;                /* of the snapshot being taken in */
    uint64_t snapshot_version;
    uint32_t snapshot_parts; /* that have come; a bit for each in `parts` */
    uint64_t parts[SF_REPORT_PARTS_MAX / 64];
};

struct model {
    struct model_conf conf;
    struct model_ops ops;
    struct model_item *items;
    TAILQ_HEAD(, model_item) awake, at_rest; /* each is in one of them */
    TAILQ_HEAD(, model_item)
    turned;          /* crossbars to be judged, and their hosts */
    uint64_t judged; /* items, so far */
    struct model_reporter *reporters;
    struct model_names *names; /* what they count, each list once */
    struct model_nics *nics;   /* NICs of a kind */
    struct model_map maps[SF_ELAN_RAILS_MAX];
    int64_t began;      /* when we began to listen */
    int64_t listened;   /* when we last did */
    uint8_t hsnd_rails; /* a bit for each with a word of hsnd */
    int64_t answered_at[SF_ELAN_RAILS_MAX]; /* last ANSWERED_YES */
    unsigned looks;   /* at all others, that a tick has left */
    uint8_t nrails;   /* rails that a host was ever seen on */
    int64_t links_at; /* last word of a source of links */
    uint64_t epoch;   /* the last given to a snapshot */
    size_t counts[REPORT_KINDS][HEALTH_STATES];
    uint64_t changes;   /* of which items there are, and of what they are by the
                           identity table; see struct model_word */
    uint64_t conflicts; /* boards that the identity table has elsewhere */
};

struct model_item *model_item_get(struct model *m, enum report_kind kind,
                                  uint8_t rail, const char *name,
                                  const char *peer);
/* Made when it is not there; NULL with errno ENOMEM or ENOSPC. */
struct model_item *model_item_make(struct model *m, enum report_kind kind,
                                   uint8_t rail, const char *name,
                                   const char *peer, int64_t now);
void model_item_drop(struct model *m, struct model_item *it);

#define MODEL_NOT_IN_MAP "not in the map"

/* A text of evidence, cut to its place.  Every item is judged twice a second:
 * no printf() here. */
static inline void model_text(char to[SF_REPORT_WHY_MAX], const char *text)
{
    size_t len = strnlen(text, SF_REPORT_WHY_MAX - 1);

    memcpy(to, text, len);
    to[len] = '\0';
}

/* When a source last vouched for this item.  A host's own daemon speaks for one
 * item; the mapper of a rail and link sources speak for all at once. */
int64_t model_vouched(const struct model *m, const struct model_item *it,
                      enum report_from from);
/* The last whole map has it. */
static inline bool model_is_mapped(const struct model *m,
                                   const struct model_item *it)
{
    return it->epoch > 0 && it->epoch == m->maps[it->map].epoch;
}
/* Is what a source said about an item still worth something? */
bool model_is_fresh(const struct model *m, const struct model_item *it,
                    enum report_from from, int64_t now);
/* A word of a reporter, taken or not. */
void model_note_word(const struct model *m, struct model_reporter *r,
                     const struct report *rep, int64_t now);
/* NULL: it has never spoken. */
const struct model_reporter *model_reporter_find(const struct model *m,
                                                 enum report_from from,
                                                 const char *node,
                                                 uint8_t rail);

/* ---- model_judge.c ---- */

#define MODEL_LOOKS_MAX 64 /* at all hosts, in a tick */

#define MODEL_STALL_MS 2000 /* switchmgrd listens more often */

/* Judge an item anew. */
void model_judge(struct model *m, struct model_item *it, int64_t now);
/* It is about to go: nothing hangs on it any more, nor it on anything. */
void model_unhang(struct model *m, struct model_item *it);

/* It was down so many times more; the caller judges it anew. */
void model_gaps_add(struct model_item *it, uint64_t more, int64_t now);
/* The same of a link, of which a mapper says how often it was gone since that
 * mapper began. */
void model_gaps_of_link(struct model_item *it, uint64_t instance,
                        uint64_t count, int64_t now);

/* Judge what a reporter counted; anew: since it was started again. */
void model_errors_take(struct model *m, const struct report *rep, bool anew,
                       int64_t now);

/* ---- model_nic.c ---- */

/* The rail of a host that the identity table does not have: where nicd, or a
 * map, has told of the same port before; else where the record wants it. */
uint8_t model_nic_rail(struct model *m, enum report_from from,
                       const struct report_record *r);
/* What nicd tells of a port, beside what any record does. */
void model_nic_take(struct model_item *it, const struct report *rep,
                    const struct report_record *r, int64_t now);
/* A port that the configuration of nicd leaves out. */
void model_nic_leave_out(struct model *m, const struct report_record *r);
/* What nicd's fresh word makes of a host. */
enum report_seen model_nic_says(const struct model *m,
                                const struct model_item *it, char *why,
                                size_t size);
/* Its nicd speaks, but of other ports only. */
bool model_nic_is_gone(const struct model *m, const struct model_item *it,
                       int64_t now, char *why, size_t size);
/* Count NICs of a kind; each tick. */
void model_nic_count(struct model *m, int64_t now);
/* This one, which has a link, counts in all ticks to come: where, and as
 * it->rests_mbps.  NULL: no memory. */
struct model_nics *model_nic_rests(struct model *m, struct model_item *it);
void model_nic_rests_no_more(struct model_nics *nics, uint32_t mbps);
void model_nic_free(struct model *m);

/* ---- model_rest.c ---- */

void model_rest_make(struct model *m, struct model_item *it);
void model_rest_drop(struct model *m, struct model_item *it);
/* nicd has said of it once more that it is well. */
void model_rest_word(struct model *m, struct model_item *it);
/* It is to be judged anew. */
void model_rest_end(struct model *m, struct model_item *it);
/* The same of all of a kind; NULL: of all. */
void model_rest_end_all(struct model *m, const struct model_nics *nics);
/* The same of those of which nothing was heard for long. */
void model_rest_tick(struct model *m, int64_t now);

#endif

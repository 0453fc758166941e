/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health model: what is known of each host (one NIC of a node on one
 * rail), link and crossbar, and how it is judged.
 *
 * Evidence comes as reports (health/report.h) and is kept per source: hsnd,
 * nicd, the leading mapper, sources of link status.  The worst fresh evidence
 * counts; a source that once spoke about an item and then falls silent makes
 * it "unknown" (unless another says worse), never "healthy".
 *
 * The silence of a daemon is no evidence against anybody else.  So of a host
 * whose hsnd speaks, "nobody answers" counts when one that was asked is known
 * to be alive (model_judge.c), and that a map does not have it counts when
 * nobody answers it.  The map of a mapper that sees nothing but itself counts
 * for nobody.  Each rail that has mappers has a leader and a map of its own.
 * What a dead daemon alone could have brought about is shown, and
 * is not `proven`: nothing is drained for it.
 *
 * The frames that a host's own cable loses or breaks are judged by rate
 * (model_judge.c); too many of them make it degraded.
 *
 * The published state lags behind the evidence on purpose (hysteresis):
 *
 *   down      at once (DownAfter)
 *   healthy   after UpAfter of good evidence, when it was not healthy before
 *   degraded  after DegradeAfter
 *   flapping  when it went down FlapCount times within FlapWindow, by what
 *             was told or by what its hsnd counted between two reports; then
 *             down again only after FlapHold of evidence, and healthy only
 *             after FlapQuiet without a fault
 *
 * Times are milliseconds since the epoch, from the caller, never running
 * backwards.  No item is judged but by model_input() and model_tick().
 */
#ifndef SF_HEALTH_MODEL_H
#define SF_HEALTH_MODEL_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "health/rate.h"
#include "health/report.h"
#include "health/state.h"
#include "health/tally.h"

struct model_conf {
    int64_t stale[REPORT_FROMS]; /* silence after which a source is stale */
    int64_t down_after, degrade_after, up_after;
    int64_t flap_window, flap_hold, flap_quiet;
    int64_t forget_after; /* an item that only stale evidence knows */
    int64_t leader_lease; /* silence after which another mapper may lead */
    int64_t rival_after;  /* two that say they lead for so long: an alarm */
    int64_t silent_after; /* stale hsnd for so long: degraded; 0: never */
    uint32_t flap_count;
    uint32_t echo_loss;      /* percent from which a peer counts as lossy */
    uint32_t echo_reporters; /* hosts that must find the same peer lossy */
    uint32_t uplink_percent; /* crossbar with fewer links up: degraded */
    struct rate_conf errors; /* of the frames on a host's cable: degraded */
    enum tally_action nic_uncabled; /* no link ever, most like it have one */
    enum tally_action nic_slow;     /* slower than most like it */
};
#define MODEL_RIVAL_MS 30000
void model_conf_defaults(struct model_conf *conf);

#define MODEL_FLAPS_MAX 16

struct health_evidence {
    bool known; /* this source has spoken about the item */
    enum report_seen seen;
    uint8_t answered;    /* hsnd: enum report_answered */
    uint8_t turned;      /* hsnd: the same of the other end of its cable */
    uint32_t asked;      /* hosts, none of which answers */
    int64_t alone_since; /* when ANSWERED_NO began */
    int64_t at;          /* last told */
    char why[SF_REPORT_WHY_MAX];
};

struct health_item {
    enum report_kind kind;
    uint8_t rail;
    uint64_t board;
    char name[SF_REPORT_NAME_MAX];
    char peer[SF_REPORT_NAME_MAX];
    enum health_state state; /* as published */
    int64_t since;           /* when it became so */
    int64_t proven;          /* since when the evidence for it is such that no
                                dead daemon could have made it; 0: it is not */
    bool silent;             /* a host whose own hsnd is silent for long */
    uint32_t count;          /* how often it went down */
    int source;              /* whose evidence decided: enum report_from, or -1:
                                derived from the uplinks or from echo losses */
    char why[SF_REPORT_WHY_MAX];
    struct health_evidence evidence[REPORT_FROMS];
};

struct health_counter {
    uint8_t rail;
    char name[SF_REPORT_COUNTER_NAME_MAX];
};

/* A reporter, for metrics and `sfabric`. */
struct health_reporter {
    enum report_from from;
    uint8_t rail; /* hsnd: of its NIC */
    char node[SF_REPORT_NAME_MAX];
    uint64_t instance, seq;
    int64_t at;
    uint64_t accepted, refused;
    const struct health_counter *counters; /* shared by all that count so */
    uint64_t *values;
    size_t ncounters;
};

struct health_map {
    bool known, configured;
    uint64_t version;
    int64_t since; /* of this version */
    int64_t at;    /* last word of the leader */
    uint32_t verify_us;
    char leader[SF_REPORT_NAME_MAX];
};

struct model_ops {
    /* NodeName that has this board on a rail (*rail is set), or NULL. */
    const char *(*resolve)(uint64_t board, uint8_t *rail, void *arg);
    /* A published state changed; `was` is the one before. */
    void (*changed)(const struct health_item *item, enum health_state was,
                    int64_t now, void *arg);
    /* A host that was at rest (see health_node) is so no more, or is new. */
    void (*stirs)(const struct health_item *item, void *arg);
    /* Something a person should look at; never acted upon. */
    void (*alarm)(const char *text, int64_t now, void *arg);
    void *arg;
};

struct model;
struct model_item;
struct model_reporter;

/* conf is copied, ops' functions may be NULL. */
struct model *model_new(const struct model_conf *conf,
                        const struct model_ops *ops);
void model_free(struct model *model);
void model_set_conf(struct model *model, const struct model_conf *conf);

/* A report whose sender is known to be report->node.  0: taken; -1 with text
 * and errno: EPERM not this sender's to tell (a host of another node, a mapper
 * that does not lead), EAGAIN nothing wrong, but not now (a map of a mapper
 * without a link), EALREADY older than what it told last, ENOSPC too many
 * items, ENOMEM.  A refused report changes nothing. */
int model_input(struct model *model, const struct report *report, int64_t now,
                struct errbuf *err);

/* What the model made of a report, so that the same again is quick.  Not to be
 * used with another model. */
#define MODEL_WORD_MAX SF_ELAN_RAILS_MAX
struct model_word {
    uint64_t changes; /* of the model, before it; see model.c */
    uint64_t seq;     /* of the report; 0: it has to be taken in full */
    struct model_reporter *reporter;
    size_t n;
    struct model_item *items[MODEL_WORD_MAX];
};
/* As model_input(), and what *word is to be with model_again(). */
int model_take(struct model *model, const struct report *report,
               struct model_word *word, int64_t now, struct errbuf *err);
/* A report that says, its seq apart, what that of *word said: ports of NICs
 * that are well, and that nothing else has changed since.  It does what
 * model_take() would, but that they are judged with the next tick.  False:
 * nothing was done, model_take() has to. */
bool model_again(struct model *model, const struct report *report,
                 struct model_word *word, int64_t now);

/* Let time pass: stale evidence, hysteresis.  Every second or so. */
void model_tick(struct model *model, int64_t now);
/* What follows from the reports since, without waiting for a tick: crossbars
 * whose links came or went are judged, and the hosts that hang on them.  It
 * looks at nothing else, however many items there are. */
void model_follow(struct model *model, int64_t now);
/* How many items were judged so far: what the model has done. */
uint64_t model_judged(const struct model *model);
/* Time passes in which reports are heard, though no tick comes: proof grows
 * only while we listen, and a gap of more than two seconds is one in which we
 * stood still.  Reports and ticks do this by themselves. */
void model_listens(struct model *model, int64_t now);

/* All items of a kind; begin with NULL.  Valid until the next input or tick. */
const struct health_item *model_next(const struct model *model,
                                     enum report_kind kind,
                                     const struct health_item *item);
const struct health_item *model_host(const struct model *model,
                                     const char *node, uint8_t rail);
const struct health_item *model_find(const struct model *model,
                                     enum report_kind kind, const char *name);
size_t model_count(const struct model *model, enum report_kind kind,
                   enum health_state state);

/* How a node is, over its rails. */
struct health_node {
    enum health_state state; /* worst rail */
    uint8_t rails;           /* a bit for each rail known */
    enum health_state rail_state[SF_ELAN_RAILS_MAX];
    int64_t rail_since[SF_ELAN_RAILS_MAX];
    int64_t rail_proven[SF_ELAN_RAILS_MAX]; /* since when; 0: it is not */
    uint8_t silent; /* rails whose hsnd is silent for long */
    int64_t since;
    uint32_t count;
    const struct health_item *worst;
    bool at_rest; /* nothing of this changes before model_ops.stirs() tells */
};
/* False: nothing is known of the node. */
bool model_node(const struct model *model, const char *node,
                struct health_node *out);

/* The map of a rail; and that of the lowest rail that has one. */
const struct health_map *model_map_of(const struct model *model, uint8_t rail);
const struct health_map *model_map(const struct model *model);
/* Reporters; begin with NULL. */
const struct health_reporter *
model_next_reporter(const struct model *model,
                    const struct health_reporter *reporter);

/* The model for the state file, as members of a JSON object, written piece by
 * piece: of thousands of items no more than one is in memory at a time. */
typedef void model_write_f(const char *text, size_t len, void *arg);
void model_save(const struct model *model, int64_t now, model_write_f *write,
                void *arg);
/* Take items from a saved model.  Evidence not older than its source's limit
 * when it was saved is as fresh now: time that nobody watched does not count;
 * more than `gap_max` of it makes all evidence stale.  0, or -1 EBADMSG with
 * text (what was read so far stays out). */
int model_load(struct model *model, struct json_object *saved, int64_t now,
               int64_t gap_max, struct errbuf *err);

#endif

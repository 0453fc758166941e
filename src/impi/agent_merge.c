/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/agent_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "impi/agent_tree.h"

/* Adding to a table must not end the program when memory is short. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define NEVER UINT64_MAX

/* A key of which more is to come. */
struct held {
    char key[SF_AGENT_KEY_MAX];
    uint32_t expected;
    bool gather;
    bool own;        /* our part is to come */
    uint32_t nwaits; /* children of whom more is to come */
    uint8_t *waits;  /* the same: bit per child */
    uint8_t *set;    /* NULL: all agents contribute */
    uint32_t count;  /* parts that are held */
    struct bytebuf parts;
    uint64_t hold, due; /* ms; NEVER: nothing is held */
    UT_hash_handle hh;
};

/* A key that has gone from here past the parent, for there was none. */
struct straight {
    struct straight *next; /* the newer one */
    char key[SF_AGENT_KEY_MAX];
    uint32_t expected;
    bool gather;
    bool known; /* expected, gather and set are */
    uint8_t *set;
};

struct agent_merge {
    uint32_t self, agents, fanout;
    uint32_t first, nchildren;
    uint8_t *attached; /* bit per child */
    bool parent;       /* frames go by it */
    bool orphan;       /* they never will (again) */
    bool leaving;
    struct held *keys; /* the oldest first */
    struct straight *straight;
    uint32_t nstraight;
    agent_merge_send_f *send;
    void *arg;
};

/* ---- sets -------------------------------------------------------------- */

static bool contributes(const uint8_t *set, uint32_t agent)
{
    return !set || agent_set_has(set, agent);
}

static bool reaches(const struct agent_merge *m, const uint8_t *set,
                    uint32_t top)
{
    return !set || agent_set_reaches(set, top, m->agents, m->fanout);
}

/* *copy: NULL for all agents.  0, or -1 ENOMEM. */
static int set_copy(uint8_t **copy, const struct agent_blob *set)
{
    *copy = NULL;
    if (set->len == 0)
        return 0;
    *copy = malloc(set->len);
    if (!*copy)
        return -1;
    memcpy(*copy, set->data, set->len);
    return 0;
}

static struct agent_blob set_blob(const struct agent_merge *m,
                                  const uint8_t *set)
{
    return (struct agent_blob){set,
                               set ? (uint32_t)AGENT_SET_SIZE(m->agents) : 0};
}

/* ---- keys that went straight ------------------------------------------- */

static struct straight **straight_find(struct agent_merge *m, const char *key)
{
    struct straight **s = &m->straight;

    while (*s && strcmp((*s)->key, key) != 0)
        s = &(*s)->next;
    return s;
}

static void straight_remove(struct agent_merge *m, struct straight **at)
{
    struct straight *s = *at;

    if (!s)
        return;
    *at = s->next;
    m->nstraight--;
    free(s->set);
    free(s);
}

/* The newest goes last; of too many the oldest is forgotten. */
static struct straight *straight_add(struct agent_merge *m, const char *key)
{
    struct straight **at = straight_find(m, key), *s = *at;

    if (s)
        return s;
    s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    strcpy(s->key, key);
    *at = s;
    if (++m->nstraight > SF_AGENT_STRAIGHT_MAX)
        straight_remove(m, &m->straight);
    return s;
}

static int straight_note(struct agent_merge *m, const struct held *h)
{
    struct agent_blob set = set_blob(m, h->set);
    struct straight *s = straight_add(m, h->key);

    if (!s)
        return -1;
    if (s->known)
        return 0;
    s->known = true;
    s->expected = h->expected;
    s->gather = h->gather;
    return set_copy(&s->set, &set);
}

/* ---- frames ------------------------------------------------------------ */

static int send_msg(struct agent_merge *m, const struct agent_msg *msg)
{
    struct bytebuf b;
    int rc;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX + AGENT_HEADER_SIZE);
    rc = agent_msg_encode(&b, msg);
    if (rc == 0)
        m->send(m->arg, m->parent, bytebuf_data(&b), bytebuf_len(&b));
    else
        errno = ENOMEM;
    bytebuf_free(&b);
    return rc;
}

/* impi-server need not know who contributes. */
static int send_merged(struct agent_merge *m, const struct agent_merged *g,
                       bool last)
{
    struct agent_msg msg = {.type = AGENT_MERGED, .merged = *g};

    msg.merged.last = last;
    if (!m->parent)
        msg.merged.set = (struct agent_blob){NULL, 0};
    return send_msg(m, &msg);
}

/* What is held, and it is held no more. */
static int send_held(struct agent_merge *m, struct held *h, bool last)
{
    struct agent_merged g = {.expected = h->expected,
                             .gather = h->gather,
                             .set = set_blob(m, h->set),
                             .count = h->count};
    int rc;

    strcpy(g.key, h->key);
    g.packed = (struct agent_blob){bytebuf_data(&h->parts),
                                   (uint32_t)bytebuf_len(&h->parts)};
    rc = send_merged(m, &g, last);
    bytebuf_consume(&h->parts, bytebuf_len(&h->parts));
    h->count = 0;
    h->due = NEVER;
    if (last && !m->parent && !m->orphan && straight_note(m, h) < 0)
        rc = -1;
    return rc;
}

/* ---- keys that are held ------------------------------------------------ */

static void held_free(struct agent_merge *m, struct held *h)
{
    HASH_DEL(m->keys, h);
    bytebuf_free(&h->parts);
    free(h->waits);
    free(h->set);
    free(h);
}

static struct held *held_find(const struct agent_merge *m, const char *key)
{
    struct held *h;

    HASH_FIND_STR(m->keys, key, h);
    return h;
}

static void wait_for_children(const struct agent_merge *m, struct held *h)
{
    for (uint32_t i = 0; i < m->nchildren; i++)
        if (agent_set_has(m->attached, i) && reaches(m, h->set, m->first + i)) {
            agent_set_add(h->waits, i);
            h->nwaits++;
        }
}

/* Who is at fault when there are too many keys is impi-server's to say. */
static int make_room(struct agent_merge *m)
{
    struct held *oldest = m->keys;
    int rc = 0;

    if (agent_merge_open(m) < SF_AGENT_KEYS_OPEN_MAX)
        return 0;
    if (oldest->count > 0)
        rc = send_held(m, oldest, false);
    held_free(m, oldest);
    return rc;
}

static struct held *held_new(struct agent_merge *m,
                             const struct agent_merged *of)
{
    struct held *h;

    if (make_room(m) < 0)
        return NULL;
    h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    h->waits = calloc(AGENT_SET_SIZE(m->nchildren + 1), 1);
    bytebuf_init(&h->parts, SF_AGENT_FRAME_MAX);
    strcpy(h->key, of->key);
    h->expected = of->expected;
    h->gather = of->gather;
    h->hold = SF_AGENT_HOLD_MS;
    h->due = NEVER;
    if (h->waits && set_copy(&h->set, &of->set) == 0)
        HASH_ADD_STR(m->keys, key, h);
    if (!h->hh.tbl) {
        free(h->waits);
        free(h->set);
        free(h);
        errno = ENOMEM;
        return NULL;
    }
    h->own = contributes(h->set, m->self) && !*straight_find(m, h->key);
    wait_for_children(m, h);
    return h;
}

static bool nobody_has_more(const struct held *h)
{
    return !h->own && h->nwaits == 0;
}

static int send_if_last(struct agent_merge *m, struct held *h)
{
    int rc;

    if (!nobody_has_more(h))
        return 0;
    rc = send_held(m, h, true);
    held_free(m, h);
    return rc;
}

static void wait_no_more(const struct agent_merge *m, struct held *h,
                         uint32_t child)
{
    uint32_t i = child - m->first;

    if (!agent_set_has(h->waits, i))
        return;
    agent_set_remove(h->waits, i);
    h->nwaits--;
}

/* Room for more parts in one frame: what is there goes before. */
static int hold_parts(struct agent_merge *m, struct held *h,
                      const struct agent_merged *g, uint64_t now)
{
    int rc = 0;

    if (h->count > 0 &&
        bytebuf_len(&h->parts) + g->packed.len > SF_AGENT_FRAME_MAX / 2)
        rc = send_held(m, h, false);
    bytebuf_add(&h->parts, g->packed.data, g->packed.len);
    h->count += g->count;
    if (h->parts.bad) {
        errno = ENOMEM;
        return -1;
    }
    if (h->due == NEVER && h->count > 0)
        h->due = now + h->hold;
    return rc;
}

/* g->last: the child, or we, have no more to give. */
static int take(struct agent_merge *m, uint32_t from,
                const struct agent_merged *g, uint64_t now)
{
    struct held *h = held_find(m, g->key);

    if (m->leaving ||
        (h && (h->expected != g->expected || h->gather != g->gather)))
        return send_merged(m, g, false);
    if (!h)
        h = held_new(m, g);
    if (!h || hold_parts(m, h, g, now) < 0)
        return -1;
    if (from == m->self)
        h->own = false;
    else if (g->last)
        wait_no_more(m, h, from);
    if (nobody_has_more(h))
        return send_if_last(m, h);
    return bytebuf_len(&h->parts) >= SF_AGENT_HELD_MAX ? send_held(m, h, false)
                                                       : 0;
}

/* ---- what happens ------------------------------------------------------ */

struct agent_merge *agent_merge_create(uint32_t self, uint32_t agents,
                                       uint32_t fanout,
                                       agent_merge_send_f *send, void *arg)
{
    struct agent_merge *m = calloc(1, sizeof(*m));

    if (!m)
        return NULL;
    m->self = self;
    m->agents = agents;
    m->fanout = fanout;
    m->send = send;
    m->arg = arg;
    m->orphan = agent_tree_parent(self, fanout) == AGENT_TREE_ROOT;
    m->nchildren = agent_tree_children(self, agents, fanout, &m->first);
    m->attached = calloc(AGENT_SET_SIZE(m->nchildren + 1), 1);
    if (!m->attached) {
        free(m);
        return NULL;
    }
    return m;
}

void agent_merge_destroy(struct agent_merge *m)
{
    struct held *h, *next;

    if (!m)
        return;
    HASH_ITER(hh, m->keys, h, next) held_free(m, h);
    while (m->straight)
        straight_remove(m, &m->straight);
    free(m->attached);
    free(m);
}

int agent_merge_given(struct agent_merge *m, const char *key)
{
    return straight_add(m, key) ? 0 : -1;
}

int agent_merge_put(struct agent_merge *m, const struct agent_put *put,
                    bool gather, const uint8_t *set, uint64_t now)
{
    struct agent_merged g = {.expected = put->expected,
                             .gather = gather,
                             .last = true,
                             .set = set_blob(m, set),
                             .count = 1};
    struct agent_part part = {m->self, put->index, put->blob};
    struct bytebuf packed;
    int rc = -1;

    strcpy(g.key, put->key);
    bytebuf_init(&packed, SF_AGENT_FRAME_MAX);
    agent_parts_add(&packed, &part);
    g.packed = (struct agent_blob){bytebuf_data(&packed),
                                   (uint32_t)bytebuf_len(&packed)};
    if (!packed.bad)
        rc = take(m, m->self, &g, now);
    bytebuf_free(&packed);
    return rc;
}

static int refuse(struct errbuf *err, const char *why)
{
    errno = EPROTO;
    return errprintf(err, "%s", why);
}

int agent_merged_check(const struct agent_merged *msg, uint32_t from,
                       uint32_t agents, uint32_t fanout, struct errbuf *err)
{
    struct agent_part part;
    struct be_reader r;

    if (msg->set.len != 0 && msg->set.len != AGENT_SET_SIZE(agents))
        return refuse(err, "MERGED with a set of another size");
    agent_parts_init(&r, msg);
    while (agent_parts_next(&r, &part))
        if (part.agent >= agents ||
            !agent_tree_is_below(part.agent, from, fanout)) {
            errno = EPROTO;
            return errprintf(err,
                             "key \"%s\": a contribution of agent %u, which "
                             "is not below it",
                             msg->key, part.agent);
        }
    return 0;
}

int agent_merge_child(struct agent_merge *m, uint32_t child,
                      const struct agent_merged *msg, uint64_t now,
                      struct errbuf *err)
{
    if (agent_merged_check(msg, child, m->agents, m->fanout, err) < 0)
        return -1;
    if (take(m, child, msg, now) == 0)
        return 0;
    return errprintf(err, "key \"%s\": out of memory", msg->key);
}

void agent_merge_attached(struct agent_merge *m, uint32_t child)
{
    agent_set_add(m->attached, child - m->first);
}

int agent_merge_gone(struct agent_merge *m, uint32_t child)
{
    uint32_t i = child - m->first;
    struct held *h, *next;
    int rc = 0;

    agent_set_remove(m->attached, i);
    HASH_ITER(hh, m->keys, h, next)
    {
        wait_no_more(m, h, child);
        if (send_if_last(m, h) < 0)
            rc = -1;
    }
    return rc;
}

/* The parent waits for what has gone straight: it hears that there is no more,
 * or gets what children that came since have to give. */
static int tell_straight(struct agent_merge *m, const struct straight *s)
{
    struct agent_merged g = {.expected = s->expected, .gather = s->gather};
    struct held *h = held_find(m, s->key);

    if (h || !s->known)
        return 0;
    strcpy(g.key, s->key);
    g.set = set_blob(m, s->set);
    h = held_new(m, &g);
    return h ? send_if_last(m, h) : -1;
}

int agent_merge_parent(struct agent_merge *m, bool attached)
{
    int rc = 0;

    if (m->orphan)
        return 0;
    m->parent = attached;
    m->orphan = !attached;
    for (struct straight *s = m->straight; s && attached; s = s->next)
        if (tell_straight(m, s) < 0)
            rc = -1;
    return rc;
}

void agent_merge_forget(struct agent_merge *m, const char *key)
{
    struct held *h = held_find(m, key);

    if (h)
        held_free(m, h);
    straight_remove(m, straight_find(m, key));
}

int agent_merge_leave(struct agent_merge *m)
{
    struct held *h, *next;
    int rc = 0;

    m->leaving = true;
    HASH_ITER(hh, m->keys, h, next)
    {
        if (h->count > 0 && send_held(m, h, false) < 0)
            rc = -1;
        held_free(m, h);
    }
    return rc;
}

uint64_t agent_merge_due(const struct agent_merge *m)
{
    uint64_t due = NEVER;

    for (const struct held *h = m->keys; h; h = h->hh.next)
        if (h->due < due)
            due = h->due;
    return due;
}

int agent_merge_tick(struct agent_merge *m, uint64_t now)
{
    int rc = 0;

    for (struct held *h = m->keys; h; h = h->hh.next)
        if (h->due <= now) {
            if (send_held(m, h, false) < 0)
                rc = -1;
            h->hold = h->hold * 2 < SF_AGENT_HOLD_MS_MAX ? h->hold * 2
                                                         : SF_AGENT_HOLD_MS_MAX;
        }
    return rc;
}

uint32_t agent_merge_open(const struct agent_merge *m)
{
    return HASH_COUNT(m->keys);
}

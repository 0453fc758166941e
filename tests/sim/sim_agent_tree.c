/* SPDX-License-Identifier: BSD-3-Clause
 * The rendezvous of many agents over their tree, in virtual time (a unit is a
 * millisecond): connections of any speed, agents that attach late or never,
 * inner ones that leave before the others.  Contributions go up, results come
 * down.  Everybody gets each key's result that is due to it exactly once,
 * whole, and everybody comes to its end; likewise when an inner one dies,
 * which impi-server tells the others.  Engines: rendezvous, agent_tree,
 * agent_merge, and the frames; sockets are queues in which nothing overtakes.
 *
 * One seed of one's own: TREE_SEED=N tests/sim/sim_agent_tree
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/agent_merge.h"
#include "impi/agent_tree.h"
#include "impi/rendezvous.h"

#define ROOT AGENT_TREE_ROOT
#define KEYS 6 /* of each agent, one after the other */
#define TREE_UP 20

/* A frame under way, or at its receiver. */
struct flight {
    struct flight *next;
    uint64_t at; /* when it arrives; ties go by order */
    uint64_t order;
    uint32_t from, to;
    size_t len;
    uint8_t bytes[];
};

struct node {
    struct sim *sim;
    struct agent_merge *merge;   /* since it knows of the tree */
    uint64_t to_root, to_parent; /* ways there: time that one takes */
    uint64_t last[4];            /* nothing overtakes: to root, from it, from
                                    the parent, to it */
    bool never;                  /* cannot reach its parent */
    bool attached, parent_left;
    uint8_t *children; /* attached here: set of agents */
    uint32_t keys;     /* that it contributes to in all */
    uint32_t done;     /* results that came */
    uint32_t spreads, due;
    bool due_known, asked, parted, gone;
};

struct sim {
    uint64_t seed, now, order;
    uint32_t agents, fanout;
    struct node *nodes;
    struct rendezvous *rendezvous;
    struct agent_tree *tree;
    bool *up; /* the root's view */
    struct flight *flights;
    uint32_t by_tree, ended;
    uint32_t merged, straight; /* that the root got */
    uint64_t due;              /* no agent has something to do before */
    uint64_t skew; /* not 0: an agent thinks for up to so long, at least TREE_UP
                      before its first part */
    uint32_t victim; /* it dies at that time; ROOT: nobody does */
    uint64_t dies_at;
    bool dead, aborted;
};

static uint64_t draw(struct sim *s, uint64_t below)
{
    s->seed ^= s->seed << 13;
    s->seed ^= s->seed >> 7;
    s->seed ^= s->seed << 17;
    return (s->seed >> 11) % below;
}

/* ---- queues ---- */

static void post(struct sim *s, uint32_t from, uint32_t to, uint64_t *last,
                 uint64_t takes, const struct bytebuf *b)
{
    size_t len = bytebuf_len(b);
    struct flight *f = malloc(sizeof(*f) + len), **p = &s->flights;

    assert_non_null(f);
    f->at = s->now + takes;
    if (f->at < *last)
        f->at = *last;
    *last = f->at;
    f->order = s->order++;
    f->from = from;
    f->to = to;
    f->len = len;
    memcpy(f->bytes, bytebuf_data(b), len);
    while (*p && (*p)->at <= f->at)
        p = &(*p)->next;
    f->next = *p;
    *p = f;
}

/* Between the root and an agent, or a parent and its child. */
static void send_bytes(struct sim *s, uint32_t from, uint32_t to,
                       const struct bytebuf *b)
{
    struct node *n = &s->nodes[from == ROOT || to > from ? to : from];

    if (to == ROOT)
        post(s, from, to, &s->nodes[from].last[0], s->nodes[from].to_root, b);
    else if (from == ROOT)
        post(s, from, to, &n->last[1], n->to_root, b);
    else
        post(s, from, to, &n->last[to > from ? 2 : 3], n->to_parent, b);
}

static void send_msg(struct sim *s, uint32_t from, uint32_t to,
                     const struct agent_msg *m)
{
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX);
    assert_int_equal(agent_msg_encode(&b, m), 0);
    send_bytes(s, from, to, &b);
    bytebuf_free(&b);
}

/* ---- agents ---- */

/* Keys 0, 2, 4: all agents.  1, 3, 5: those with the same number modulo 3.  An
 * agent contributes to its first `keys` ones, and all do so that share them. */
static bool is_for_all(uint32_t key)
{
    return key % 2 == 0;
}

static uint32_t index_of(uint32_t agent, uint32_t key)
{
    return is_for_all(key) ? agent : agent / 3;
}

static uint32_t expected(const struct sim *s, uint32_t agent, uint32_t key)
{
    return is_for_all(key) ? s->agents : (s->agents - agent % 3 + 2) / 3;
}

static void key_name(char *name, uint32_t agent, uint32_t key)
{
    if (is_for_all(key))
        snprintf(name, SF_AGENT_KEY_MAX, "all.%u", key);
    else
        snprintf(name, SF_AGENT_KEY_MAX, "some.%u.%u", key, agent % 3);
}

/* All that contribute to the agent's key; NULL: all agents. */
static uint8_t *contributors(const struct sim *s, uint32_t agent, uint32_t key)
{
    uint8_t *set;

    if (is_for_all(key))
        return NULL;
    set = calloc(AGENT_SET_SIZE(s->agents), 1);
    assert_non_null(set);
    for (uint32_t i = agent % 3; i < s->agents; i += 3)
        agent_set_add(set, i);
    return set;
}

static void upward(void *arg, bool to_parent, const void *frame, size_t len)
{
    struct node *n = arg;
    struct sim *s = n->sim;
    uint32_t agent = (uint32_t)(n - s->nodes);
    struct bytebuf b;

    bytebuf_init(&b, SF_AGENT_FRAME_MAX);
    bytebuf_add(&b, frame, len);
    send_bytes(s, agent, to_parent ? agent_tree_parent(agent, s->fanout) : ROOT,
               &b);
    bytebuf_free(&b);
}

static void look_at_due(struct sim *s, const struct node *n)
{
    uint64_t due = n->merge ? agent_merge_due(n->merge) : UINT64_MAX;

    if (due < s->due)
        s->due = due;
}

static void contribute(struct sim *s, uint32_t agent)
{
    struct agent_msg m = {.type = AGENT_PUT};
    struct node *n = &s->nodes[agent];
    uint32_t key = n->done, value = agent * 31 + key;
    uint8_t *set;

    key_name(m.put.key, agent, key);
    m.put.index = index_of(agent, key);
    m.put.expected = expected(s, agent, key);
    m.put.blob = (struct agent_blob){(const uint8_t *)&value, sizeof(value)};
    if (!n->merge) {
        send_msg(s, agent, ROOT, &m);
        return;
    }
    set = contributors(s, agent, key);
    assert_int_equal(agent_merge_put(n->merge, &m.put, false, set, s->now), 0);
    free(set);
    look_at_due(s, n);
}

/* A frame to itself, without bytes. */
static void think(struct sim *s, uint32_t agent)
{
    struct bytebuf nothing;
    uint64_t none = 0;

    if (s->skew == 0) {
        contribute(s, agent);
        return;
    }
    bytebuf_init(&nothing, 0);
    post(s, agent, agent, &none,
         (s->nodes[agent].done ? 0 : TREE_UP) + draw(s, s->skew), &nothing);
}

static void hear_of_tree(struct sim *s, uint32_t agent)
{
    struct node *n = &s->nodes[agent];
    char key[SF_AGENT_KEY_MAX];

    n->merge = agent_merge_create(agent, s->agents, s->fanout, upward, n);
    assert_non_null(n->merge);
    key_name(key, agent, n->done);
    if (n->done < n->keys && s->skew == 0)
        assert_int_equal(agent_merge_given(n->merge, key), 0);
}

static bool any(const uint8_t *set, uint32_t agents)
{
    for (size_t i = 0; i < AGENT_SET_SIZE(agents); i++)
        if (set[i])
            return true;
    return false;
}

static void say_bye(struct sim *s, uint32_t from, uint32_t to)
{
    struct agent_msg m = {.type = AGENT_BYE};

    send_msg(s, from, to, &m);
}

/* As impid_tree_holds_back(). */
static void leave_maybe(struct sim *s, uint32_t agent)
{
    struct agent_msg m = {.type = AGENT_LEAVING};
    struct node *n = &s->nodes[agent];

    if (n->gone || n->done < n->keys)
        return;
    if (any(n->children, s->agents)) {
        if (!n->asked) {
            assert_int_equal(agent_merge_leave(n->merge), 0);
            send_msg(s, agent, ROOT, &m);
        }
        n->asked = true;
        if (!n->due_known || n->spreads != n->due)
            return;
        for (uint32_t c = 0; !n->parted && c < s->agents; c++)
            if (agent_set_has(n->children, c))
                say_bye(s, agent, c);
        n->parted = true;
        return;
    }
    n->gone = true;
    s->ended++;
    if (n->attached && !n->parent_left)
        say_bye(s, agent, agent_tree_parent(agent, s->fanout));
    say_bye(s, agent, ROOT);
}

/* Of the parent: what follows goes straight.  Of a child: no more comes. */
static void hear_bye(struct sim *s, uint32_t agent, uint32_t from)
{
    struct node *n = &s->nodes[agent];

    if (from == agent_tree_parent(agent, s->fanout)) {
        n->parent_left = true;
        assert_int_equal(agent_merge_parent(n->merge, false), 0);
        say_bye(s, agent, from);
        return;
    }
    assert_int_equal(agent_tree_parent(from, s->fanout), agent);
    agent_set_remove(n->children, from);
    assert_int_equal(agent_merge_gone(n->merge, from), 0);
}

static void take_result(struct sim *s, uint32_t agent,
                        const struct agent_got *got)
{
    struct node *n = &s->nodes[agent];
    uint32_t key = n->done, count = 0, number;
    struct agent_blob blob;
    struct be_reader r;

    assert_false(n->gone);
    assert_true(key < n->keys);
    assert_int_equal(sscanf(strchr(got->key, '.') + 1, "%u", &number), 1);
    assert_int_equal(number, key); /* in turn, and so once */
    assert_int_equal(got->count, expected(s, agent, key));
    agent_blobs_init(&r, got);
    for (; agent_blobs_next(&r, &blob); count++) {
        uint32_t who = is_for_all(key) ? count : count * 3 + agent % 3, value;

        memcpy(&value, blob.data, sizeof(value));
        assert_int_equal(value, who * 31 + key);
    }
    if (n->merge)
        agent_merge_forget(n->merge, got->key);
    if (++n->done < n->keys)
        think(s, agent);
}

static void agent_spread(struct sim *s, uint32_t agent,
                         const struct agent_spread *sp,
                         const struct bytebuf *whole)
{
    struct node *n = &s->nodes[agent];
    struct agent_msg m;
    struct errbuf err;

    n->spreads++;
    s->by_tree++;
    for (uint32_t c = 0; c < s->agents; c++)
        if (agent_set_has(n->children, c) &&
            agent_set_reaches(sp->set.data, c, s->agents, s->fanout))
            send_bytes(s, agent, c, whole);
    assert_int_equal(agent_msg_decode(&m, sp->frame.data, sp->frame.len, &err),
                     sp->frame.len);
    agent_merge_forget(n->merge, m.got.key);
    if (agent_set_has(sp->set.data, agent))
        take_result(s, agent, &m.got);
}

/* The opening of the connection to the parent, in one piece. */
static void attach(struct sim *s, uint32_t agent)
{
    uint32_t parent = agent_tree_parent(agent, s->fanout);
    struct agent_msg m = {.type = AGENT_ATTACHED};
    struct node *p = &s->nodes[parent], *n = &s->nodes[agent];

    /* it listens no more, or cannot be reached: directly, then */
    if (n->never || n->gone || p->gone || p->done == p->keys || p->asked)
        return;
    agent_set_add(p->children, agent);
    n->attached = true;
    agent_merge_attached(p->merge, agent);
    send_msg(s, agent, ROOT, &m);
    assert_int_equal(agent_merge_parent(n->merge, true), 0);
}

static void to_agent(struct sim *s, uint32_t agent, uint32_t from,
                     const struct agent_msg *m, const struct bytebuf *whole)
{
    struct node *n = &s->nodes[agent];
    struct agent_msg reply = {.type = AGENT_LISTENS};
    uint32_t first;

    if (n->gone || (s->dead && agent == s->victim)) {
        assert_true((m->type != AGENT_GOT && m->type != AGENT_MERGED) ||
                    s->dead);
        return;
    }
    if (m->type == AGENT_KILL) {
        n->gone = true;
        s->ended++;
        return;
    }
    if (m->type == AGENT_TREE)
        hear_of_tree(s, agent);
    if (m->type == AGENT_TREE &&
        agent_tree_children(agent, s->agents, m->number, &first) > 0 &&
        n->done < n->keys)
        send_msg(s, agent, ROOT, &reply);
    else if (m->type == AGENT_PARENT)
        attach(s, agent);
    else if (m->type == AGENT_GOT)
        take_result(s, agent, &m->got);
    else if (m->type == AGENT_SPREAD)
        agent_spread(s, agent, &m->spread, whole);
    else if (m->type == AGENT_LEAVE) {
        n->due = m->number;
        n->due_known = true;
    } else if (m->type == AGENT_BYE)
        hear_bye(s, agent, from);
    else if (m->type == AGENT_MERGED)
        assert_int_equal(
            agent_merge_child(n->merge, from, &m->merged, s->now, NULL), 0);
    look_at_due(s, n);
    leave_maybe(s, agent);
}

/* ---- the root, as impi_server_tree.c ---- */

static void spread(struct sim *s, const struct rendezvous_result *r)
{
    struct agent_plan plan;

    assert_int_equal(agent_tree_plan(s->tree, r->agents, r->nagents, &plan), 0);
    for (uint32_t i = 0; i < plan.n; i++) {
        struct bytebuf b;

        assert_true(s->up[plan.ways[i].agent] || s->aborted);
        bytebuf_init(&b, SF_AGENT_FRAME_MAX);
        if (plan.ways[i].set)
            agent_spread_begin(&b, plan.ways[i].set, AGENT_SET_SIZE(s->agents),
                               bytebuf_len(&r->frame));
        bytebuf_add(&b, bytebuf_data(&r->frame), bytebuf_len(&r->frame));
        send_bytes(s, ROOT, plan.ways[i].agent, &b);
        bytebuf_free(&b);
    }
    agent_plan_free(&plan);
}

static void tell_parent(struct sim *s, uint32_t agent)
{
    struct agent_msg m = {.type = AGENT_PARENT};
    uint32_t parent = agent_tree_parent(agent, s->fanout);

    m.at.agent = parent;
    if (s->up[agent] && parent != ROOT && agent_tree_passes_on(s->tree, parent))
        send_msg(s, ROOT, agent, &m);
}

static void kill_one(struct sim *s, uint32_t agent)
{
    struct agent_msg m = {.type = AGENT_KILL, .abort = {.text = "lost"}};

    if (s->up[agent])
        send_msg(s, ROOT, agent, &m);
}

/* Its connection is closed without BYE. */
static void lost(struct sim *s, uint32_t agent)
{
    assert_int_equal(agent, s->victim);
    agent_tree_gone(s->tree, agent);
    s->up[agent] = false;
    s->aborted = true;
    for (uint32_t i = 0; i < s->agents; i++)
        kill_one(s, i);
}

static int root_put(struct sim *s, uint32_t agent, const struct agent_put *put,
                    bool gather, struct errbuf *err)
{
    struct rendezvous_result result;
    int rc = rendezvous_put(s->rendezvous, agent, put, gather, &result, err);

    if (rc == 1) {
        spread(s, &result);
        rendezvous_result_free(&result);
    }
    return rc;
}

static int root_merged(struct sim *s, uint32_t agent,
                       const struct agent_merged *m, struct errbuf *err)
{
    struct agent_put put = {.expected = m->expected};
    struct agent_part part;
    struct be_reader r;
    int rc = agent_merged_check(m, agent, s->agents, s->fanout, err);

    s->merged++;
    strcpy(put.key, m->key);
    agent_parts_init(&r, m);
    while (rc >= 0 && agent_parts_next(&r, &part)) {
        put.index = part.index;
        put.blob = part.blob;
        rc = root_put(s, part.agent, &put, m->gather, err);
    }
    return rc;
}

static void to_root(struct sim *s, uint32_t agent, const struct agent_msg *m)
{
    struct agent_msg reply = {.type = AGENT_TREE, .number = s->fanout};
    struct errbuf err;
    uint32_t first, n;
    int rc = 0;

    if (m->type == AGENT_JOB) {
        s->up[agent] = true;
        if (s->aborted)
            kill_one(s, agent);
        send_msg(s, ROOT, agent, &reply);
        tell_parent(s, agent);
    } else if (m->type == AGENT_PUT) {
        s->straight++;
        rc = root_put(s, agent, &m->put, false, &err);
    } else if (m->type == AGENT_MERGED) {
        rc = root_merged(s, agent, &m->merged, &err);
    } else if (m->type == AGENT_LISTENS) {
        rc = agent_tree_listens(s->tree, agent, &err);
        n = agent_tree_children(agent, s->agents, s->fanout, &first);
        for (uint32_t i = first; i < first + n; i++)
            tell_parent(s, i);
    } else if (m->type == AGENT_ATTACHED) {
        rc = agent_tree_attached(s->tree, agent, &err);
    } else if (m->type == AGENT_LEAVING) {
        reply.type = AGENT_LEAVE;
        rc = agent_tree_leaves(s->tree, agent, &reply.number, &err);
        send_msg(s, ROOT, agent, &reply);
    } else {
        assert_int_equal(m->type, AGENT_BYE);
        agent_tree_gone(s->tree, agent);
        s->up[agent] = false;
    }
    if (rc < 0)
        print_error("agent %u: %s\n", agent, err.text);
    assert_true(rc >= 0);
}

/* ---- runs ---- */

static void deliver(struct sim *s, const struct flight *f)
{
    struct bytebuf whole;
    struct agent_msg m;
    struct errbuf err;

    if (f->len == 0 && f->to == f->from) {
        contribute(s, f->to);
        return;
    }
    if (f->len == 0) {
        lost(s, f->from);
        return;
    }
    assert_int_equal(agent_msg_decode(&m, f->bytes, f->len, &err), f->len);
    if (f->to == ROOT) {
        to_root(s, f->from, &m);
        return;
    }
    bytebuf_init(&whole, SF_AGENT_FRAME_MAX);
    bytebuf_add(&whole, f->bytes, f->len);
    to_agent(s, f->to, f->from, &m, &whole);
    bytebuf_free(&whole);
}

static void begin(struct sim *s, uint32_t agent)
{
    struct agent_msg m = {.type = AGENT_JOB, .job = {agent, s->agents, 0, "n"}};
    struct node *n = &s->nodes[agent];

    n->children = calloc(AGENT_SET_SIZE(s->agents), 1);
    assert_non_null(n->children);
    n->to_root = s->skew ? 1 : 1 + draw(s, draw(s, 20) ? 50 : 5000);
    n->to_parent = s->skew ? 1 : 1 + draw(s, draw(s, 20) ? 50 : 5000);
    n->sim = s;
    n->never = s->skew == 0 && draw(s, 10) == 0;
    n->keys = KEYS;
    send_msg(s, agent, ROOT, &m);
    think(s, agent);
}

static void die_maybe(struct sim *s)
{
    struct bytebuf nothing;
    struct node *n = &s->nodes[s->victim == ROOT ? 0 : s->victim];

    if (s->victim == ROOT || s->dead || n->gone || s->now < s->dies_at)
        return;
    s->dead = true;
    s->ended++;
    bytebuf_init(&nothing, 0);
    post(s, s->victim, ROOT, &n->last[0], n->to_root, &nothing);
}

/* What agents have held for long enough, before the next frame arrives. */
static void tick(struct sim *s)
{
    while (s->due != UINT64_MAX && (!s->flights || s->due <= s->flights->at)) {
        if (s->due > s->now)
            s->now = s->due;
        s->due = UINT64_MAX;
        for (uint32_t i = 0; i < s->agents; i++) {
            struct node *n = &s->nodes[i];

            if (!n->merge || n->gone || (s->dead && i == s->victim))
                continue;
            assert_int_equal(agent_merge_tick(n->merge, s->now), 0);
            look_at_due(s, n);
        }
    }
}

static void sim_run(struct sim *s)
{
    struct flight *f;

    s->due = UINT64_MAX;
    s->nodes = calloc(s->agents, sizeof(*s->nodes));
    s->up = calloc(s->agents, sizeof(bool));
    s->tree = agent_tree_create(s->agents, s->fanout);
    s->rendezvous = rendezvous_create();
    for (uint32_t i = 0; i < s->agents; i++)
        begin(s, i);
    while (s->flights) {
        tick(s);
        f = s->flights;
        s->flights = f->next;
        s->now = f->at;
        deliver(s, f);
        free(f);
        die_maybe(s);
        tick(s);
    }
    assert_int_equal(s->ended, s->agents);
    assert_true(s->dead || rendezvous_open(s->rendezvous) == 0);
    for (uint32_t i = 0; i < s->agents; i++) {
        free(s->nodes[i].children);
        agent_merge_destroy(s->nodes[i].merge);
    }
    free(s->nodes);
    free(s->up);
    agent_tree_destroy(s->tree);
    rendezvous_destroy(s->rendezvous);
}

/* Returns the frames that went by agents. */
static uint32_t run(uint64_t seed, bool with_victim)
{
    struct sim s = {.seed = seed * 0x9e3779b97f4a7c15ULL + 1};

    print_message("# seed %llu\n", (unsigned long long)seed);
    s.fanout = (uint32_t)(2 + draw(&s, 4));
    s.agents = s.fanout + 1 + (uint32_t)draw(&s, draw(&s, 4) ? 40 : 300);
    s.victim =
        with_victim ? (uint32_t)draw(&s, (s.agents - 1) / s.fanout) : ROOT;
    s.dies_at = draw(&s, 3000);
    sim_run(&s);
    return s.by_tree;
}

/* So many messages for each of its children to a key: the last one, and one
 * each time that what is held for the others has waited for long enough. */
static void a_large_step(uint32_t agents, uint64_t skew, uint32_t each)
{
    struct sim s = {.seed = 7,
                    .fanout = SF_AGENT_FANOUT,
                    .agents = agents,
                    .skew = skew,
                    .victim = ROOT};
    /* as many keys for all as for one of three parts of them */
    uint32_t keys = KEYS / 2 + 3 * (KEYS / 2);

    sim_run(&s);
    print_message("%u agents that come within %llu ms: impi-server takes %u "
                  "messages of %u, %u of them straight, in %llu ms\n",
                  agents, (unsigned long long)skew, s.merged + s.straight,
                  agents * KEYS, s.straight, (unsigned long long)s.now);
    assert_int_equal(s.straight, 0);
    assert_true(s.merged <= keys * SF_AGENT_FANOUT * each);
}

/* Links of 1 ms: a key takes as many as there are levels, up and down. */
static void a_key_takes_two_rounds_per_level(void **state)
{
    const uint32_t levels = 3;
    struct sim s = {.seed = 7,
                    .fanout = SF_AGENT_FANOUT,
                    .agents = 2048,
                    .skew = 1,
                    .victim = ROOT};

    sim_run(&s);
    /* after the last key, LEAVING of each level and its answers */
    assert_true(s.now <= TREE_UP + KEYS * 2 * levels + 6 * levels);
}

static void messages_grow_with_the_levels_only(void **state)
{
    a_large_step(2048, 1, 1);
    a_large_step(128, 1, 1);
}

static void messages_are_few_when_agents_come_one_by_one(void **state)
{
    a_large_step(2048, 1000, 7);
    a_large_step(2048, 10000, 10);
    a_large_step(128, 10000, 10);
}

static void a_lost_inner_agent_ends_everybody(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++)
        run(seed, true);
}

static void every_result_comes_once_to_everybody(void **state)
{
    const char *own = getenv("TREE_SEED");
    uint64_t seed = own ? strtoull(own, NULL, 0) : 1, by_tree = 0;

    for (uint64_t i = 0; i < (own ? 1 : 300); i++)
        by_tree += run(seed + i, false);
    assert_true(own || by_tree > 1000); /* there is a tree */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_result_comes_once_to_everybody),
        cmocka_unit_test(a_lost_inner_agent_ends_everybody),
        cmocka_unit_test(a_key_takes_two_rounds_per_level),
        cmocka_unit_test(messages_grow_with_the_levels_only),
        cmocka_unit_test(messages_are_few_when_agents_come_one_by_one),
    };

    return cmocka_run_group_tests_name("sim_agent_tree", tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * switch/elan in slurmctld: gives steps their program and takes it back.  All
 * decisions are elan/partition.h's; here are the lock, the files, the key's
 * random bytes and the seal.
 *
 * A stepmgr does the same for the steps of its job, out of what slurmctld
 * leased to the job (elan/lease.h).  It has no state to save, it asks slurmctld
 * for the nodes' Extra in place of the health table, and it seals as root of
 * its node; slurmctld's sealed lease goes with each step.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/host_names.h"
#include "base/limits.h"
#include "base/mac.h"
#include "base/seal.h"
#include "base/sitedir.h"
#include "elan/lease.h"
#include "elan/partition.h"
#include "plugins/switch_elan/gate.h"
#include "plugins/switch_elan/heal_watch.h"
#include "plugins/switch_elan/hold.h"
#include "plugins/switch_elan/hooks.h"
#include "plugins/switch_elan/site.h"
#include "plugins/switch_elan/state_file.h"
#include "plugins/switch_elan/waiters.h"
#include "slurmabi/job.h"
#include "slurmabi/node.h"
#include "slurmabi/step.h"

#define TOLD_MS 500 /* srun has this long to show why its step is refused */
#define TOLD_FORGET_MS 60000 /* not asked again by then: the launch is gone */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    struct elan_partition *pm;
    struct waiters *waiters;       /* launches that were told to wait */
    struct heal_watch *heal_watch; /* of these, for a node to heal */
    struct site site;
    struct gate gate;
    struct mgrconf mgr;
    struct told {
        uint32_t job_id;
        uint64_t why;           /* digest of the reason */
        int64_t at;             /* ms */
    } told[SF_SWITCH_TOLD_MAX]; /* refused launches whose users know why and
                                 * that ask once more; job_id 0: none */
    unsigned next_told;
    char *lease;         /* in a stepmgr: sealed by slurmctld */
    time_t extras_as_of; /* slurmctld's time of the answer */
    bool good;           /* site was read without errors: steps can be built */
    bool seen;           /* an attempt to read it was made */
} ctld;

static void report_mgr(const char *text, void *arg)
{
    slurm_error("SF-E111 switch/elan: %s", text);
}

/* What switchmgr.conf says about steps.  A wrong file leaves what was. */
static void configure_gate(void)
{
    struct sitedir sitedir;
    const char *path = sitedir_conf(&sitedir, MGRCONF_NAME);
    struct mgrconf mgr;

    if (mgrconf_read(&mgr, path, true, report_mgr, NULL) < 0) {
        slurm_error("SF-E111 switch/elan: %s is wrong, %s", path,
                    ctld.mgr.stale_after ? "the old one stays"
                                         : "defaults are used");
        if (ctld.mgr.stale_after ||
            mgrconf_parse(&mgr, "defaults", "", NULL, NULL) < 0)
            return;
    }
    mgrconf_free(&ctld.mgr);
    ctld.mgr = mgr;
}

/* Read the configuration; a wrong one is told and refuses steps (or, when an
 * earlier one was good, keeps that). */
static void configure(void)
{
    struct site site;
    struct errbuf err;

    ctld.seen = true;
    gate_forget_hosts(&ctld.gate);
    configure_gate();
    if (ctld.heal_watch)
        heal_watch_wake_all(ctld.heal_watch);
    if (site_read(&site, &err) < 0) {
        slurm_error("SF-E101 switch/elan: %s; %s", err.text,
                    ctld.good ? "the old configuration stays"
                              : "no step can start");
        return;
    }
    if (elan_partition_configure(ctld.pm, &site.options, &err) < 0) {
        slurm_error("SF-E101 switch/elan: %s", err.text);
        site_free(&site);
        return;
    }
    site_free(&ctld.site);
    ctld.site = site;
    ctld.good = true;
}

/* The pool, made at first use. */
static struct elan_partition *pool(void)
{
    struct elan_site defaults;
    struct errbuf err;
    uint32_t seed;

    if (ctld.pm)
        return ctld.pm;
    elan_site_defaults(&defaults);
    if (mac_random(&seed, sizeof(seed)) < 0)
        seed = (uint32_t)time(NULL);
    ctld.pm = elan_partition_create(&defaults, seed, &err);
    if (!ctld.pm)
        slurm_error("SF-E103 switch/elan: %s", err.text);
    else
        configure();
    return ctld.pm;
}

/* In a stepmgr: the pool that the job's lease is. */
static int leased_pool(const struct slurmabi_step *record, struct errbuf *err)
{
    struct slurmabi_job *job = slurmabi_step_job(record);
    const struct switch_jobinfo *lease =
        slurmabi_job_is_good(job) ? *slurmabi_job_switch(job) : NULL;

    if (ctld.pm && ctld.lease)
        return 0;
    if (!lease || lease->magic != SWITCH_ELAN_MAGIC || !lease->info.sealed)
        return errprintf(err, "SF-E117: slurmctld has leased no contexts to "
                              "the job, its log says why");
    if (!ctld.good && site_read(&ctld.site, err) < 0)
        return -1;
    if (!ctld.good)
        configure_gate();
    ctld.good = true;
    if (!ctld.lease)
        ctld.lease = strdup(lease->info.sealed);
    if (!ctld.lease)
        return errprintf(err, "out of memory");
    ctld.pm = elan_partition_create_leased(&lease->info, err);
    return ctld.pm ? 0 : -1;
}

static int open_pool(const struct slurmabi_step *record, struct errbuf *err)
{
    if (!slurmabi_in_slurmctld())
        return leased_pool(record, err);
    if (pool() && ctld.good)
        return 0;
    return errprintf(err, "the configuration is wrong, see SF-E101");
}

static void save_state(bool orderly)
{
    char text[ELAN_STATE_SIZE_MAX];
    struct errbuf err;

    elan_partition_state(ctld.pm, orderly, text);
    if (state_file_write(slurm_conf.state_save_location, text, &err) < 0)
        slurm_error("SF-E106 switch/elan: %s", err.text);
    else
        elan_partition_saved(ctld.pm);
}

static void save_if_wanted(void)
{
    if (slurmabi_in_slurmctld() && elan_partition_wants_save(ctld.pm))
        save_state(false);
}

void switch_elan_save(void)
{
    pthread_mutex_lock(&lock);
    if (ctld.pm)
        save_state(true);
    pthread_mutex_unlock(&lock);
}

/* Failing here would end slurmctld.  Without the file numbers begin anywhere,
 * which is safe. */
void switch_elan_restore(bool recover)
{
    struct errbuf err;
    char *text = NULL;

    pthread_mutex_lock(&lock);
    if (pool())
        elan_partition_forget(ctld.pm); /* a backup in charge once more */
    if (ctld.pm && recover) {
        if (state_file_read(slurm_conf.state_save_location, &text, &err) < 0 ||
            (text &&
             elan_partition_restore(ctld.pm, STATE_FILE_NAME, text, &err) < 0))
            slurm_error("SF-E105 switch/elan: %s; program numbers start anew",
                        err.text);
        free(text);
    }
    pthread_mutex_unlock(&lock);
}

void switch_elan_reconfigure(void)
{
    if (!slurmabi_in_slurmctld())
        return;
    pthread_mutex_lock(&lock);
    if (ctld.pm)
        configure();
    else
        pool();
    pthread_mutex_unlock(&lock);
}

/* What is being built, so that each part of it can fail in one line. */
struct build {
    struct elan_jobinfo *info;
    const slurm_step_layout_t *slurm_layout;
    const struct slurmabi_step *record;
    struct elan_step step;
    struct elan_userkey keys[SF_ELAN_RAILS_MAX];
    struct elan_layout layout;
    struct elan_payload payload;
    bool can_wait;       /* srun can be told to ask again */
    bool checked;        /* the record is what we take it for */
    bool fabric_is_down; /* or may be: the table refuses the step */
    struct elan_hold hold;
};

static int check_record(struct build *b, struct errbuf *err)
{
    if (slurmabi_step_check(b->record, b->info->job_id, b->info->step_id, err) <
        0)
        return -1;
    b->checked = true;
    return 0;
}

static int read_record(struct build *b, struct errbuf *err)
{
    b->info->het_comp = slurmabi_step_step_id(b->record).step_het_comp;
    b->step.uid = slurmabi_step_uid(b->record);
    b->step.run = slurmabi_step_job_restarts(b->record);
    b->step.now = (uint64_t)time(NULL);
    return elan_options_parse(&b->step.options,
                              slurmabi_step_network(b->record),
                              &ctld.site.options, err);
}

static int make_layout(struct build *b, struct errbuf *err)
{
    const slurm_step_layout_t *l = b->slurm_layout;
    struct elan_step_layout in = {
        .node_list = l->node_list,
        .nnodes = l->node_cnt,
        .tasks = l->tasks,
        .tids = l->tids,
        .cyclic = (l->task_dist & SLURM_DIST_STATE_BASE) == SLURM_DIST_CYCLIC ||
                  (l->task_dist & SLURM_DIST_NODEMASK) == SLURM_DIST_CYCLIC,
    };

    return elanhosts_layout(ctld.site.hosts, &b->layout, &in,
                            b->step.options.rails, err);
}

static void tell_of_health(enum gate_news what, const struct errbuf *news)
{
    switch (what) {
    case GATE_SAME:
        break;
    case GATE_GOOD:
        slurm_info("switch/elan: %s", news->text);
        break;
    case GATE_NEVER:
        slurm_info("SF-E113 switch/elan: %s", news->text);
        break;
    case GATE_GONE:
        slurm_error("SF-E113 switch/elan: %s", news->text);
        break;
    case GATE_UNFIT:
        slurm_error("SF-E112 switch/elan: %s", news->text);
        break;
    }
}

static const char *table_path(struct sitedir *sitedir)
{
    return ctld.mgr.health_table ? ctld.mgr.health_table
                                 : sitedir_run(sitedir, MGRCONF_TABLE);
}

/* Of all nodes that slurmctld knows, into a health table. */
struct extras {
    struct health_table table;
    size_t room;
    bool failed; /* out of memory */
};

static void add_extra(const char *name, const char *extra, void *arg)
{
    struct extras *e = arg;
    struct health_table_node node = {0}, *list;

    if (snprintf(node.name, sizeof(node.name), "%s", name) >=
            (int)sizeof(node.name) ||
        !hold_read_extra(&node, extra))
        return;
    e->table.nodes++;
    e->table.healthy += !node.refuse;
    if (!node.refuse)
        return;
    if (e->table.n == e->room) {
        list = realloc(e->table.list, (2 * e->room + 16) * sizeof(*list));
        if (!list) {
            e->failed = true;
            return;
        }
        e->table.list = list;
        e->room = 2 * e->room + 16;
    }
    e->table.list[e->table.n++] = node;
}

/* The table is a file of slurmctld's machine.  What a stepmgr has of it is
 * what switchmgrd has written into Slurm's books. */
static enum gate_news ask_slurmctld(struct errbuf *news)
{
    int64_t asked = clock_wall_ms();
    struct extras e = {.table = {.written = asked}};
    int rc = slurmabi_each_extra(&ctld.extras_as_of, add_extra, &e);
    int64_t now = clock_wall_ms();

    if (rc == 0 && !e.failed)
        return gate_take(&ctld.gate, &e.table, ctld.site.hosts, now, news);
    health_table_free(&e.table);
    if (rc == 1)
        return gate_hears_the_same(&ctld.gate, asked, now, news);
    ctld.extras_as_of = 0; /* all of them, next time */
    return gate_hears_nothing(&ctld.gate, asked, now, news);
}

/* Ask the switch manager's table. */
static int look_at_health(struct build *b, struct errbuf *err)
{
    struct sitedir sitedir;
    const char *path = table_path(&sitedir);
    int64_t now = clock_wall_ms();
    struct errbuf news = {""};
    int rc;

    if (!*path) /* HealthTable= : not asked */
        return 0;
    if (slurmabi_in_slurmctld())
        tell_of_health(gate_look(&ctld.gate, path, ctld.site.hosts, now, &news),
                       &news);
    else
        while (gate_may_ask(&ctld.gate, clock_wall_ms()))
            tell_of_health(ask_slurmctld(&news), &news);
    tell_of_health(gate_look_at_age(&ctld.gate, &ctld.mgr, now, &news), &news);
    rc = gate_check(&ctld.gate, &ctld.mgr, b->layout.ids, b->layout.nnodes,
                    b->step.options.rails, now, &b->step.no_broadcast, err);
    b->fabric_is_down = rc < 0;
    /* Only slurmctld wakes launches that wait for a node's fabric. */
    if (rc < 0 && errno == EBUSY && (!b->can_wait || !slurmabi_in_slurmctld()))
        rc = gate_hold(&ctld.gate, &ctld.mgr, b->layout.ids, b->layout.nnodes,
                       b->step.options.rails, now, &b->hold);
    return rc;
}

static int make_keys(struct build *b, struct errbuf *err)
{
    b->step.keys = b->keys;
    if (mac_random(b->keys, sizeof(b->keys)) == 0)
        return 0;
    return errprintf(err, "no random bytes: %s", strerror(errno));
}

/* "STEP LEASE" */
static int add_lease(char **sealed, struct errbuf *err)
{
    char *both;

    if (asprintf(&both, "%s %s", *sealed, ctld.lease) < 0)
        return errprintf(err, "out of memory");
    free(*sealed);
    *sealed = both;
    return 0;
}

static int seal(struct build *b, struct errbuf *err)
{
    char path[512];
    void *bytes;
    size_t len;
    int rc;

    if (elan_payload_encode(&b->payload, &bytes, &len, err) < 0)
        return -1;
    rc = seal_make(&b->info->sealed, bytes, len, 0,
                   (int)ctld.site.options.max_age,
                   switch_elan_munge_socket(path, sizeof(path)), err);
    explicit_bzero(bytes, len);
    free(bytes);
    return rc < 0 || !ctld.lease ? rc : add_lease(&b->info->sealed, err);
}

static void release_if_over(const struct elan_jobinfo *lease, void *arg)
{
    struct slurmabi_job *job = slurmabi_job_find(lease->job_id);
    struct switch_jobinfo *its;
    bool *released = arg;

    if (slurmabi_job_is_good(job)) {
        its = *slurmabi_job_switch(job);
        if (slurmabi_job_is_on_nodes(job) && its &&
            its->info.prognum == lease->prognum)
            return;
        if (its && its->info.prognum == lease->prognum) {
            switch_elan_info_destroy(its);
            *slurmabi_job_switch(job) = NULL;
        }
    }
    *released |= elan_partition_release(ctld.pm, lease);
}

/* Leases of jobs that have left their nodes, or that are not in Slurm's books
 * any more.  Slurm tells of a job's end before its processes have ended, and
 * of nothing after that. */
static bool release_leases(void)
{
    bool released = false;

    if (slurmabi_in_slurmctld())
        elan_partition_each_lease(ctld.pm, release_if_over, &released);
    return released;
}

static int take(struct build *b, struct errbuf *err)
{
    return elan_partition_build(ctld.pm, &b->step, &b->layout, b->info,
                                &b->payload, err);
}

static int allocate(struct build *b, struct errbuf *err)
{
    if (take(b, err) < 0 &&
        (errno != EBUSY || !release_leases() || take(b, err) < 0))
        return -1;
    b->payload.hold = b->hold;
    if (seal(b, err) == 0)
        return 0;
    elan_partition_release(ctld.pm, b->info);
    errno = EIO;
    return -1;
}

/* The table said that it is worth asking again.  By a thread of ours. */
static void tell_of_waking(const struct gate_wait *wait)
{
    if (wait->is_refused)
        return;
    if (*wait->node)
        slurm_info("switch/elan: a launch that waits for the fabric of node %s "
                   "is told to ask again",
                   wait->node);
    else
        slurm_info("switch/elan: a launch that waits for a health table is "
                   "told to ask again");
}

static bool make_waiters(void)
{
    if (!ctld.waiters)
        ctld.waiters = waiters_create();
    if (ctld.waiters && !ctld.heal_watch)
        ctld.heal_watch = heal_watch_create(ctld.waiters, tell_of_waking);
    return ctld.waiters && ctld.heal_watch;
}

static void enter_waiter(const struct build *b, const struct gate_wait *wait)
{
    const char *host = slurmabi_step_host(b->record), *at;
    uint16_t port = slurmabi_step_port(b->record);
    struct sitedir sitedir;
    char *addr = NULL;

    if (!make_waiters())
        return;
    if (host && slurm_conf_get_nodeaddr)
        addr = slurm_conf_get_nodeaddr(host);
    at = addr ? addr : host;
    if (wait)
        heal_watch_add(ctld.heal_watch, table_path(&sitedir), wait, at, port);
    else
        waiters_add(ctld.waiters, at, port);
    slurmabi_free(addr);
}

static void wake_waiters(void)
{
    unsigned n = ctld.waiters ? waiters_wake(ctld.waiters) : 0;

    if (n > 0)
        slurm_debug("switch/elan: %u waiting launches are told", n);
}

/* A full pool is an everyday thing.  That a step waits for a fault, srun does
 * not tell its user. */
static void tell_of_wait(const struct build *b, const char *why)
{
    if (b->fabric_is_down)
        slurm_info("switch/elan: step %u.%u waits: %s", b->info->job_id,
                   b->info->step_id, why);
    else
        slurm_debug("switch/elan: step %u.%u waits: %s", b->info->job_id,
                    b->info->step_id, why);
}

/* FNV-1a: only to see that a reason is the one that was told. */
static uint64_t digest(const char *text)
{
    uint64_t h = 0xcbf29ce484222325;

    for (; *text; text++)
        h = (h ^ (uint8_t)*text) * 0x100000001b3;
    return h;
}

/* It asked again, after its user was told why it is refused.  srun has another
 * port each time, so this goes by job and reason; of several with the same each
 * has its turn.  Forgotten then: a new launch is told anew. */
static bool was_told(const struct build *b, const char *why)
{
    uint64_t reason = digest(why);
    int64_t now = clock_wall_ms();

    for (unsigned i = 0; i < SF_SWITCH_TOLD_MAX; i++) {
        struct told *t = &ctld.told[i];

        if (t->job_id != b->info->job_id || t->why != reason ||
            now - t->at > TOLD_FORGET_MS)
            continue;
        *t = (struct told){0};
        return true;
    }
    return false;
}

/* slurmctld's answer has a code and no text, and srun ends when it has it.  So
 * the user is told why, and srun is told to ask once more in a moment, when it
 * has shown that text.  False: srun cannot be told so.  (Where no srun asks
 * again the text may come too late.) */
static bool tell_refusal(const struct build *b, const char *why)
{
    struct gate_wait wait = {.until = clock_wall_ms() + TOLD_MS,
                             .is_refused = true};
    char text[SF_SWITCH_TOLD_TEXT_MAX];

    if (!b->checked || !slurmabi_step_host(b->record) ||
        !slurmabi_step_port(b->record) || !make_waiters())
        return false;
    snprintf(text, sizeof(text), "SF-E103 switch/elan refuses the step: %s",
             why);
    if (slurmabi_step_tell_user(b->record, text) < 0)
        return false;
    if (b->can_wait)
        ctld.told[ctld.next_told++ % SF_SWITCH_TOLD_MAX] =
            (struct told){b->info->job_id, digest(why), clock_wall_ms()};
    if (b->can_wait)
        enter_waiter(b, &wait);
    return b->can_wait;
}

/* It is built, and some of its nodes let no task begin yet. */
static void tell_of_hold(const struct build *b, const char *why)
{
    char text[SF_SWITCH_TOLD_TEXT_MAX];

    slurm_info("switch/elan: step %u.%u is held on %u nodes for at most %u s: "
               "%s",
               b->info->job_id, b->info->step_id, b->hold.n, b->hold.seconds,
               why);
    snprintf(text, sizeof(text),
             "switch/elan: the step waits for at most %u s: %s",
             b->hold.seconds, why);
    if (slurmabi_step_host(b->record) && slurmabi_step_port(b->record))
        slurmabi_step_tell_user(b->record, text);
}

static enum switch_elan_built build(struct build *b)
{
    struct errbuf err = {""};
    int rc;

    if ((rc = check_record(b, &err)) == 0 &&
        (rc = open_pool(b->record, &err)) == 0 &&
        (rc = read_record(b, &err)) == 0 && (rc = make_layout(b, &err)) == 0 &&
        (rc = look_at_health(b, &err)) == 0 && (rc = make_keys(b, &err)) == 0 &&
        (rc = allocate(b, &err)) == 0)
        save_if_wanted();
    if (rc == 0 && b->hold.n)
        tell_of_hold(b, err.text);
    if (rc == 0)
        return SWITCH_ELAN_BUILT;
    if (errno == EBUSY && b->can_wait) {
        tell_of_wait(b, err.text);
        enter_waiter(b, b->fabric_is_down ? &ctld.gate.wait : NULL);
        return SWITCH_ELAN_WAIT;
    }
    if (was_told(b, err.text))
        return SWITCH_ELAN_REFUSED;
    slurm_error("SF-E103 switch/elan: step %u.%u refused: %s", b->info->job_id,
                b->info->step_id, err.text);
    return tell_refusal(b, err.text) ? SWITCH_ELAN_WAIT : SWITCH_ELAN_REFUSED;
}

enum switch_elan_built switch_elan_build(struct switch_jobinfo *j,
                                         const slurm_step_layout_t *layout,
                                         const struct slurmabi_step *record,
                                         bool can_wait)
{
    enum switch_elan_built rc;
    struct build *b;

    if (!j || j->magic != SWITCH_ELAN_MAGIC || !layout || !record)
        return SWITCH_ELAN_REFUSED;
    b = calloc(1, sizeof(*b));
    if (!b)
        return SWITCH_ELAN_REFUSED;
    b->info = &j->info;
    b->slurm_layout = layout;
    b->record = record;
    b->can_wait = can_wait;
    errno = 0;
    pthread_mutex_lock(&lock);
    rc = build(b);
    pthread_mutex_unlock(&lock);
    elan_layout_free(&b->layout);
    elan_payload_free(&b->payload);
    explicit_bzero(b->keys, sizeof(b->keys));
    free(b);
    return rc;
}

/* ---- leases: what the stepmgr of a job gives out --------------------------
 */

void switch_elan_job_over(void)
{
    int e = errno;

    if (!slurmabi_in_slurmctld())
        return;
    pthread_mutex_lock(&lock);
    if (ctld.pm && release_leases())
        wake_waiters();
    pthread_mutex_unlock(&lock);
    errno = e;
}

/* The ids of the job's nodes on all rails; a task on each. */
static int lay_out_nodes(struct elan_layout *nodes, const char *list,
                         struct errbuf *err)
{
    struct host_names names = {0};
    uint16_t *tasks = NULL;
    int rc = -1;

    if (host_names_expand(&names, list, SF_ELAN_NODES_MAX, err) == 0 &&
        !(tasks = calloc(names.n + 1, sizeof(*tasks))))
        errprintf(err, "out of memory");
    if (tasks) {
        struct elan_step_layout in = {
            .node_list = list,
            .nnodes = names.n,
            .tasks = tasks,
        };

        for (uint32_t i = 0; i < names.n; i++)
            tasks[i] = 1;
        rc = elanhosts_layout(ctld.site.hosts, nodes, &in,
                              ctld.site.options.rails, err);
    }
    free(tasks);
    host_names_free(&names);
    return rc;
}

static int seal_lease(struct elan_jobinfo *info, struct elan_lease *lease,
                      struct errbuf *err)
{
    char path[512];
    void *bytes;
    size_t len;
    int rc;

    lease->prognum = info->prognum;
    lease->low_context = info->low_context;
    lease->ncontexts = info->ncontexts;
    if (elan_lease_encode(lease, &bytes, &len, err) < 0)
        return -1;
    rc = seal_make(&info->sealed, bytes, len, 0, 0,
                   switch_elan_munge_socket(path, sizeof(path)), err);
    free(bytes);
    return rc;
}

/* Twice as many contexts as the job has CPUs on a node, for steps that
 * overlap; once, where that is not free. */
static int take_lease(struct elan_jobinfo *info, struct elan_lease *lease,
                      uint32_t cpus, struct errbuf *err)
{
    if (elan_partition_lease(ctld.pm, &lease->nodes, 2 * cpus, info, err) < 0 &&
        elan_partition_lease(ctld.pm, &lease->nodes, cpus, info, err) < 0)
        return -1;
    save_if_wanted();
    if (seal_lease(info, lease, err) == 0)
        return 0;
    elan_partition_release(ctld.pm, info);
    return -1;
}

static struct switch_jobinfo *lease_to(struct slurmabi_job *job,
                                       struct errbuf *err)
{
    struct elan_lease lease = {
        .job_id = slurmabi_job_id(job),
        .uid = slurmabi_job_uid(job),
        .run = slurmabi_job_restarts(job),
    };
    const char *nodes = slurmabi_job_nodes(job);
    uint32_t cpus = slurmabi_job_cpus(job);
    struct switch_jobinfo *j =
        switch_elan_info_create(lease.job_id, ELAN_LEASE_STEP);

    if (!j)
        errprintf(err, "out of memory");
    else if (!pool() || !ctld.good)
        errprintf(err, "the configuration is wrong, see SF-E101");
    else if (!nodes || cpus == 0)
        errprintf(err, "it has no nodes or no CPUs");
    else if (lay_out_nodes(&lease.nodes, nodes, err) == 0) {
        if (release_leases())
            wake_waiters();
        if (take_lease(&j->info, &lease, cpus, err) == 0) {
            elan_lease_free(&lease);
            return j;
        }
    }
    elan_lease_free(&lease);
    switch_elan_info_destroy(j);
    return NULL;
}

void switch_elan_job_start(struct slurmabi_job *job)
{
    struct switch_jobinfo *j;
    struct errbuf err = {""};
    void **at;

    if (!slurmabi_in_slurmctld() || !slurmabi_job_is_good(job))
        return;
    pthread_mutex_lock(&lock);
    at = slurmabi_job_switch(job);
    if (*at) { /* of its last run */
        j = *at;
        if (ctld.pm)
            elan_partition_release(ctld.pm, &j->info);
        switch_elan_info_destroy(j);
        *at = NULL;
    }
    if (slurmabi_job_has_stepmgr(job)) {
        *at = lease_to(job, &err);
        if (!*at)
            slurm_error("SF-E117 switch/elan: job %u has no lease, and the "
                        "stepmgr can give its steps nothing: %s",
                        slurmabi_job_id(job), err.text);
    }
    pthread_mutex_unlock(&lock);
}

/* Slurm deletes a step that could not be built, and so calls this, before it
 * looks at errno. */
void switch_elan_complete(const struct switch_jobinfo *j)
{
    int e = errno;

    if (j && j->magic == SWITCH_ELAN_MAGIC) {
        pthread_mutex_lock(&lock);
        if (ctld.pm && elan_partition_release(ctld.pm, &j->info)) {
            slurm_debug("switch/elan: %u programs live",
                        elan_partition_programs(ctld.pm));
            wake_waiters();
        }
        pthread_mutex_unlock(&lock);
    }
    errno = e;
}

void switch_elan_recover(const struct switch_jobinfo *j)
{
    struct errbuf err;

    if (!j || j->magic != SWITCH_ELAN_MAGIC)
        return;
    pthread_mutex_lock(&lock);
    if (pool() && elan_partition_recover(ctld.pm, &j->info, &err) < 0)
        slurm_error("SF-E107 switch/elan: step %u.%u: %s", j->info.job_id,
                    j->info.step_id, err.text);
    pthread_mutex_unlock(&lock);
}

void switch_elan_ctld_fini(void)
{
    pthread_mutex_lock(&lock);
    elan_partition_destroy(ctld.pm);
    ctld.pm = NULL;
    heal_watch_destroy(ctld.heal_watch); /* wakes by the waiters */
    ctld.heal_watch = NULL;
    waiters_destroy(ctld.waiters);
    ctld.waiters = NULL;
    gate_free(&ctld.gate);
    mgrconf_free(&ctld.mgr);
    memset(&ctld.mgr, 0, sizeof(ctld.mgr));
    site_free(&ctld.site);
    free(ctld.lease);
    ctld.lease = NULL;
    ctld.good = ctld.seen = false;
    pthread_mutex_unlock(&lock);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Is this payload meant for this step on this node?  A ladder of small
 * checks; each one names itself in its text.
 */
#include <errno.h>

#include "elan/payload.h"

typedef int check_f(const struct elan_payload *p, const struct elan_check *c,
                    struct errbuf *err);

static int check_encoder(const struct elan_payload *p,
                         const struct elan_check *c, struct errbuf *err)
{
    if (c->encoder_uid == 0 || c->encoder_uid == c->slurm_uid)
        return 0;
    return errprintf(err, "encoder uid: sealed by uid %u, not by SlurmUser %u",
                     (unsigned)c->encoder_uid, (unsigned)c->slurm_uid);
}

static int check_job(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->job_id == c->job_id)
        return 0;
    return errprintf(err, "job: made for job %u, this is job %u", p->job_id,
                     c->job_id);
}

static int check_step(const struct elan_payload *p, const struct elan_check *c,
                      struct errbuf *err)
{
    if (p->step_id == c->step_id)
        return 0;
    return errprintf(err, "step: made for step %u, this is step %u", p->step_id,
                     c->step_id);
}

static int check_component(const struct elan_payload *p,
                           const struct elan_check *c, struct errbuf *err)
{
    if (p->het_comp == c->het_comp)
        return 0;
    return errprintf(err, "component: made for component %d, this is %d",
                     (int)p->het_comp, (int)c->het_comp);
}

static int check_uid(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->uid == c->uid)
        return 0;
    return errprintf(err, "uid: made for uid %u, the job's is %u", p->uid,
                     c->uid);
}

/* A requeued job has its job and step ids again, and old job infos of its
 * owner's fit in all else as long as they are young. */
static int check_run(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->run == c->run)
        return 0;
    return errprintf(err, "run: made for run %u of the job, this is run %u",
                     p->run, c->run);
}

static int check_node(const struct elan_payload *p, const struct elan_check *c,
                      struct errbuf *err)
{
    if (elan_layout_find(&p->layout, c->node_id) < 0)
        return errprintf(err, "node set: Elan id %u is not in it", c->node_id);
    if (c->nodeid >= p->layout.nnodes ||
        elan_layout_id(&p->layout, 0, c->nodeid) != c->node_id)
        return errprintf(err, "node set: Elan id %u is not node %u of it",
                         c->node_id, c->nodeid);
    return 0;
}

static int check_age(const struct elan_payload *p, const struct elan_check *c,
                     struct errbuf *err)
{
    if (p->issued > c->now && p->issued - c->now > ELAN_PAYLOAD_CLOCK_SKEW)
        return errprintf(err, "age: made %llu s in the future",
                         (unsigned long long)(p->issued - c->now));
    if (c->now > p->issued && c->now - p->issued > c->max_age)
        return errprintf(err, "age: %llu s old, limit %llu s",
                         (unsigned long long)(c->now - p->issued),
                         (unsigned long long)c->max_age);
    if (c->expired)
        return errprintf(err, "age: the seal's time to live is over");
    return 0;
}

int elan_payload_check(const struct elan_payload *p,
                       const struct elan_check *check, struct errbuf *err)
{
    static check_f *const ladder[] = {
        check_encoder, check_job, check_step, check_component,
        check_uid,     check_run, check_node, check_age,
    };

    for (size_t i = 0; i < sizeof(ladder) / sizeof(ladder[0]); i++) {
        if (ladder[i](p, check, err) < 0) {
            errno = EPERM;
            return -1;
        }
    }
    return 0;
}

int elan_payload_open(struct elan_payload *p, const void *buf, size_t len,
                      const struct elan_check *check, struct errbuf *err)
{
    if (elan_payload_decode(p, buf, len, err) < 0)
        return -1;
    if (elan_payload_check(p, check, err) == 0)
        return 0;
    elan_payload_free(p);
    return -1;
}

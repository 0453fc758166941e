/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What reporters count.  Thousands of them count the same things: the names
 * are kept once, a reporter has its values.
 */
#include <stdlib.h>
#include <string.h>

#include "health/model_priv.h"

struct model_names {
    struct model_names *next;
    size_t reporters; /* that use it */
    size_t n;
    struct health_counter at[];
};

static bool fits(const struct health_counter *at, size_t n,
                 const struct report *rep)
{
    if (n != rep->ncounters)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (at[i].rail != rep->counters[i].rail ||
            strcmp(at[i].name, rep->counters[i].name) != 0)
            return false;
    }
    return true;
}

static struct model_names *find(struct model *m, const struct report *rep)
{
    struct model_names *s = m->names;

    while (s && !fits(s->at, s->n, rep))
        s = s->next;
    return s;
}

static struct model_names *make(struct model *m, const struct report *rep)
{
    struct model_names *s =
        calloc(1, sizeof(*s) + rep->ncounters * sizeof(s->at[0]));

    if (!s)
        return NULL;
    s->n = rep->ncounters;
    for (size_t i = 0; i < s->n; i++) {
        s->at[i].rail = rep->counters[i].rail;
        strcpy(s->at[i].name, rep->counters[i].name);
    }
    s->next = m->names;
    m->names = s;
    return s;
}

void model_counters_drop(struct model *m, struct model_reporter *r)
{
    struct model_names *s = r->names, **at = &m->names;

    free(r->pub.values);
    r->pub.values = NULL;
    r->pub.counters = NULL;
    r->pub.ncounters = 0;
    r->names = NULL;
    if (!s || --s->reporters > 0)
        return;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free(s);
}

/* False: no memory, nothing has changed. */
static bool use(struct model *m, struct model_reporter *r,
                const struct report *rep)
{
    uint64_t *values = calloc(rep->ncounters, sizeof(*values));
    struct model_names *s = values ? find(m, rep) : NULL;

    if (values && !s)
        s = make(m, rep);
    if (!s) {
        free(values);
        return false;
    }
    s->reporters++;
    model_counters_drop(m, r);
    r->names = s;
    r->pub.values = values;
    r->pub.counters = s->at;
    r->pub.ncounters = s->n;
    return true;
}

void model_counters_take(struct model *m, struct model_reporter *r,
                         const struct report *rep)
{
    if (rep->ncounters == 0 || rep->from != REPORT_HSND) /* a NIC's only */
        return;
    if (!fits(r->pub.counters, r->pub.ncounters, rep) && !use(m, r, rep))
        return;
    for (size_t i = 0; i < rep->ncounters; i++)
        r->pub.values[i] = rep->counters[i].value;
}

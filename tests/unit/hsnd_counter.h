/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a real hsnd has counted, asked for at its control socket.
 */
#ifndef HSND_COUNTER_H
#define HSND_COUNTER_H

#include "hsnd_util.h"

#include "base/ctl.h"

static inline uint64_t counter(struct hsnd_process *d, const char *name)
{
    struct json_object *reply, *counters, *value;
    struct errbuf err;
    uint64_t n;

    assert_int_equal(ctl_ask(d->control, "counters", &reply, 60000, &err), 0);
    assert_true(json_object_object_get_ex(reply, "counters", &counters));
    assert_true(json_object_object_get_ex(counters, name, &value));
    n = json_object_get_uint64(value);
    json_object_put(reply);
    return n;
}

/* Waits until hsnd has counted so many. */
static inline void counted(struct hsnd_process *d, const char *name, uint64_t n)
{
    while (counter(d, name) < n)
        ;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 * What the tests of src/net share: nets by name that must exist.
 */
#ifndef TESTS_UNIT_NET_CHECK_H
#define TESTS_UNIT_NET_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/build.h"
#include "net/graph.h"
#include "net/rng.h"

static inline struct net *named(const char *name)
{
    struct errbuf err;
    struct net *net = net_build_named(name, &err);

    if (!net)
        fail_msg("%s: %s", name, err.text);
    return net;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd --check NET: what would a mapper make of this fabric?  Explores it
 * in virtual time from one of its hosts, compares the map with the net,
 * computes routes, looks for deadlocks and how evenly the routes lie.
 */
#ifndef SF_MAPPERD_CHECK_H
#define SF_MAPPERD_CHECK_H

#include <stdio.h>

#include "mapper/prober.h"

struct mapperd_check {
    const char *net;    /* a file, or a name that net/build.h knows */
    const char *host;   /* name of the host that maps; NULL: the first */
    const char *engine; /* of routes: NULL, or as net_engine_parse() has it */
    unsigned hop_limit; /* 0: as GM-2 */
    double loss;        /* share of packets lost on each cable */
    uint64_t seed;      /* of what is lost */
    struct prober_limits limits;
};

/* Prints to out, errors to err.  The exit status: 0 all is well; 1 the map is
 * not exact, routes can deadlock or hosts are cut off; 2 cannot be checked. */
int mapperd_check(const struct mapperd_check *check, FILE *out, FILE *err);

/* With the options of the command line. */
int mapperd_check_main(int argc, char **argv);

#endif

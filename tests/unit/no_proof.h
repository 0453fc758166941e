/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes of engine gm2 whose ups and downs could deadlock: the program's linker
 * flag (NO_PROOF_WRAP) sends net_turns_deadlock() here.  For one file of a
 * program.
 */
#ifndef SF_TESTS_NO_PROOF_H
#define SF_TESTS_NO_PROOF_H

#include "net/deadlock.h"

static bool no_proof;

int __real_net_turns_deadlock(const struct net_routes *r, struct errbuf *err);
int __wrap_net_turns_deadlock(const struct net_routes *r, struct errbuf *err);

int __wrap_net_turns_deadlock(const struct net_routes *r, struct errbuf *err)
{
    if (!no_proof || net_routes_engine(r) != NET_GM2)
        return __real_net_turns_deadlock(r, err);
    errprintf(err, "a cycle of 3 cables: x0:1 x1:1 x2:1");
    return 1;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ups and downs that could deadlock: the program's linker flag (NO_PROOF_WRAP)
 * sends net_turns_deadlock() here.  For one file of a program.
 */
#ifndef SF_TESTS_NO_PROOF_H
#define SF_TESTS_NO_PROOF_H

#include "net/deadlock.h"

static bool no_proof;

int __real_net_turns_deadlock(const struct net_routes *r, struct errbuf *err);
int __wrap_net_turns_deadlock(const struct net_routes *r, struct errbuf *err);

int __wrap_net_turns_deadlock(const struct net_routes *r, struct errbuf *err)
{
    if (!no_proof)
        return __real_net_turns_deadlock(r, err);
    errprintf(err, "a cycle of 3 cables: x0:1 x1:1 x2:1");
    return 1;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a program's holder holds, and its answers.
 */
#ifndef SF_ELAN_PROGRAM_SERVE_H
#define SF_ELAN_PROGRAM_SERVE_H

#include <stdbool.h>

#include "elan/program.h"
#include "elan/program_account.h"
#include "elan/program_cgroup.h"
#include "elan/program_member.h"
#include "elan/program_wire.h"

struct program_held {
    struct program program;
    struct program_cgroup group;
    struct program_account account;
    struct program_agent agent;
    bool suspended;
    bool done; /* PROGRAM_DESTROY was answered */
};

/* Answer one request, for a peer that was found out.  Never fails: errors go
 * into the answer. */
void program_serve(struct program_held *held, const struct program_peer *peer,
                   const void *request, size_t len, struct be_writer *reply,
                   void *buf, size_t size);

/* Kill what lives, and remember the last figures.  An errno or 0. */
int program_held_empty(struct program_held *held);

/* The skip callback and its argument for this program. */
#define PROGRAM_SKIP(held) program_agent_is, &(held)->agent

#endif

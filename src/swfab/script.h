/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults as text, one per line (doc/swfab.md):
 *
 *     [at TIME] down NODE:PORT | up NODE:PORT      cable dead, alive
 *               pull NODE:PORT | plug NODE:PORT NODE:PORT
 *               kill XBAR | revive XBAR
 *               mute HOST | unmute HOST
 *               loss NODE:PORT|all P | corrupt NODE:PORT|all P
 *               flap NODE:PORT every TIME for TIME
 *               seed NUMBER
 *
 * TIME is a number with ns, us, ms or s; ports count from 0; # begins a
 * comment.
 */
#ifndef SF_SWFAB_SCRIPT_H
#define SF_SWFAB_SCRIPT_H

#include "base/errbuf.h"
#include "swfab/swfab.h"
#include "swfab/timed.h"

enum swfab_fault_op {
    SWFAB_OP_DOWN,
    SWFAB_OP_UP,
    SWFAB_OP_PULL,
    SWFAB_OP_PLUG,
    SWFAB_OP_KILL,
    SWFAB_OP_REVIVE,
    SWFAB_OP_MUTE,
    SWFAB_OP_UNMUTE,
    SWFAB_OP_LOSS,
    SWFAB_OP_CORRUPT,
    SWFAB_OP_SEED,
};

struct swfab_fault {
    uint64_t time; /* ns from the beginning */
    enum swfab_fault_op op;
    uint32_t node, node2; /* NET_NONE with loss and corrupt: all */
    unsigned port, port2;
    double p;      /* loss, corrupt */
    uint64_t seed; /* seed */
};

struct swfab_script {
    struct swfab_fault *faults; /* in the order of time */
    size_t n, size;
};

/* Parse a text; `name` stands for it in messages.  Names are looked up in
 * net.  0, or -1 with errno EINVAL (text: "NAME:LINE: ..."), EMSGSIZE (more
 * than SF_SWFAB_FAULTS_MAX), ENOMEM.  swfab_script_free() in any case. */
int swfab_script_parse(struct swfab_script *script, const char *name,
                       const char *text, const struct net *net,
                       struct errbuf *err);

/* What goes wrong by itself in a while, drawn from a seed. */
struct swfab_chaos {
    uint64_t until;  /* ns; each fault is mended by then */
    unsigned links;  /* cables that go down and come back */
    unsigned xbars;  /* crossbars that die and live again */
    unsigned hosts;  /* hosts that fall silent and speak again */
    uint64_t mended; /* ns, longest time until that */
};

/* Append such faults to a script.  0, or -1 with errno as above. */
int swfab_script_random(struct swfab_script *script, const struct net *net,
                        uint64_t seed, const struct swfab_chaos *chaos);

void swfab_script_free(struct swfab_script *script);

/* Do it.  False: there is no such cable, or a port is taken. */
bool swfab_fault_apply(struct swfab *fab, const struct swfab_fault *fault);

/* Put a script into the queue: each fault becomes a SWFAB_FAULT event whose
 * cookie is its index; the caller applies it then.  0, or -1 ENOMEM. */
int swfab_script_schedule(const struct swfab_script *script,
                          struct swfab_timed *timed);

#endif

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

void swfab_script_free(struct swfab_script *script);

/* Do it.  False: there is no such cable, or a port is taken. */
bool swfab_fault_apply(struct swfab *fab, const struct swfab_fault *fault);

#endif

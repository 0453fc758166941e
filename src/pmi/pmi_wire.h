/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the PMI server (pmi.c) and its two wires (pmi1.c, pmi2.c) share; nobody
 * else includes this.
 */
#ifndef SF_PMI_PMI_WIRE_H
#define SF_PMI_PMI_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "base/limits.h"
#include "pmi/pmi.h"
#include "pmi/pmi_kvs.h"

/* How the processes of one protocol are spoken with. */
struct pmi_wire {
    /* The next bytes of a process, len > 0, up to the end of a message at most.
     * Returns how many were taken, or -1 with errno and text: drop it. */
    ssize_t (*input)(struct pmi *p, uint32_t local, const char *data,
                     size_t len, struct errbuf *err);
    /* The barrier that it waits in is over; false: because nobody waits any
     * more. */
    void (*let_out)(struct pmi *p, uint32_t local, bool complete);
};

extern const struct pmi_wire pmi1_wire, pmi2_wire;

/* PMI-1 */
struct pmi1_proc {
    bool in_spawn; /* between mcmd= and endcmd */
    size_t len;    /* bytes of an unfinished line */
    char text[SF_PMI1_LINE_MAX];
};

/* PMI-2 */
struct pmi2_wait;
struct pmi2_proc {
    char head[6]; /* the length of a message */
    size_t nhead;
    char *message; /* NULL: the length is not complete */
    size_t size, len;
    bool in_ring; /* if in a barrier */
    char barrier_thread[SF_PMI2_THREAD_MAX + 1];
    struct pmi2_wait *waits; /* for an attribute of the node */
    uint32_t nwaits;
};

struct pmi_proc {
    const struct pmi_wire *wire; /* PMI-1, until it says otherwise */
    bool initialized;
    bool finalized;
    bool in_barrier;
    bool aborted; /* whatever else it says is not listened to */
    struct pmi1_proc one;
    struct pmi2_proc two;
};

struct pmi {
    const struct pmi_ops *ops;
    void *arg;
    struct pmi_config config; /* what it points to is allocated */
    struct pmi_kvs kvs;
    struct pmi_kvs attributes; /* of this node alone */
    uint32_t in_barrier;       /* local processes that wait */
    bool exchanging;           /* the host has the barrier */
    bool leaving;              /* nobody waits any more */
    struct pmi_proc proc[];    /* nlocal */
};

/* Fill err, set errno to code, return -1. */
int pmi_refuse(struct errbuf *err, int code, uint32_t local, const char *text);

/* A process comes to the barrier, and is let out of it by its wire, now or
 * later.  Returns 0, or -1 with errno EPROTO: it is there already. */
int pmi_enter(struct pmi *p, uint32_t local, struct errbuf *err);

void pmi_abort(struct pmi *p, uint32_t local, int code);

/* The process speaks PMI-2; its init line is answered. */
void pmi2_begin(struct pmi *p, uint32_t local);
void pmi2_end(struct pmi_proc *proc);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the PMI-1 engine: pmi1.c (processes, lines, barriers) and
 * pmi1_cmd.c (what each command does).
 */
#ifndef SF_PMI_PMI1_PRIV_H
#define SF_PMI_PMI1_PRIV_H

#include "base/limits.h"
#include "pmi/pmi1.h"
#include "pmi/pmi1_kvs.h"
#include "pmi/pmi1_line.h"

struct pmi1_proc {
    bool initialized;
    bool finalized;
    bool in_barrier;
    bool in_spawn; /* between mcmd= and endcmd */
    size_t len;    /* bytes of an unfinished line */
    char text[SF_PMI1_LINE_MAX];
};

struct pmi1 {
    const struct pmi1_ops *ops;
    void *arg;
    struct pmi1_config config; /* strings allocated */
    struct pmi1_kvs kvs;
    uint32_t in_barrier;     /* local processes that wait */
    bool exchanging;         /* the host has the barrier */
    struct pmi1_proc proc[]; /* nlocal */
};

/* 0, or -1 with errno and text: drop the process. */
typedef int pmi1_command_f(struct pmi1 *p, uint32_t local,
                           const struct pmi1_line *line, struct errbuf *err);

struct pmi1_command {
    const char *name;
    pmi1_command_f *run;
    bool before_init;
};

/* NULL: no such command. */
const struct pmi1_command *pmi1_find_command(const char *name);

void pmi1_reply(struct pmi1 *p, uint32_t local, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fill err, set errno to code, return -1. */
int pmi1_refuse(struct errbuf *err, int code, uint32_t local, const char *text);

#endif

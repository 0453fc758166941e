/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is known of the cables of an InfiniBand fabric, and how they are: what
 * was once found and is not found any more is missed.  From what both ends of
 * a cable say, sweep by sweep, come the records of a report.  Pure.
 *
 * Who does not answer a sweep is as it was: only after IB_WATCH_SILENT of them
 * is that something.
 */
#ifndef SF_MAPPERD_IB_WATCH_H
#define SF_MAPPERD_IB_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "health/report.h"
#include "mapperd/pma.h"
#include "mapperd/smp.h"

#define IB_WATCH_SILENT 3 /* sweeps */

/* An end of a cable.  A host's is a port of an adapter, by its port GUID, and
 * it is called by the node's name; a switch's by the switch's GUID. */
struct ib_end {
    uint64_t guid;
    uint8_t port; /* as it is written on it: from 1 */
    bool host;
    uint8_t rail; /* host */
    char name[SF_REPORT_NAME_MAX];
};

struct ib_watch;
struct ib_watch *ib_watch_new(void);
void ib_watch_free(struct ib_watch *watch);

/* A cable is found.  One that was known to lead elsewhere from an end of it is
 * forgotten.  False: no memory, or too many. */
bool ib_watch_cable(struct ib_watch *watch, const struct ib_end *a,
                    const struct ib_end *b);

/* A sweep: what each port says that answers. */
void ib_watch_begin(struct ib_watch *watch);
void ib_watch_port(struct ib_watch *watch, uint64_t guid, uint8_t port,
                   const struct smp_port_info *info);
/* What it has counted; time in ms of a steady clock. */
void ib_watch_counters(struct ib_watch *watch, uint64_t guid, uint8_t port,
                       const struct pma_counters *counters, int64_t now);
void ib_watch_end(struct ib_watch *watch);
/* By which ports a switch sends what goes to the LIDs of a block. */
void ib_watch_routes(struct ib_watch *watch, uint64_t guid, unsigned block,
                     const uint8_t ports[SMP_BLOCK]);
/* A cable between switches is not well: over it went routes to so many nodes,
 * of which some are named.  Called from ib_watch_end(), once for each time; or,
 * when no routes were known then, later. */
typedef void ib_watch_hurt_f(const char *link, const char *names, unsigned n,
                             void *arg);
void ib_watch_on_hurt(struct ib_watch *watch, ib_watch_hurt_f *hurt, void *arg);

/* What follows from what. */
enum ib_fault {
    IB_SLOW,            /* fewer or slower lanes than both ends may use */
    IB_BELOW_SUPPORTED, /* ... than both ends are able to use */
};
#define IB_FAULTS 2

struct ib_rules {
    struct tally_rules counters;
    enum tally_action fault[IB_FAULTS];
};
void ib_rules_default(struct ib_rules *rules);
/* Lines "FAULT ACTION" (slow, below_supported) and rules of counters; they
 * override what is in *rules.  -1 with text that names path and line. */
int ib_rules_parse(struct ib_rules *rules, const char *path, const char *text,
                   size_t len, struct errbuf *err);
/* What is judged by, from now on. */
void ib_watch_rules(struct ib_watch *watch, const struct ib_rules *rules);

/* The rail that a host's port is known by; -1: not known. */
int ib_watch_rail(const struct ib_watch *watch, uint64_t guid, uint8_t port);
/* The first rail of a node, `first` or behind it, that no port ever had; -1:
 * all are taken. */
int ib_watch_free_rail(const struct ib_watch *watch, const char *node,
                       int first);

/* Records of all hosts, switches and cables between switches; *n of them,
 * free() them.  A cable that is not well says to how many nodes routes went
 * over it when it last was.  NULL: no memory.  *version rises when they differ
 * from those of the last call. */
struct report_record *ib_watch_records(struct ib_watch *watch, size_t *n,
                                       uint64_t *version);

#endif

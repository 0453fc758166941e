/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The gate before a step: may it be built on these nodes, by the health table
 * that switchmgrd writes (or, in a stepmgr, by what Slurm has of it)?  When
 * nothing changed a look costs one stat(2), and a node of the step one bit.
 * Knows no Slurm.  The caller holds a lock.
 */
#ifndef SF_SWITCH_ELAN_GATE_H
#define SF_SWITCH_ELAN_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "elan/elanhosts.h"
#include "elan/payload.h"
#include "health/mgrconf.h"
#include "health/table.h"

#define GATE_WORDS (SF_ELAN_NODE_ID_MAX / 64 + 1)

/* What a step waits for that was told to. */
struct gate_wait {
    char node[SF_REPORT_NAME_MAX]; /* to heal; empty: for a table not stale */
    uint32_t rails;                /* the step's, as bits */
    int64_t until;                 /* BusyGrace is over: refused for good */
    int64_t stale_after;           /* of the policy then; ms */
    bool stale_is_allowed;
    uint32_t refuse_percent;
    bool is_refused; /* it waits for `until` only, when it hears so again */
};

struct gate {
    struct health_table_reader reader;
    uint64_t listed[GATE_WORDS]; /* Elan ids (rail 0) of the table's nodes that
                                    steps are refused on */
    uint32_t entry[SF_ELAN_NODE_ID_MAX + 1]; /* where a listed id is in it */
    uint32_t refused; /* nodes of the table, with or without an id */
    bool any;         /* one of the bits is set */
    const struct elanhosts *hosts; /* that the bits were made by; borrowed */
    int64_t absent_since;          /* there has been no good table; 0: is */
    enum health_table_news last;   /* for the log: what was told last */
    bool stale_told;               /* the same of the table's age */
    struct gate_wait wait;         /* of the last step that was told to wait */
    int64_t ask_at;                /* in place of the file: not before; ms */
    uint32_t unanswered;           /* questions since the last answer */
};

/* What is new for the log; all but GATE_SAME come with a text. */
enum gate_news {
    GATE_SAME,
    GATE_GOOD,  /* again */
    GATE_NEVER, /* no table has been there: a site may do without switchmgrd */
    GATE_GONE,  /* the table is there no more */
    GATE_UNFIT  /* it cannot be used, or is too old */
};

/* Look at the file. */
enum gate_news gate_look(struct gate *gate, const char *path,
                         const struct elanhosts *hosts, int64_t now,
                         struct errbuf *news);
/* The same of the table's age: when it is too old to be relied on, and when it
 * is so no more.  That there never was one is told only when steps are refused
 * for it. */
enum gate_news gate_look_at_age(struct gate *gate, const struct mgrconf *conf,
                                int64_t now, struct errbuf *news);
/* The hosts are about to change or go. */
void gate_forget_hosts(struct gate *gate);
void gate_free(struct gate *gate);

/* In place of the file, where somebody is asked for what it has: is it time to
 * ask?  Every two seconds; while there is no answer at longer and longer
 * intervals, up to a minute, for a question that is not answered takes a
 * while.  The first one, before which nothing is known, is put again at once
 * when it did not take long. */
bool gate_may_ask(const struct gate *gate, int64_t now);
/* What became of a question that was put at `asked` and ended at `now`: the
 * answer is *table, which is cleared; nothing has changed since the last; or
 * there is none, and what was known stays.  The news are for the log. */
enum gate_news gate_take(struct gate *gate, struct health_table *table,
                         const struct elanhosts *hosts, int64_t now,
                         struct errbuf *news);
enum gate_news gate_hears_the_same(struct gate *gate, int64_t asked,
                                   int64_t now, struct errbuf *news);
enum gate_news gate_hears_nothing(struct gate *gate, int64_t asked, int64_t now,
                                  struct errbuf *news);

/* May a step be built on the nodes with ids[0..n) (rail 0) that uses `rails`
 * rails?  0; or -1 with text and errno: EBUSY the fault is younger than
 * BusyGrace, the step should wait (gate->wait says what for); EHOSTDOWN it may
 * not.  *no_broadcast is set when it may be built, but not as a target of
 * broadcasts. */
int gate_check(struct gate *gate, const struct mgrconf *conf,
               const uint32_t *ids, uint32_t n, uint32_t rails, int64_t now,
               bool *no_broadcast, struct errbuf *err);

/* After EBUSY, where Slurm cannot make a step wait: which of these nodes to
 * hold instead, as indexes of ids, and for how long.  0; or -1 with errno
 * EHOSTDOWN: not to be held, for a fault is too old, of another kind than
 * "down", or of too many nodes, or there is no table to rely on. */
int gate_hold(const struct gate *gate, const struct mgrconf *conf,
              const uint32_t *ids, uint32_t n, uint32_t rails, int64_t now,
              struct elan_hold *hold);

/* Nodes that the table refuses steps on. */
uint32_t gate_refused(const struct health_table *table);

/* Is it worth asking again?  The node is fine for these rails, the table is
 * not believed any more, or BusyGrace is over and the step will be refused for
 * good.  `refused` is gate_refused() of the reader's table. */
bool gate_wait_is_over(const struct gate_wait *wait,
                       const struct health_table_reader *reader,
                       uint32_t refused, int64_t now);

#endif

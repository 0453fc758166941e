/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does a counter of a port rise too fast?  Counters of a NIC or a switch only
 * rise, until a driver is reloaded, somebody clears them, or they are full;
 * then the difference between two values is ignored.  A full counter no longer
 * says anything, and is reported as blind.
 *
 * Rules name counters, limits and consequences:
 *
 *     symbol_error > 10/s degrade
 *
 * The rate is high as soon as a window has more than the limit allows for the
 * whole window, and ceases to be high after several windows in a row with at
 * most half of that.  A window is the unit of the limit, but at least ten
 * seconds: one burst is no rate.  Pure; times are milliseconds that never run
 * backwards.
 */
#ifndef SF_HEALTH_TALLY_H
#define SF_HEALTH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "health/report.h"

enum tally_action { TALLY_IGNORE, TALLY_SHOW, TALLY_DEGRADE, TALLY_DRAIN };

/* Named as in sysfs below ports/N/counters; the later ones are below
 * ports/N/hw_counters and among the statistics of a network interface. */
enum tally_counter {
    TALLY_SYMBOL_ERROR,
    TALLY_LINK_ERROR_RECOVERY,
    TALLY_LINK_DOWNED,
    TALLY_PORT_RCV_ERRORS,
    TALLY_PORT_XMIT_DISCARDS,
    TALLY_LOCAL_LINK_INTEGRITY_ERRORS,
    TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS,
    TALLY_PORT_COUNTERS, /* the ones above: every InfiniBand port has them */
    TALLY_RNR_NAK_RETRY_ERR = TALLY_PORT_COUNTERS,
    TALLY_LOCAL_ACK_TIMEOUT_ERR,
    TALLY_ROCE_SLOW_RESTART,
    TALLY_RX_CRC_ERRORS,
    TALLY_COUNTERS
};
const char *tally_counter_name(enum tally_counter counter);

struct tally_rule {
    uint32_t limit, per; /* so many in so many seconds: 1, 60, 3600 */
    enum tally_action action;
};

struct tally_rules {
    struct tally_rule of[TALLY_COUNTERS];
};
void tally_rules_default(struct tally_rules *rules);

/* What becomes of an item that is up when a rule with this action is broken. */
enum report_seen tally_seen(enum tally_action action);

/* Faults that are no counters, by name, with what follows by default. */
struct tally_fault {
    const char *name;
    enum tally_action action;
};
/* Read a line "FAULT ACTION" into chosen[], one for each of the n faults.
 * False: it is about none of them; else *wrong is NULL, or what is wrong. */
bool tally_fault_read(const struct tally_fault *faults, size_t n,
                      enum tally_action *chosen, const char *line,
                      const char **wrong);

/* Read a line without its comment into *rules.  NULL, or what is wrong with it.
 */
typedef const char *tally_line_f(void *rules, const char *line);
/* Parse a file of such lines; # begins a comment.  -1 with a text that names
 * path and line. */
int tally_lines_parse(void *rules, tally_line_f *read, const char *path,
                      const char *text, size_t len, struct errbuf *err);

/* A tally_line_f for struct tally_rules. */
const char *tally_rule_read(void *rules, const char *line);

struct tally {
    bool seen, high, blind;
    uint64_t last;
    int64_t last_at; /* when that was read */
    int64_t began;   /* start of the window */
    uint64_t in;     /* counted in it */
    unsigned clean;  /* clean windows in a row */
    uint64_t rate;   /* if high: as reported, per the rule's unit */
};

/* Take the counter's present value.  full: it is the highest possible; anew: it
 * belongs to another port, or has started again. */
void tally_take(struct tally *tally, const struct tally_rule *rule,
                uint64_t value, bool full, bool anew, int64_t now);

/* "symbol errors 31/s > 10/s", or "symbol errors: counter is full". */
void tally_text(enum tally_counter counter, const struct tally *tally,
                const struct tally_rule *rule, char *text, size_t size);

#endif

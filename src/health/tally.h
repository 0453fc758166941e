/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Does a counter of a port rise too fast?  What a NIC or a switch counts only
 * rises, until a driver is loaded anew, somebody clears it, or it is full:
 * then what lies between two values does not count.  A counter that is full
 * says nothing any more, and is told to be blind.
 *
 * Rules name counters, limits and what follows:
 *
 *     symbol_error > 10/s degrade
 *
 * The rate is high as soon as a window has more than the limit allows for all
 * of it, and is so no more after several windows in a row with half of that at
 * most.  A window is the unit of the limit, ten seconds at least: one burst is
 * no rate.  Pure; times are milliseconds that never run backwards.
 */
#ifndef SF_HEALTH_TALLY_H
#define SF_HEALTH_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "health/report.h"

enum tally_action { TALLY_IGNORE, TALLY_SHOW, TALLY_DEGRADE, TALLY_DRAIN };

/* As sysfs calls them below ports/N/counters; the later ones below
 * ports/N/hw_counters, and among a network interface's statistics. */
enum tally_counter {
    TALLY_SYMBOL_ERROR,
    TALLY_LINK_ERROR_RECOVERY,
    TALLY_LINK_DOWNED,
    TALLY_PORT_RCV_ERRORS,
    TALLY_PORT_XMIT_DISCARDS,
    TALLY_LOCAL_LINK_INTEGRITY_ERRORS,
    TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS,
    TALLY_PORT_COUNTERS, /* those that every InfiniBand port has */
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

/* -1: there is no such action. */
int tally_action_parse(const char *word);
/* What a rule that is broken makes of what is up. */
enum report_seen tally_seen(enum tally_action action);

/* A line without its comment: NULL, *rules has it, else what is wrong. */
typedef const char *tally_line_f(void *rules, const char *line);
/* A file of such lines; # begins a comment.  -1 with text that names path and
 * line. */
int tally_lines_parse(void *rules, tally_line_f *read, const char *path,
                      const char *text, size_t len, struct errbuf *err);

const char *tally_rule_read(void *rules, const char *line);
/* Lines of rules over what *rules has. */
int tally_rules_parse(struct tally_rules *rules, const char *path,
                      const char *text, size_t len, struct errbuf *err);

struct tally {
    bool seen, high, blind;
    uint64_t last;
    int64_t last_at; /* when it was told */
    int64_t began;   /* the window */
    uint64_t in;     /* it */
    unsigned clean;  /* windows in a row */
    uint64_t rate;   /* high: as it was told, per the rule's unit */
};

/* The counter is so now; full: that is the most it can be; anew: it is
 * another one's, or began again. */
void tally_take(struct tally *tally, const struct tally_rule *rule,
                uint64_t value, bool full, bool anew, int64_t now);

/* "symbol errors 31/s > 10/s", or "symbol errors: counter is full". */
void tally_text(enum tally_counter counter, const struct tally *tally,
                const struct tally_rule *rule, char *text, size_t size);

#endif

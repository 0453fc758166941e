/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sources of link status, for switches that tell it by other ways than the
 * fabric (Elite: JTAG and I2C through a kernel module).  A source is a table
 * of functions; it is asked every LinkInterval and says all it knows.
 */
#ifndef SF_SWITCHMGRD_LINKSRC_H
#define SF_SWITCHMGRD_LINKSRC_H

#include "base/errbuf.h"
#include "health/report.h"

struct linksrc_ops {
    const char *name; /* "dir": LinkStatus=dir:ARGUMENT */
    void *(*open)(const char *argument, struct errbuf *err);
    /* Append records with `add`; 0, or -1 with text: nothing is known now (the
     * source becomes stale when this lasts). */
    int (*poll)(void *source,
                void (*add)(const struct report_record *record, void *arg),
                void *arg, struct errbuf *err);
    void (*close)(void *source);
};

/* A directory tree, one directory for each crossbar and in it one for each
 * port:
 *
 *     PATH/XBAR/status           "ok", "degraded" or "failed" (optional)
 *     PATH/XBAR/portN/status     "up", "degraded", "down" or "empty"
 *     PATH/XBAR/portN/peer       "x2:3" or "n17:0"; no file: unknown
 *     PATH/XBAR/portN/errors     a number (optional)
 *     PATH/XBAR/portN/rail       a number (optional; 0)
 */

/* The source that LinkStatus= names; records of one poll as one report. */
struct linksrc;
struct linksrc *linksrc_open(const char *spec, struct errbuf *err);
void linksrc_close(struct linksrc *source);
/* A report with what the source says now (report_free() it).  -1 with text. */
int linksrc_report(struct linksrc *source, struct report *report,
                   struct errbuf *err);

#endif

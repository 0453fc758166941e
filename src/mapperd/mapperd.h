/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The mapper daemon of one board: an engine (GM-2, GM-1, or GM-1's host side
 * alone) between hsnd's raw port, a timer and a control socket.
 */
#ifndef SF_MAPPERD_MAPPERD_H
#define SF_MAPPERD_MAPPERD_H

#include <ev.h>

#include "base/ctl.h"
#include "base/log_pace.h"
#include "hsn/libhsn.h"
#include "mapperd/engine.h"
#include "mapperd/names.h"
#include "mapperd/map_sender.h"
#include "mapperd/settings.h"

/* Subtype of a network printf (--printeur): its payload is text. */
#define MAPPERD_PRINTF 0x01f0

struct mapperd {
    struct settings settings;
    struct ev_loop *loop;
    const struct engine *engine;

    struct hsn *raw;   /* packets; NULL while hsnd is away */
    struct hsn *board; /* questions and routes */
    uint64_t address;
    char node[HSN_NODE_MAX];
    struct names *names; /* what the site calls the nodes of the map */
    ev_io raw_io;
    ev_timer timer, reopen, reload;
    ev_signal sigterm, sigint;
    uint64_t send_full; /* packets lost because hsnd's ring was full */

    struct gm2 *gm2;
    struct gm1 *gm1;
    struct hostside *host;

    /* What is loaded, kept for when hsnd comes again. */
    struct hsn_peer *peers;
    size_t npeers;
    uint32_t loaded_version, loaded_type;
    bool loaded, configured;
    uint64_t peers_said; /* to hsnd, so far: all of them, or what differs */

    struct ctl_server *ctl;
    struct map_sender reports;
    ev_timer report;
    uint64_t reported_version;
    uint64_t intervals; /* that have passed */
    bool unstored;      /* the map could not be stored: has been told */
    char last_notice[200];
    uint64_t nnotices;
    /* Lines that other hosts bring about: what they print; alarms, which no
     * other lines shall hide; the rest. */
    struct log_pace prints, alarms, told;
    bool ready, stopping; /* told systemd; a signal says so */
    bool misled;          /* a setting is not for this board */
    char *pid_path;
    int exit_code;
};

/* daemon.c */
int mapperd_run(struct mapperd *d); /* the exit status */
/* Along a route, from the first type byte on. */
void mapperd_send(struct mapperd *d, const uint8_t *route, size_t nroute,
                  const void *body, size_t len);
void mapperd_notice(struct mapperd *d, const char *text);
/* End the daemon; NULL: all is done, else what is wrong. */
void mapperd_end(struct mapperd *d, const char *text);

/* load.c: routes into hsnd.  Takes the array. */
void mapperd_load(struct mapperd *d, struct hsn_peer *peers, size_t n,
                  uint32_t version, bool configured);
void mapperd_load_again(struct mapperd *d);

/* store.c: the last map, on disk for the next start. */
void mapperd_store_map(struct mapperd *d, const struct gm2_map *map);
/* It; NULL: none, or none that is any good, which is logged. */
struct gm2_map *mapperd_stored_map(struct mapperd *d);

/* A copy of a map in which each node has a name, the site's if it has one.
 * NULL: out of memory. */
struct net *mapperd_named_map(const struct mapperd *d, const struct net *net);

/* The map into its file, if there is to be one. */
void mapperd_write_map(struct mapperd *d, const struct net *net);

/* control.c */
int mapperd_control(struct mapperd *d, struct errbuf *err);

/* reports.c */
int mapperd_reports(struct mapperd *d, struct errbuf *err);
void mapperd_report_now(struct mapperd *d);

#endif

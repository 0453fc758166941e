/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Health reports: what hsnd, nicd, mapperd and sources of link status tell
 * switchmgrd.  One report is one JSON object, version REPORT_VERSION
 * (doc/health-report.md); how it travels is health/sender.h.
 *
 * A report says what was seen, not what follows from it: judging is
 * health/model.h's.  What a map or a NIC consists of is told in records; a
 * map that is too long for one report comes in parts 1..parts of the same
 * version; a report without records says that all is as told before.
 */
#ifndef SF_HEALTH_REPORT_H
#define SF_HEALTH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"

#define REPORT_VERSION 1

enum report_from { REPORT_HSND, REPORT_MAPPERD, REPORT_LINKS, REPORT_NICD };
enum report_kind { REPORT_HOST, REPORT_LINK, REPORT_XBAR };
enum report_seen { SEEN_UNKNOWN, SEEN_UP, SEEN_DEGRADED, SEEN_DOWN };
#define REPORT_FROMS 4
#define REPORT_KINDS 3
/* Does anybody answer the echoes of a host?  Only its own hsnd knows. */
enum report_answered { ANSWERED_NOT_SAID, ANSWERED_NO, ANSWERED_YES };

/* Begins the name of a crossbar without an id, which is good only within its
 * map: the next one may call another crossbar so. */
#define REPORT_ANON "anon"

/* What a name may have beside letters and digits, and a `why`: both go into
 * logs, files and Slurm. */
#define REPORT_NAME_ALSO ".-_:"
#define REPORT_WHY_ALSO " .-_:%/+>"

struct report_record {
    enum report_kind kind;
    enum report_seen seen;
    uint8_t rail;
    uint64_t board;   /* host: board address or port GUID, 0: not known;
                         xbar: its id, 0: none */
    uint64_t count;   /* nicd's host, mapperd's link: how often it was lost
                         since the reporter began */
    uint8_t answered; /* hsnd's host: enum report_answered */
    uint8_t turned;   /* ... does the other end of its cable answer it? */
    uint32_t asked;   /* hosts that it has asked, when none of them answers */
    char name[SF_REPORT_NAME_MAX]; /* host: NodeName, may be "" when the board
                                      is given; xbar: a stable name, or
                                      REPORT_ANON and a number; link: one
                                      end, "x12:3" or "n4:0" */
    char peer[SF_REPORT_NAME_MAX]; /* link: the other end; host: the end of
                                      the crossbar that it hangs on, or "" */
    char why[SF_REPORT_WHY_MAX];   /* evidence: "mute", "no light",
                                      "echo loss 12 %" */
    /* Of nicd's host, which is a port of a NIC: */
    char nic[SF_REPORT_NIC_MAX]; /* what it is: "MT4123 mlx5_0/1" */
    uint32_t mbps;               /* with a link: its speed, 0: not known */
    bool never;                  /* no link since nicd began */
    bool out;                    /* left out by the configuration: nothing is
                                    told of it from now on */
};

/* What a NIC counts; becomes slurm_fabric_nic_NAME_total. */
struct report_counter {
    uint8_t rail;
    char name[SF_REPORT_COUNTER_NAME_MAX]; /* letters, digits, _ */
    uint64_t value;
};

/* Echoes to a peer since the last report that told of it.  Fewer than
 * REPORT_ECHOES_LEAST say nothing about how many are lost. */
#define REPORT_ECHOES_LEAST 4
struct report_peer {
    uint8_t rail;
    uint64_t board;
    uint32_t sent, lost;
};

struct report_map {
    bool present;    /* this report is about a map (mapperd) */
    bool leader;     /* the sender is the leading mapper */
    bool configured; /* "network fully configured" */
    uint64_t version;
    uint32_t part, parts; /* 1, 1: all in this one; 0, 0: no records */
    uint32_t verify_us;   /* time of the last whole verification */
    char leader_node[SF_REPORT_NAME_MAX];
    uint8_t rail; /* each that has mappers has a map of its own */
};

struct report {
    enum report_from from;
    char node[SF_REPORT_NAME_MAX]; /* NodeName of the sender */
    uint64_t instance;             /* random, new at each start of the sender */
    uint64_t seq;                  /* rises by one with each report */
    bool has_key;                  /* decoded: it brought a key */
    uint8_t key[SF_REPORT_KEY];    /* for what follows on its connection */
    struct report_map map;
    struct report_record *records;
    struct report_counter *counters;
    struct report_peer *peers;
    size_t nrecords, ncounters, npeers;
};

/* One JSON line without newline; free() it.  NULL with errno ENOMEM, or
 * EINVAL (text): beyond the limits. */
char *report_encode(const struct report *report, struct errbuf *err);

/* The same line with a key in it, for a credential; free() it.  NULL: no
 * memory. */
char *report_with_key(const char *text, const uint8_t key[SF_REPORT_KEY]);

/* Read a report; release it with report_free() (it is empty after failure).
 * 0, or -1 with errno and text: EBADMSG malformed, EPROTO another version,
 * ENOMEM. */
int report_decode(struct report *report, const char *text, size_t len,
                  struct errbuf *err);
void report_free(struct report *report);

/* A name that comes from elsewhere, as a report may have it: other characters
 * than letters, digits and ".-_" are "_", and it is cut. */
void report_name(char to[SF_REPORT_NAME_MAX], const char *text);

/* Do two lines of report_encode() say the same, their seq apart? */
bool report_same_text(const char *a, const char *b);

const char *report_from_name(enum report_from from);
const char *report_kind_name(enum report_kind kind);
const char *report_seen_name(enum report_seen seen);

#endif

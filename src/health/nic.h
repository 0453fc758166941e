/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ports of a node's NICs, judged from what the node itself sees of them,
 * look by look; the records of a report come out.  Nothing is remembered over
 * a restart: what a port was like before, and what the same port of other
 * nodes is like, the model knows (health/model_nic.c).
 *
 *   vanished   it is not there for NIC_MISSED looks: shown as degraded, for
 *              vanish_ms (a driver may be loaded anew): gone
 *   down       no link; one that never had a link since the first look is told
 *              as such, after link_wait_ms
 *   slow       fewer lanes, or slower, than it once had
 *   no verbs   the character device that verbs need is missing
 *   counters   health/tally.h
 *
 * What follows from each is said by rules.  Pure; times are milliseconds that
 * never run backwards.
 */
#ifndef SF_HEALTH_NIC_H
#define SF_HEALTH_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/limits.h"
#include "health/report.h"
#include "health/tally.h"

#define NIC_MISSED 3 /* looks */

enum nic_link { NIC_DOWN, NIC_INIT, NIC_UP };

/* A port at one look. */
struct nic_port {
    char name[SF_NIC_NAME_MAX];  /* "mlx5_0/1", "eth2" */
    char model[SF_NIC_NAME_MAX]; /* "MT4123"; "": not known */
    uint64_t board;              /* port GUID or MAC address; 0: not known */
    enum nic_link link;
    char says[SF_NIC_NAME_MAX]; /* what it is instead of up: "Polling" */
    uint32_t mbps;              /* 0: not known */
    uint8_t lanes;              /* 0: not known */
    bool no_verbs;
    bool out; /* left out by the configuration */
    /* Counters, when they were read: a bit for each that there is; full: it
     * counts no further. */
    uint32_t has, full;
    uint64_t value[TALLY_COUNTERS];
    bool has_downs; /* how often the carrier was lost */
    uint64_t downs;
};

enum nic_fault { NIC_IS_DOWN, NIC_VANISHED, NIC_SLOW, NIC_NO_VERBS };
#define NIC_FAULTS 4

struct nic_rules {
    struct tally_rules counters;
    enum tally_action fault[NIC_FAULTS];
    int64_t link_wait_ms, vanish_ms;
};
void nic_rules_default(struct nic_rules *rules);
/* Lines "FAULT ACTION" (down, vanished, slow, no_verbs) and rules of
 * counters.  -1 with text that names path and line. */
int nic_rules_parse(struct nic_rules *rules, const char *path, const char *text,
                    size_t len, struct errbuf *err);

struct nics;
struct nics *nics_new(const struct nic_rules *rules);
void nics_free(struct nics *nics);

/* All ports that there are now.  False: some of them have no room. */
bool nics_look(struct nics *nics, const struct nic_port *ports, size_t n,
               int64_t now);

/* The records of node's ports, from rail `first` on, into room for
 * SF_ELAN_RAILS_MAX of them and as many that are left out; how many there are.
 * *changed: they differ from those of the last call. */
#define NIC_RECORDS_MAX (2 * SF_ELAN_RAILS_MAX)
size_t nics_records(struct nics *nics, const char *node, unsigned first,
                    struct report_record records[NIC_RECORDS_MAX],
                    bool *changed, int64_t now);

/* Ports beyond the last rail, which are not told. */
unsigned nics_untold(const struct nics *nics);

#endif

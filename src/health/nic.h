/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Judges the ports of a node's NICs from what the node itself sees at each
 * look, and makes the records of a report.  Nothing is remembered across a
 * restart: the model knows how a port was before, and how the same port is on
 * other nodes (health/model_nic.c).
 *
 *   vanished   missing for NIC_MISSED looks: shown as degraded; for vanish_ms
 *              (a driver may be reloaded): gone
 *   down       no link; a port that has had no link since the first look is
 *              reported as such, after link_wait_ms
 *   slow       fewer lanes or slower than it once was
 *   no verbs   the character device that verbs need is missing
 *   counters   health/tally.h
 *
 * Rules say what follows from each.  Pure; times are milliseconds that never
 * run backwards.
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
    char says[SF_NIC_NAME_MAX]; /* its state when not up: "Polling" */
    uint32_t mbps;              /* 0: not known */
    uint8_t lanes;              /* 0: not known */
    bool no_verbs;
    bool out; /* left out by the configuration */
    /* Counters, if they were read: has, a bit for each that exists; full, a bit
     * for each that counts no further. */
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

/* Take a look: all ports that exist now.  False if there was no room for some.
 */
bool nics_look(struct nics *nics, const struct nic_port *ports, size_t n,
               int64_t now);

/* Make the records of the node's ports, from rail `first` on: at most
 * SF_ELAN_RAILS_MAX, and as many of ports that are left out.  Returns how many.
 * *changed: they differ from those of the last call. */
#define NIC_RECORDS_MAX (2 * SF_ELAN_RAILS_MAX)
size_t nics_records(struct nics *nics, const char *node, unsigned first,
                    struct report_record records[NIC_RECORDS_MAX],
                    bool *changed, int64_t now);

/* How many ports lie beyond the last rail and are not reported. */
unsigned nics_untold(const struct nics *nics);

#endif

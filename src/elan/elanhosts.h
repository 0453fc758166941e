/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The identity table: which node has which Elan id on which rail, and which
 * board or port it is plugged in with.  One line for any number of nodes:
 *
 *     NodeName=n[0-15] ElanId=0-15 ElanId1=16-31
 *     NodeName=gw ElanId=20 Board=0060dd470010
 *
 * NodeName  node names of slurm.conf; must be there
 * ElanIdR   Elan ids of rail R (none: rail 0), as many as names, in the same
 *           order: numbers and ranges, with or without brackets
 * BoardR    board ids or port GUIDs of rail R, hexadecimal, as many as names:
 *           numbers (colons allowed) and ranges
 * A rail without ids has those of rail 0.  # begins a comment.
 *
 * Without a table a node's Elan id is the number that ends its name (up to
 * the first dot), on every rail: n17 and rack3-17 both have 17.
 */
#ifndef SF_ELAN_ELANHOSTS_H
#define SF_ELAN_ELANHOSTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/conf.h"
#include "base/errbuf.h"
#include "base/limits.h"
#include "elan/layout.h"

struct elan_host {
    char *name;
    uint32_t line; /* of its definition */
    uint32_t id[SF_ELAN_RAILS_MAX];
    uint64_t board[SF_ELAN_RAILS_MAX]; /* 0: not given */
};

struct elanhosts;

/* Parse text[0..len); `name` stands for the file in messages.  Each error is
 * reported (report may be NULL) with file, line and key, all in one pass.
 * NULL with errno: EINVAL errors were reported, EMSGSIZE longer than
 * SF_ELAN_HOSTS_SIZE_MAX (reported), ENOMEM. */
struct elanhosts *elanhosts_parse(const char *name, const char *text,
                                  size_t len, conf_error_f *report, void *arg);

/* The table that stands for an absent file.  NULL with ENOMEM. */
struct elanhosts *elanhosts_natural(void);

void elanhosts_destroy(struct elanhosts *hosts);

/* Elan ids of a node on rails 0..nrails-1.  Returns 0, or -1 with errno and
 * text: ENOENT the node is not in the table, or (without table) its name ends
 * in no number; EINVAL that number is above SF_ELAN_NODE_ID_MAX. */
int elanhosts_ids(const struct elanhosts *hosts, const char *node,
                  uint32_t nrails, uint32_t *ids, struct errbuf *err);

/* Hosts of a table in the order of the file; NULL past the last. */
const struct elan_host *elanhosts_get(const struct elanhosts *hosts,
                                      uint32_t index);
/* By name, or by board id or GUID; NULL when there is none. */
const struct elan_host *elanhosts_find(const struct elanhosts *hosts,
                                       const char *node);
const struct elan_host *elanhosts_find_board(const struct elanhosts *hosts,
                                             uint64_t board, uint32_t *rail);

/* A step as Slurm describes it; all borrowed. */
struct elan_step_layout {
    const char *node_list; /* "n[0-3]", in the order of the arrays */
    uint32_t nnodes;
    const uint16_t *tasks;
    uint32_t *const *tids; /* may be NULL, see layout.h */
    bool cyclic;
};

/* The layout of a step (elan_layout_free() it).  Errors as
 * elan_layout_make(), host_names_expand() and elanhosts_ids(). */
int elanhosts_layout(const struct elanhosts *hosts, struct elan_layout *layout,
                     const struct elan_step_layout *step, uint32_t nrails,
                     struct errbuf *err);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside of the checks of Slurm's topology files: a reader of one format gives
 * switches to topo_check_add(), topo_check.c knows the rules that hold for
 * them all.
 */
#ifndef SF_NET_TOPO_CHECK_H
#define SF_NET_TOPO_CHECK_H

#include "net/topo.h"

struct topo_check;

/* Of one switch, as its file says; name may be NULL: told. */
struct topo_words {
    char *name, *nodes, *switches;
};

typedef void topo_read_f(struct topo_check *c, const char *text, size_t len);

/* Read with `read`, then look at the rules; the rest as net_topo_check(). */
int topo_check_run(topo_read_f *read, const char *text, size_t len,
                   net_topo_report_f *report, net_topo_known_f *known,
                   void *arg);

void topo_check_add(struct topo_check *c, unsigned line,
                    const struct topo_words *w);
void topo_check_tell(struct topo_check *c, bool fatal, unsigned line,
                     const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void topo_check_no_memory(struct topo_check *c);

/* topology/block: each block, each size in its order, and when all are told. */
void topo_check_block(struct topo_check *c, unsigned line, const char *name,
                      const char *nodes);
void topo_check_block_size(struct topo_check *c, unsigned line,
                           const char *size);
void topo_check_blocks_end(struct topo_check *c, unsigned line);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which ranks of a communicator belong to which client: the utility functions
 * of IMPI section 4.2.  The master of a client is its lowest rank in the
 * communicator; masters are numbered in rank order.  The section's master_num,
 * -1 for ranks that are not masters, is is_master and local_master_num here.
 */
#ifndef SF_IMPI_GROUPS_H
#define SF_IMPI_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

struct impi_group {
    uint32_t size;
    uint32_t nmasters;
    uint32_t *num_of;  /* [size] master number of the rank's client */
    uint32_t *masters; /* [nmasters] rank of each master */
    uint32_t *first;   /* [nmasters + 1] into locals */
    uint32_t *locals;  /* [size] ranks, client by client, ascending */
};

/* client[r]: client of the process with rank r, any numbers.  size >= 1.
 * Returns 0, or -1 with errno ENOMEM.  impi_group_free() it. */
int impi_group_init(struct impi_group *g, const uint32_t *client,
                    uint32_t size);
void impi_group_free(struct impi_group *g);

bool impi_group_is_master(const struct impi_group *g, uint32_t r);
bool impi_group_are_local(const struct impi_group *g, uint32_t r1, uint32_t r2);
uint32_t impi_group_master_rank(const struct impi_group *g, uint32_t n);
uint32_t impi_group_local_master_num(const struct impi_group *g, uint32_t r);
uint32_t impi_group_local_master_rank(const struct impi_group *g, uint32_t r);
uint32_t impi_group_num_masters(const struct impi_group *g);
uint32_t impi_group_num_local_to_master(const struct impi_group *g, uint32_t n);
uint32_t impi_group_num_local_to_rank(const struct impi_group *g, uint32_t r);
/* The ranks local to master n, ascending; borrowed. */
const uint32_t *impi_group_locals_to_master(const struct impi_group *g,
                                            uint32_t n);

/* Smallest i such that n <= 2^i; n = 0 gives -1. */
int impi_cubedim(uint32_t n);
/* Highest bit set in value below bit start, -1 when there is none. */
int impi_hibit(uint32_t value, int start);

#endif

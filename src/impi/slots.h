/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Request identifiers that a peer gets to hold and may lie about: an index
 * with a generation, looked up in constant time, never 0, and with the top
 * bit clear.
 */
#ifndef SF_IMPI_SLOTS_H
#define SF_IMPI_SLOTS_H

#include <stdint.h>

struct impi_slot;
struct impi_slots {
    struct impi_slot *slots;
    uint32_t size;
    uint32_t free_head; /* index + 1, 0 none */
};

/* A fresh id for object; 0: no memory. */
uint64_t impi_slots_add(struct impi_slots *s, void *object);
/* The object, or NULL when the id is not (or no more) one of ours. */
void *impi_slots_find(const struct impi_slots *s, uint64_t id);
/* One after the other: the next object from *index on, which is then behind it;
 * NULL: there are no more.  Any may be removed meanwhile. */
void *impi_slots_next(const struct impi_slots *s, uint32_t *index);
void impi_slots_remove(struct impi_slots *s, uint64_t id);
void impi_slots_free(struct impi_slots *s);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>

#include "impi/slots.h"

struct impi_slot {
    void *object;   /* NULL: free */
    uint32_t round; /* raised at each use, 31 bits */
    uint32_t next;  /* free list: index + 1 */
};

#define FIRST_SIZE 64
#define ROUND_MASK 0x7fffffffu

static int grow(struct impi_slots *s)
{
    uint32_t size = s->size ? s->size * 2 : FIRST_SIZE;
    struct impi_slot *slots;

    if (size <= s->size)
        return -1;
    slots = realloc(s->slots, size * sizeof(*slots));
    if (!slots)
        return -1;
    for (uint32_t i = s->size; i < size; i++)
        slots[i] = (struct impi_slot){.next = i + 1 < size ? i + 2 : 0};
    s->free_head = s->size + 1;
    s->slots = slots;
    s->size = size;
    return 0;
}

uint64_t impi_slots_add(struct impi_slots *s, void *object)
{
    struct impi_slot *slot;
    uint32_t index;

    if (s->free_head == 0 && grow(s) < 0)
        return 0;
    index = s->free_head - 1;
    slot = &s->slots[index];
    s->free_head = slot->next;
    slot->object = object;
    slot->round = (slot->round + 1) & ROUND_MASK;
    return (uint64_t)slot->round << 32 | (index + 1);
}

static struct impi_slot *lookup(const struct impi_slots *s, uint64_t id)
{
    uint32_t index = (uint32_t)id - 1;
    struct impi_slot *slot;

    if ((uint32_t)id == 0 || index >= s->size)
        return NULL;
    slot = &s->slots[index];
    return slot->object && slot->round == id >> 32 ? slot : NULL;
}

void *impi_slots_find(const struct impi_slots *s, uint64_t id)
{
    struct impi_slot *slot = lookup(s, id);

    return slot ? slot->object : NULL;
}

void *impi_slots_next(const struct impi_slots *s, uint32_t *index)
{
    while (*index < s->size) {
        const struct impi_slot *slot = &s->slots[(*index)++];

        if (slot->object)
            return slot->object;
    }
    return NULL;
}

void impi_slots_remove(struct impi_slots *s, uint64_t id)
{
    struct impi_slot *slot = lookup(s, id);

    assert(slot);
    slot->object = NULL;
    slot->next = s->free_head;
    s->free_head = (uint32_t)(slot - s->slots) + 1;
}

void impi_slots_free(struct impi_slots *s)
{
    free(s->slots);
    *s = (struct impi_slots){0};
}

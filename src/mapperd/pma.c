/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/pma.h"

#include <string.h>

#define METHOD_GET 0x01
#define METHOD_SET 0x02
#define METHOD_GET_RESP 0x81
#define AT_STATUS 4
#define AT_TID 12 /* its lower half */
#define AT_ATTR 16
#define AT_DATA 64

/* Of ClassPortInfo: PortCountersExtended is there; and it has errors, too. */
#define AT_MASK 2
#define AT_MASK2 4
#define MASK_EXTENDED 0x0600 /* with or without packets by kind */
#define MASK2_ERRORS 0x2

/* Where each is in PortCounters: offset, bits, and for four bits the shift;
 * its bit in CounterSelect; and its offset in PortCountersExtended. */
static const struct {
    uint8_t at, bits, shift, select, wide;
} where[TALLY_PORT_COUNTERS] = {
    [TALLY_SYMBOL_ERROR] = {4, 16, 0, 0, 72},
    [TALLY_LINK_ERROR_RECOVERY] = {6, 8, 0, 1, 80},
    [TALLY_LINK_DOWNED] = {7, 8, 0, 2, 88},
    [TALLY_PORT_RCV_ERRORS] = {8, 16, 0, 3, 96},
    [TALLY_PORT_XMIT_DISCARDS] = {14, 16, 0, 6, 120},
    [TALLY_LOCAL_LINK_INTEGRITY_ERRORS] = {19, 4, 4, 9, 144},
    [TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = {19, 4, 0, 10, 152},
};

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t v = 0;

    for (int i = 0; i < bytes; i++)
        v = v << 8 | at[i];
    return v;
}

static void make(uint8_t mad[SMP_SIZE], uint8_t method, uint32_t tid,
                 enum pma_attr attr)
{
    memset(mad, 0, SMP_SIZE);
    mad[0] = 1;
    mad[1] = PMA_CLASS;
    mad[2] = 1;
    mad[3] = method;
    for (int i = 0; i < 4; i++)
        mad[AT_TID + i] = (uint8_t)(tid >> (24 - 8 * i));
    mad[AT_ATTR + 1] = (uint8_t)attr;
}

void pma_make(uint8_t mad[SMP_SIZE], uint32_t tid, enum pma_attr attr,
              uint8_t port)
{
    make(mad, METHOD_GET, tid, attr);
    if (attr != PMA_CLASS_INFO)
        mad[AT_DATA + 1] = port;
}

void pma_make_clear(uint8_t mad[SMP_SIZE], uint32_t tid, uint8_t port,
                    unsigned counters)
{
    unsigned select = 0;

    for (int i = 0; i < TALLY_PORT_COUNTERS; i++)
        if (counters & 1u << i)
            select |= 1u << where[i].select;
    make(mad, METHOD_SET, tid, PMA_COUNTERS);
    mad[AT_DATA + 1] = port;
    mad[AT_DATA + 2] = (uint8_t)(select >> 8);
    mad[AT_DATA + 3] = (uint8_t)select;
}

bool pma_parse(const uint8_t mad[SMP_SIZE], enum pma_attr *attr, uint32_t *tid)
{
    uint64_t is = get(mad + AT_ATTR, 2);

    if (mad[1] != PMA_CLASS || mad[3] != METHOD_GET_RESP ||
        (is != PMA_CLASS_INFO && is != PMA_COUNTERS && is != PMA_COUNTERS_WIDE))
        return false;
    *attr = (enum pma_attr)is;
    *tid = (uint32_t)get(mad + AT_TID, 4);
    return get(mad + AT_STATUS, 2) == 0;
}

bool pma_is_wide(const uint8_t mad[SMP_SIZE])
{
    const uint8_t *d = mad + AT_DATA;

    /* The lower five bits of the word are the time that an answer takes. */
    return (get(d + AT_MASK, 2) & MASK_EXTENDED) &&
           (get(d + AT_MASK2, 4) >> 5 & MASK2_ERRORS);
}

bool pma_counters(const uint8_t mad[SMP_SIZE], enum pma_attr attr, uint8_t port,
                  struct pma_counters *c)
{
    const uint8_t *d = mad + AT_DATA;

    for (int i = 0; i < TALLY_PORT_COUNTERS; i++) {
        bool wide = attr == PMA_COUNTERS_WIDE;
        unsigned bits = where[i].bits;
        uint64_t most = wide ? UINT64_MAX : (1u << bits) - 1;
        uint64_t v = wide ? get(d + where[i].wide, 8)
                          : get(d + where[i].at, bits == 16 ? 2 : 1);

        c->value[i] = wide ? v : v >> where[i].shift & most;
        c->full[i] = c->value[i] == most;
    }
    return d[1] == port;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/pma.h"

#include <string.h>

#define METHOD_GET 0x01
#define METHOD_GET_RESP 0x81
#define PORT_COUNTERS 0x12
#define AT_TID 12 /* its lower half */
#define AT_DATA 64

/* Where each is in PortCounters: offset, bits, and for four bits the shift. */
static const struct {
    uint8_t at, bits, shift;
} where[TALLY_PORT_COUNTERS] = {
    [TALLY_SYMBOL_ERROR] = {4, 16, 0},
    [TALLY_LINK_ERROR_RECOVERY] = {6, 8, 0},
    [TALLY_LINK_DOWNED] = {7, 8, 0},
    [TALLY_PORT_RCV_ERRORS] = {8, 16, 0},
    [TALLY_PORT_XMIT_DISCARDS] = {14, 16, 0},
    [TALLY_LOCAL_LINK_INTEGRITY_ERRORS] = {19, 4, 4},
    [TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = {19, 4, 0},
};

void pma_make(uint8_t mad[SMP_SIZE], uint32_t tid, uint8_t port)
{
    memset(mad, 0, SMP_SIZE);
    mad[0] = 1;
    mad[1] = PMA_CLASS;
    mad[2] = 1;
    mad[3] = METHOD_GET;
    for (int i = 0; i < 4; i++)
        mad[AT_TID + i] = (uint8_t)(tid >> (24 - 8 * i));
    mad[17] = PORT_COUNTERS;
    mad[AT_DATA + 1] = port;
}

bool pma_parse(const uint8_t mad[SMP_SIZE], uint32_t *tid)
{
    if (mad[1] != PMA_CLASS || mad[3] != METHOD_GET_RESP || mad[16] != 0 ||
        mad[17] != PORT_COUNTERS)
        return false;
    *tid = 0;
    for (int i = 0; i < 4; i++)
        *tid = *tid << 8 | mad[AT_TID + i];
    return mad[4] == 0 && mad[5] == 0;
}

bool pma_counters(const uint8_t mad[SMP_SIZE], uint8_t port,
                  struct pma_counters *c)
{
    const uint8_t *d = mad + AT_DATA;

    for (int i = 0; i < TALLY_PORT_COUNTERS; i++) {
        const uint8_t *at = d + where[i].at;
        uint64_t v = where[i].bits == 16 ? (uint64_t)at[0] << 8 | at[1] : *at;
        uint64_t most = (1u << where[i].bits) - 1;

        c->value[i] = v >> where[i].shift & most;
        c->full[i] = c->value[i] == most;
    }
    return d[1] == port;
}

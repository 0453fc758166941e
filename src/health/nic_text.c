/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/nic_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* InfiniBand Architecture 1: states of a port, and physical ones. */
#define STATE_INIT 2
#define STATE_ARMED 3
#define STATE_ACTIVE 4
#define STATE_ACTIVE_DEFER 5
#define PHYS_LINK_UP 5

/* "4: ACTIVE": its number, and what follows. */
static bool numbered(const char *text, int *number, const char **word)
{
    if (!isdigit((unsigned char)text[0]) || text[1] != ':')
        return false;
    *number = text[0] - '0';
    *word = text + 2 + strspn(text + 2, " ");
    return **word != '\0';
}

bool nic_text_link(const char *state, const char *phys, struct nic_port *port)
{
    const char *state_word, *phys_word;
    int s, p;

    if (!numbered(state, &s, &state_word) || !numbered(phys, &p, &phys_word))
        return false;
    port->link = NIC_DOWN;
    if (p == PHYS_LINK_UP && (s == STATE_INIT || s == STATE_ARMED))
        port->link = NIC_INIT;
    if (p == PHYS_LINK_UP && (s == STATE_ACTIVE || s == STATE_ACTIVE_DEFER))
        port->link = NIC_UP;
    snprintf(port->says, sizeof(port->says), "%.20s",
             p == PHYS_LINK_UP ? state_word : phys_word);
    return true;
}

void nic_text_rate(const char *rate, struct nic_port *port)
{
    unsigned whole, tenth = 0, lanes;
    const char *brace = strchr(rate, '('), *unit = strchr(rate, ' ');

    if (!isdigit((unsigned char)rate[0]) || !unit ||
        strncmp(unit, " Gb/sec", 7) != 0 || unit - rate > 6 ||
        sscanf(rate, "%6u.%1u", &whole, &tenth) < 1)
        return;
    port->mbps = whole * 1000 + tenth * 100;
    if (brace && sscanf(brace, "(%2uX", &lanes) == 1)
        port->lanes = (uint8_t)lanes;
}

uint64_t nic_text_gid(const char *gid)
{
    unsigned g[8];
    int end = 0;

    if (sscanf(gid, "%4x:%4x:%4x:%4x:%4x:%4x:%4x:%4x%n", &g[0], &g[1], &g[2],
               &g[3], &g[4], &g[5], &g[6], &g[7], &end) != 8 ||
        gid[end])
        return 0;
    return (uint64_t)g[4] << 48 | (uint64_t)g[5] << 32 | (uint64_t)g[6] << 16 |
           g[7];
}

uint64_t nic_text_mac(const char *mac)
{
    unsigned b[6];
    uint64_t v = 0;
    int end = 0;

    if (sscanf(mac, "%2x:%2x:%2x:%2x:%2x:%2x%n", &b[0], &b[1], &b[2], &b[3],
               &b[4], &b[5], &end) != 6 ||
        mac[end])
        return 0;
    for (int i = 0; i < 6; i++)
        v = v << 8 | b[i];
    return v;
}

bool nic_text_number(const char *text, uint64_t *value)
{
    char *end;

    if (!isdigit((unsigned char)*text) || strlen(text) > 20)
        return false;
    *value = strtoull(text, &end, 10);
    return *end == '\0';
}

void nic_text_counter(enum tally_counter counter, const char *text,
                      struct nic_port *port)
{
    static const unsigned char width[TALLY_PORT_COUNTERS] = {
        [TALLY_SYMBOL_ERROR] = 16,
        [TALLY_LINK_ERROR_RECOVERY] = 8,
        [TALLY_LINK_DOWNED] = 8,
        [TALLY_PORT_RCV_ERRORS] = 16,
        [TALLY_PORT_XMIT_DISCARDS] = 16,
        [TALLY_LOCAL_LINK_INTEGRITY_ERRORS] = 4,
        [TALLY_EXCESSIVE_BUFFER_OVERRUN_ERRORS] = 4};
    uint32_t bit = 1u << counter;

    if (!nic_text_number(text, &port->value[counter]))
        return;
    port->has |= bit;
    if (counter < TALLY_PORT_COUNTERS &&
        port->value[counter] == (1u << width[counter]) - 1)
        port->full |= bit;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapper/gm_address.h"

#include <stdio.h>

void gm_put_address(struct be_writer *w, uint64_t address)
{
    be_put16(w, (uint16_t)(address >> 32));
    be_put32(w, (uint32_t)address);
}

uint64_t gm_get_address(struct be_reader *r)
{
    uint64_t high = be_get16(r);

    return high << 32 | be_get32(r);
}

const char *gm_address_text(uint64_t address, char *text)
{
    snprintf(text, GM_ADDRESS_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x",
             (unsigned)(address >> 40 & 0xff), (unsigned)(address >> 32 & 0xff),
             (unsigned)(address >> 24 & 0xff), (unsigned)(address >> 16 & 0xff),
             (unsigned)(address >> 8 & 0xff), (unsigned)(address & 0xff));
    return text;
}

bool gm_outranks(uint32_t level_a, uint64_t a, uint32_t level_b, uint64_t b)
{
    return level_a != level_b ? level_a > level_b : a > b;
}

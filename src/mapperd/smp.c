/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See smp.h.
 */
#include "mapperd/smp.h"

#include <string.h>

#define CLASS_DIRECTED 0x81
#define METHOD_GET 0x01
#define METHOD_GET_RESP 0x81
#define PERMISSIVE_LID 0xffff
#define STATUS_DIRECTION 0x8000

/* Offsets. */
#define AT_STATUS 4
#define AT_HOP_COUNT 7
#define AT_TID 8
#define AT_ATTR 16
#define AT_MOD 20
#define AT_SLID 32
#define AT_DLID 34
#define AT_DATA 64
#define AT_PATH 128

#define EXTENDED_DISABLED 30 /* of LinkSpeedExtEnabled */

static void put(uint8_t *at, uint64_t v, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, v >>= 8)
        at[i] = (uint8_t)v;
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t v = 0;

    for (int i = 0; i < bytes; i++)
        v = v << 8 | at[i];
    return v;
}

void smp_make(uint8_t mad[SMP_SIZE], const struct smp_get *g)
{
    memset(mad, 0, SMP_SIZE);
    mad[0] = 1;
    mad[1] = CLASS_DIRECTED;
    mad[2] = 1;
    mad[3] = METHOD_GET;
    mad[AT_HOP_COUNT] = g->hops;
    put(mad + AT_TID, g->tid, 8);
    put(mad + AT_ATTR, (uint64_t)g->attr, 2);
    put(mad + AT_MOD, g->mod, 4);
    put(mad + AT_SLID, PERMISSIVE_LID, 2);
    put(mad + AT_DLID, PERMISSIVE_LID, 2);
    memcpy(mad + AT_PATH + 1, g->path, g->hops);
}

bool smp_parse(const uint8_t mad[SMP_SIZE], enum smp_attr *attr, uint32_t *tid)
{
    uint64_t status = get(mad + AT_STATUS, 2);

    if (mad[1] != CLASS_DIRECTED || mad[3] != METHOD_GET_RESP)
        return false;
    *attr = (enum smp_attr)get(mad + AT_ATTR, 2);
    *tid = (uint32_t)get(mad + AT_TID + 4, 4);
    return (status & ~(uint64_t)STATUS_DIRECTION) == 0;
}

bool smp_node_info(const uint8_t mad[SMP_SIZE], struct smp_node_info *info)
{
    const uint8_t *d = mad + AT_DATA;

    info->type = d[2];
    info->ports = d[3];
    info->node_guid = get(d + 12, 8);
    info->port_guid = get(d + 20, 8);
    info->entry = d[36];
    if (info->type < SMP_CA || info->type > SMP_ROUTER || info->ports == 0 ||
        info->node_guid == 0 || info->entry > info->ports)
        return false;
    return info->type == SMP_SWITCH || info->port_guid != 0;
}

void smp_node_desc(const uint8_t mad[SMP_SIZE], char desc[SMP_DESC_SIZE + 1])
{
    memcpy(desc, mad + AT_DATA, SMP_DESC_SIZE);
    desc[SMP_DESC_SIZE] = '\0';
    for (char *c = desc; *c; c++)
        if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
            *c = '?';
}

bool smp_port_is_up(const uint8_t mad[SMP_SIZE])
{
    unsigned state = mad[AT_DATA + 32] & 0x0f;

    return state >= 2 && state <= 4; /* Init, Armed, Active */
}

/* The widest of a set of widths, in lanes. */
static uint8_t widest(unsigned set)
{
    static const uint8_t order[][2] = {
        {8, 12}, {4, 8}, {2, 4}, {16, 2}, {1, 1}};

    for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (set & order[i][0])
            return order[i][1];
    return 0;
}

/* The fastest of two sets of speeds: InfiniBand's first ones, and the
 * extended ones, which are all faster. */
static uint16_t fastest(unsigned set, unsigned extended)
{
    static const uint16_t speeds[] = {25, 50, 100},
                          more[] = {141, 258, 531, 1062};

    for (int i = 3; i >= 0; i--)
        if (extended & 1u << i)
            return more[i];
    for (int i = 2; i >= 0; i--)
        if (set & 1u << i)
            return speeds[i];
    return 0;
}

/* Of these five bits, one value is no set of speeds. */
static unsigned extended_enabled(unsigned byte)
{
    return (byte & 0x1f) == EXTENDED_DISABLED ? 0 : byte & 0x0f;
}

bool smp_port_info(const uint8_t mad[SMP_SIZE], struct smp_port_info *info)
{
    const uint8_t *d = mad + AT_DATA;

    *info = (struct smp_port_info){
        .state = d[32] & 0x0f,
        .physical = d[33] >> 4,
        .now = {widest(d[31]), fastest(d[35] >> 4, d[62] >> 4)},
        .enabled = {widest(d[29]),
                    fastest(d[35] & 0x0f, extended_enabled(d[63]))},
        .supported = {widest(d[30]), fastest(d[32] >> 4, d[62] & 0x0f)},
        .lid = (uint16_t)get(d + 16, 2),
    };
    return info->state >= SMP_DOWN && info->state <= SMP_ACTIVE;
}

void smp_forwarding(const uint8_t mad[SMP_SIZE], uint8_t ports[SMP_BLOCK])
{
    memcpy(ports, mad + AT_DATA, SMP_BLOCK);
}

const char *smp_state_name(unsigned state)
{
    static const char *const names[] = {"?", "DOWN", "INIT", "ARMED", "ACTIVE"};

    return state <= SMP_ACTIVE ? names[state] : names[0];
}

const char *smp_physical_name(unsigned physical)
{
    static const char *const names[] = {
        "?",        "Sleep",  "Polling",           "Disabled",
        "Training", "LinkUp", "LinkErrorRecovery", "PhyTest"};

    return physical < 8 ? names[physical] : names[0];
}

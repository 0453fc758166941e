/* SPDX-License-Identifier: BSD-3-Clause
 *
 * InfiniBand's directed-route subnet management packets: 256 bytes that are
 * sent port by port to whatever stands at the end of a path and are answered
 * by its management agent.  Only questions (Get) are made here; nothing can
 * be set.  Layouts: InfiniBand Architecture 1, chapter 14.  Pure functions.
 */
#ifndef SF_MAPPERD_SMP_H
#define SF_MAPPERD_SMP_H

#include <stdbool.h>
#include <stdint.h>

#define SMP_SIZE 256
#define SMP_HOPS_MAX 63
#define SMP_DESC_SIZE 64

enum smp_attr {
    SMP_NODE_DESC = 0x0010,
    SMP_NODE_INFO = 0x0011,
    SMP_PORT_INFO = 0x0015,
    SMP_FORWARDING = 0x0019,
};
/* Entries of a block of a switch's linear forwarding table, one for each LID.
 */
#define SMP_BLOCK 64
#define SMP_BLOCKS_MAX 768 /* of all unicast LIDs */

enum { SMP_CA = 1, SMP_SWITCH = 2, SMP_ROUTER = 3 };

/* A question to the end of a path: path[0..hops) are the ports to leave by,
 * from 1, the first one our own. */
struct smp_get {
    uint32_t tid;
    enum smp_attr attr;
    uint32_t mod; /* SMP_PORT_INFO: the port; SMP_FORWARDING: the block */
    uint8_t hops;
    uint8_t path[SMP_HOPS_MAX];
};

struct smp_node_info {
    uint8_t type; /* SMP_CA ... */
    uint8_t ports;
    uint8_t entry; /* port it was asked by, from 1; 0: a switch, by itself */
    uint64_t node_guid, port_guid;
};

/* States of a port: it carries traffic when it is SMP_ACTIVE; before, there is
 * a cable, but no subnet manager has brought it up. */
enum { SMP_DOWN = 1, SMP_INIT, SMP_ARMED, SMP_ACTIVE };
#define SMP_LINK_UP 5 /* physical state */

/* How much a link carries; 0: not told, or nothing that there is. */
struct smp_pace {
    uint8_t width;  /* lanes */
    uint16_t speed; /* of a lane, in 0.1 Gb/s */
};

struct smp_port_info {
    uint8_t state, physical;
    struct smp_pace now, enabled, supported; /* the best of each */
    uint16_t lid;
};

void smp_make(uint8_t mad[SMP_SIZE], const struct smp_get *get);

/* Is this an answer that says something: attribute and tid.  False: no
 * answer, an error, another kind of packet. */
bool smp_parse(const uint8_t mad[SMP_SIZE], enum smp_attr *attr, uint32_t *tid);

/* What the answers say; false: not possible (a switch without ports ...). */
bool smp_node_info(const uint8_t mad[SMP_SIZE], struct smp_node_info *info);
void smp_node_desc(const uint8_t mad[SMP_SIZE], char desc[SMP_DESC_SIZE + 1]);
/* False: a state that there is not. */
bool smp_port_info(const uint8_t mad[SMP_SIZE], struct smp_port_info *info);
/* By which port the switch sends what goes to each LID of the block. */
void smp_forwarding(const uint8_t mad[SMP_SIZE], uint8_t ports[SMP_BLOCK]);
/* "INIT", "Polling" ... */
const char *smp_state_name(unsigned state);
const char *smp_physical_name(unsigned physical);
/* There is a cable, and something at its other end. */
bool smp_port_is_up(const uint8_t mad[SMP_SIZE]);

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the kernel writes into the files of sysfs about a port, read.  The text
 * is one line without its newline.  Pure; what is not as it should be is
 * "not known", never a fault of the port.
 */
#ifndef SF_HEALTH_NIC_TEXT_H
#define SF_HEALTH_NIC_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "health/nic.h"

/* "4: ACTIVE" of state and "5: LinkUp" of phys_state.  False: not known. */
bool nic_text_link(const char *state, const char *phys, struct nic_port *port);
/* "100 Gb/sec (4X EDR)" of rate */
void nic_text_rate(const char *rate, struct nic_port *port);
/* The port GUID of "fe80:0000:0000:0000:0002:c903:00a1:b2c3"; 0: none. */
uint64_t nic_text_gid(const char *gid);
/* "0c:42:a1:00:00:01"; 0: none. */
uint64_t nic_text_mac(const char *mac);
/* A decimal number and nothing else. */
bool nic_text_number(const char *text, uint64_t *value);
/* What a counter's file has; InfiniBand's own of sysfs end at their width. */
void nic_text_counter(enum tally_counter counter, const char *text,
                      struct nic_port *port);

#endif

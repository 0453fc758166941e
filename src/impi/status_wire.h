/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The dialogue between impid and the plugin in slurmstepd: one SOCK_SEQPACKET
 * record each way, in the machine's own form.  impid asks when a task has
 * ended; slurmstepd answers when it has reaped it.  The plugin's end closes
 * with slurmstepd.
 */
#ifndef SF_IMPI_STATUS_WIRE_H
#define SF_IMPI_STATUS_WIRE_H

#include <stdint.h>

struct impi_status_request {
    int32_t pid;
};

struct impi_status_reply {
    int32_t pid;
    int32_t status; /* of wait(2); -1: not known */
};

#endif

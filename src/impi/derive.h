/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key of the channels between processes, derived from the secret of the
 * step: what processes hold does not open the channel between agents and
 * server, and one generation's key not that of the next.
 */
#ifndef SF_IMPI_DERIVE_H
#define SF_IMPI_DERIVE_H

#include <stdint.h>

#include "impi/world.h"

/* Key of the channels between processes: impi_world.secret.
 * 0, or -1 with errno ENOMEM. */
int impi_derive_channel(uint8_t out[IMPI_SECRET_SIZE],
                        const uint8_t secret[IMPI_SECRET_SIZE],
                        uint32_t generation);

#endif

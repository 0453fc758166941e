/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/derive.h"

#include "base/be.h"
#include "base/mac.h"

int impi_derive_channel(uint8_t out[IMPI_SECRET_SIZE],
                        const uint8_t secret[IMPI_SECRET_SIZE],
                        uint32_t generation)
{
    uint8_t number[4];
    const struct mac_part parts[] = {{"channels", 8}, {number, sizeof(number)}};

    be_store32(number, generation);
    return mac_sign(out, secret, IMPI_SECRET_SIZE, parts, 2);
}

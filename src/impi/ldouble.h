/* SPDX-License-Identifier: BSD-3-Clause
 *
 * long double to and from IEEE binary128 in big-endian bytes, in integers
 * only.  Packing is exact; unpacking rounds to nearest, ties to even.
 */
#ifndef SF_IMPI_LDOUBLE_H
#define SF_IMPI_LDOUBLE_H

#include <stdint.h>

void impi_ldouble_pack(uint8_t wire[16], long double value);
long double impi_ldouble_unpack(const uint8_t wire[16]);

#endif

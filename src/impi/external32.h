/* SPDX-License-Identifier: BSD-3-Clause
 *
 * external32, the data representation of MPI for strangers: big-endian, sizes
 * fixed by a table.  One codec of our own for both MPI libraries, because
 * theirs differ and are wrong in places.  MPI_LONG has 4 bytes there, wide
 * characters 2: a value that does not fit is an error that says so, never a
 * silent change.
 */
#ifndef SF_IMPI_EXTERNAL32_H
#define SF_IMPI_EXTERNAL32_H

#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

/* Kinds of basic elements.  A complex number is two elements of its kind; a
 * pair type (MPI_DOUBLE_INT ...) is one of each. */
enum impi_x32 {
    IMPI_X32_BYTE,  /* 1: BYTE, PACKED, all characters, INT8, UINT8, C_BOOL,
                       INTEGER1, CHARACTER, CXX_BOOL: never changed */
    IMPI_X32_INT16, /* 2: SHORT, UNSIGNED_SHORT, INT16, UINT16, INTEGER2 */
    IMPI_X32_INT32, /* 4: INT, UNSIGNED, INT32, UINT32, FLOAT, INTEGER,
                       INTEGER4, LOGICAL, REAL, REAL4 */
    IMPI_X32_INT64, /* 8: LONG_LONG, UNSIGNED_LONG_LONG, INT64, UINT64, DOUBLE,
                       AINT, COUNT, OFFSET, INTEGER8, REAL8,
                       DOUBLE_PRECISION */
    IMPI_X32_LONG,  /* native 8 (or 4), wire 4, signed */
    IMPI_X32_ULONG, /* native 8 (or 4), wire 4, unsigned */
    IMPI_X32_WCHAR, /* native 4 (or 2), wire 2 */
    IMPI_X32_LDOUBLE, /* native long double, wire 16 (binary128) */
    IMPI_X32_KINDS
};

size_t impi_x32_wire_size(enum impi_x32 kind);
size_t impi_x32_native_size(enum impi_x32 kind);

/* Convert count elements; the memory may have any alignment and must not
 * overlap.  Return 0, or -1 with errno ERANGE when a value does not fit: err
 * names the first such element (counted from `first`); the others are
 * converted, those are cut. */
int impi_x32_pack(enum impi_x32 kind, void *wire, const void *native,
                  size_t count, uint64_t first, struct errbuf *err);
/* Every wire value fits a native one. */
void impi_x32_unpack(enum impi_x32 kind, void *native, const void *wire,
                     size_t count);

#endif

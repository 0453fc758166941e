/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an accumulate does to the elements of a window.  The numbers of
 * operations and elements are those of the wire (doc/impi-rma.md), not an MPI
 * library's.  Elements lie without gaps, at any address; of a pair, value and
 * index follow each other.
 */
#ifndef SF_IMPI_RMA_OP_H
#define SF_IMPI_RMA_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum impi_rma_opcode {
    IMPI_RMA_REPLACE = 1,
    IMPI_RMA_NO_OP = 2,
    IMPI_RMA_SUM = 3,
    IMPI_RMA_PROD = 4,
    IMPI_RMA_MAX = 5,
    IMPI_RMA_MIN = 6,
    IMPI_RMA_LAND = 7,
    IMPI_RMA_LOR = 8,
    IMPI_RMA_LXOR = 9,
    IMPI_RMA_BAND = 10,
    IMPI_RMA_BOR = 11,
    IMPI_RMA_BXOR = 12,
    IMPI_RMA_MINLOC = 13,
    IMPI_RMA_MAXLOC = 14,
    IMPI_RMA_OPS
};

enum impi_rma_elem {
    IMPI_RMA_BYTE = 1, /* MPI_BYTE: bits and REPLACE only */
    IMPI_RMA_INT8 = 2,
    IMPI_RMA_UINT8 = 3,
    IMPI_RMA_INT16 = 4,
    IMPI_RMA_UINT16 = 5,
    IMPI_RMA_INT32 = 6,
    IMPI_RMA_UINT32 = 7,
    IMPI_RMA_INT64 = 8,
    IMPI_RMA_UINT64 = 9,
    IMPI_RMA_FLOAT = 10,
    IMPI_RMA_DOUBLE = 11,
    IMPI_RMA_LDOUBLE = 12,
    IMPI_RMA_CFLOAT = 13,
    IMPI_RMA_CDOUBLE = 14,
    IMPI_RMA_CLDOUBLE = 15,
    IMPI_RMA_BOOL = 16,      /* one byte, logical operations only */
    IMPI_RMA_LOGICAL = 17,   /* Fortran's, four bytes, likewise */
    IMPI_RMA_FLOAT_INT = 18, /* pairs: MINLOC and MAXLOC only */
    IMPI_RMA_DOUBLE_INT = 19,
    IMPI_RMA_LONG_INT = 20, /* 64 bits and 32 */
    IMPI_RMA_SHORT_INT = 21,
    IMPI_RMA_2INT = 22,
    IMPI_RMA_LDOUBLE_INT = 23,
    IMPI_RMA_2FLOAT = 24,
    IMPI_RMA_2DOUBLE = 25,
    IMPI_RMA_CHAR = 26, /* REPLACE only: characters, wide ones are UINT32 */
    IMPI_RMA_ELEMS
};

#define IMPI_RMA_ELEM_SIZE_MAX 32

/* Bytes of an element, 0: no such. */
size_t impi_rma_elem_size(uint32_t elem);

/* Does MPI define the operation for it? */
bool impi_rma_op_fits(uint32_t op, uint32_t elem);

/* inout = inout op in, for n elements; they fit. */
void impi_rma_op_apply(uint32_t op, uint32_t elem, void *inout, const void *in,
                       size_t n);

#endif

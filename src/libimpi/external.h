/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User data in external32, the representation on the wire when the clients'
 * own ones differ.
 *
 * A type is known here by its signature only: the sequence of its basic
 * elements.  Where they lie is left to the native MPI_Pack and MPI_Unpack,
 * whose packed form is that sequence without gaps.
 *
 * Functions return an MPI error code.
 */
#ifndef LIBIMPI_EXTERNAL_H
#define LIBIMPI_EXTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "libimpi/calls.h"

/* `repeat` times: n elements of one kind, or the children in order. */
struct signature {
    uint64_t repeat;
    size_t native; /* bytes of one round */
    size_t wire;
    int kind;   /* enum impi_x32 when there are no children */
    uint64_t n; /* elements of that kind */
    size_t nchildren;
    struct signature *child;
};

int signature_make(struct signature *s, MPI_Datatype type);
void signature_free(struct signature *s);

/* Bytes on the wire of one element of type. */
int external_size(MPI_Datatype type, size_t *wire);

/* external32 and memory are the same bytes for this predefined type. */
bool external_is_plain(MPI_Datatype basic);

/* count elements of type, packed natively without gaps, to the wire.
 * MPI_ERR_CONVERSION: a value does not fit. */
int external_encode(MPI_Datatype type, void *wire, const void *packed,
                    int count);

/* The other way: len bytes, which may end before count elements do.
 * *bytes: how many have been written to packed. */
int external_decode(MPI_Datatype type, void *packed, const void *wire,
                    uint64_t len, int count, uint64_t *bytes);

#endif

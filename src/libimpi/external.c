/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User data in external32.
 */
#include "libimpi/external.h"

#include <stddef.h>

#include "libimpi/layouts.h"
#include "libimpi/state.h"

/* ---- predefined types ---- */

struct named {
    MPI_Datatype type;
    int kind, n;
    ptrdiff_t second; /* where the int of a pair lies; -1: no pair */
};

/* MPI_SHORT_INT and its like. */
#define PAIR_OF(name, type)                                                    \
    struct pair_##name {                                                       \
        type first;                                                            \
        int second;                                                            \
    }
PAIR_OF(short, short);
PAIR_OF(float, float);
PAIR_OF(double, double);
PAIR_OF(long, long);
PAIR_OF(ldouble, long double);
#undef PAIR_OF

static const struct named named_types[] = {
#define ONE(type, kind)                                                        \
    {                                                                          \
        type, IMPI_X32_##kind, 1, -1                                           \
    }
#define TWO(type, kind)                                                        \
    {                                                                          \
        type, IMPI_X32_##kind, 2, -1                                           \
    }
#define PAIR(type, kind, first)                                                \
    {                                                                          \
        type, IMPI_X32_##kind, 1, offsetof(struct pair_##first, second)        \
    }
    ONE(MPI_BYTE, BYTE),
    ONE(MPI_PACKED, BYTE),
    ONE(MPI_CHAR, BYTE),
    ONE(MPI_SIGNED_CHAR, BYTE),
    ONE(MPI_UNSIGNED_CHAR, BYTE),
    ONE(MPI_INT8_T, BYTE),
    ONE(MPI_UINT8_T, BYTE),
    ONE(MPI_C_BOOL, BYTE),
    ONE(MPI_CXX_BOOL, BYTE),
    ONE(MPI_CHARACTER, BYTE),
    ONE(MPI_INTEGER1, BYTE),
    ONE(MPI_SHORT, INT16),
    ONE(MPI_UNSIGNED_SHORT, INT16),
    ONE(MPI_INT16_T, INT16),
    ONE(MPI_UINT16_T, INT16),
    ONE(MPI_INTEGER2, INT16),
    ONE(MPI_INT, INT32),
    ONE(MPI_UNSIGNED, INT32),
    ONE(MPI_INT32_T, INT32),
    ONE(MPI_UINT32_T, INT32),
    ONE(MPI_FLOAT, INT32),
    ONE(MPI_INTEGER, INT32),
    ONE(MPI_INTEGER4, INT32),
    ONE(MPI_LOGICAL, INT32),
    ONE(MPI_REAL, INT32),
    ONE(MPI_REAL4, INT32),
    ONE(MPI_LONG_LONG, INT64),
    ONE(MPI_UNSIGNED_LONG_LONG, INT64),
    ONE(MPI_INT64_T, INT64),
    ONE(MPI_UINT64_T, INT64),
    ONE(MPI_DOUBLE, INT64),
    ONE(MPI_AINT, INT64),
    ONE(MPI_COUNT, INT64),
    ONE(MPI_OFFSET, INT64),
    ONE(MPI_INTEGER8, INT64),
    ONE(MPI_REAL8, INT64),
    ONE(MPI_DOUBLE_PRECISION, INT64),
    ONE(MPI_LONG, LONG),
    ONE(MPI_UNSIGNED_LONG, ULONG),
    ONE(MPI_WCHAR, WCHAR),
    ONE(MPI_LONG_DOUBLE, LDOUBLE),
    TWO(MPI_C_COMPLEX, INT32),
    TWO(MPI_C_FLOAT_COMPLEX, INT32),
    TWO(MPI_CXX_FLOAT_COMPLEX, INT32),
    TWO(MPI_COMPLEX, INT32),
    TWO(MPI_COMPLEX8, INT32),
    TWO(MPI_2INT, INT32),
    TWO(MPI_2INTEGER, INT32),
    TWO(MPI_2REAL, INT32),
    TWO(MPI_C_DOUBLE_COMPLEX, INT64),
    TWO(MPI_CXX_DOUBLE_COMPLEX, INT64),
    TWO(MPI_DOUBLE_COMPLEX, INT64),
    TWO(MPI_COMPLEX16, INT64),
    TWO(MPI_2DOUBLE_PRECISION, INT64),
    TWO(MPI_C_LONG_DOUBLE_COMPLEX, LDOUBLE),
    TWO(MPI_CXX_LONG_DOUBLE_COMPLEX, LDOUBLE),
    PAIR(MPI_SHORT_INT, INT16, short),
    PAIR(MPI_FLOAT_INT, INT32, float),
    PAIR(MPI_DOUBLE_INT, INT64, double),
    PAIR(MPI_LONG_INT, LONG, long),
    PAIR(MPI_LONG_DOUBLE_INT, LDOUBLE, ldouble),
#undef ONE
#undef TWO
#undef PAIR
};

bool external_is_plain(MPI_Datatype basic)
{
    return basic == MPI_BYTE || basic == MPI_CHAR || basic == MPI_SIGNED_CHAR ||
           basic == MPI_UNSIGNED_CHAR || basic == MPI_PACKED ||
           basic == MPI_CHARACTER;
}

/* ---- their layouts ---- */

static enum impi_x32 wire_kind(const struct named *t)
{
    bool is_long = t->kind == IMPI_X32_LONG || t->kind == IMPI_X32_ULONG;

    if (is_long && sizeof(long) == 8 && impi_be.tolerated.long8)
        return IMPI_X32_INT64;
    return (enum impi_x32)t->kind;
}

static int make_pair(struct impi_layout **l, const struct named *t)
{
    int rc = layout_made(*l = impi_layout_list(2));

    if (rc == MPI_SUCCESS)
        rc = layout_add(*l, 0, 1, 0, impi_layout_leaf(wire_kind(t), 1));
    if (rc == MPI_SUCCESS)
        rc = layout_add(*l, t->second, 1, 0,
                        impi_layout_leaf(IMPI_X32_INT32, 1));
    return rc;
}

int layout_of_named(struct impi_layout **l, MPI_Datatype type)
{
    const size_t n = sizeof(named_types) / sizeof(named_types[0]);

    for (size_t i = 0; i < n; i++) {
        const struct named *t = &named_types[i];

        if (t->type != type)
            continue;
        if (t->second >= 0)
            return make_pair(l, t);
        *l = impi_layout_leaf(wire_kind(t), (uint64_t)t->n);
        return layout_made(*l);
    }
    return MPI_ERR_UNSUPPORTED_DATAREP;
}

int layout_of_f90(struct impi_layout **l, MPI_Datatype type, int combiner)
{
    bool complex = combiner == MPI_COMBINER_F90_COMPLEX;
    int size, rc = impi_real.Type_size(type, &size);
    enum impi_x32 kind;

    if (rc != MPI_SUCCESS)
        return rc;
    switch (complex ? size / 2 : size) {
    case 2:
        kind = IMPI_X32_INT16;
        break;
    case 4:
        kind = IMPI_X32_INT32;
        break;
    case 8:
        kind = IMPI_X32_INT64;
        break;
    default:
        return MPI_ERR_UNSUPPORTED_DATAREP;
    }
    return layout_made(*l = impi_layout_leaf(kind, complex ? 2 : 1));
}

/* ---- conversion ---- */

struct types {
    const struct impi_layout *l;
    struct impi_layout *own; /* free it */
    MPI_Aint extent;
};

static int open_type(struct types *t, const struct type_info *info)
{
    MPI_Aint lb;
    int rc;

    *t = (struct types){.l = info->layout, .extent = info->extent};
    if (t->l)
        return MPI_SUCCESS;
    rc = impi_real.Type_get_extent(info->type, &lb, &t->extent);
    if (rc == MPI_SUCCESS)
        rc = layout_make(&t->own, info->type);
    t->l = t->own;
    return rc;
}

int external_size(MPI_Datatype type, size_t *wire)
{
    struct impi_layout *l;
    int rc = layout_make(&l, type);

    if (rc != MPI_SUCCESS)
        return rc;
    *wire = impi_layout_wire(l);
    impi_layout_free(l);
    return MPI_SUCCESS;
}

int external_encode(const struct type_info *info, void *wire, const void *buf,
                    uint64_t count)
{
    struct types t;
    int rc = open_type(&t, info);

    if (rc != MPI_SUCCESS)
        return rc;
    if (impi_layout_pack(t.l, wire, (intptr_t)buf, t.extent, count) < 0)
        rc = MPI_ERR_CONVERSION;
    impi_layout_free(t.own);
    return rc;
}

int external_decode(const struct type_info *info, void *buf, const void *wire,
                    uint64_t len, uint64_t count, uint64_t *bytes)
{
    struct types t;
    int rc = open_type(&t, info);

    if (rc != MPI_SUCCESS)
        return rc;
    *bytes = impi_layout_unpack(t.l, (intptr_t)buf, wire, len, t.extent, count);
    impi_layout_free(t.own);
    return MPI_SUCCESS;
}

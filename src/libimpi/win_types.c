/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes and operations of the program in the terms of impi/rma.h.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "libimpi/state.h"
#include "libimpi/type_runs.h"
#include "libimpi/win.h"

/* ---- where a type's bytes lie ---- */

/* One block that is followed by the next element at once. */
static bool is_row(const struct impi_typemap *t)
{
    return t->nruns == 0 ||
           (t->nruns == 1 && t->runs[0].repeat == 1 && t->runs[0].disp == 0 &&
            (int64_t)t->runs[0].len == t->extent);
}

int win_type_make(struct impi_typemap **type, MPI_Datatype from)
{
    struct type_runs r;
    int rc = type_runs_get(&r, from, SF_IMPI_RUNS_MAX);

    *type = NULL;
    if (rc == MPI_SUCCESS) {
        *type = impi_typemap_make(r.extent, r.run, r.n);
        rc = *type ? MPI_SUCCESS : MPI_ERR_TYPE;
    }
    free(r.run);
    if (*type && is_row(*type)) {
        free(*type);
        *type = NULL;
    }
    return rc;
}

/* ---- its elements ---- */

/* `size`: the element that fits is found by the size of the type. */
enum of { INT_OF = 100, UINT_OF, FLOAT_OF, COMPLEX_OF, LOGICAL_OF, PAIR_OF };

static const struct {
    MPI_Datatype type;
    uint32_t elem;
} named[] = {
    {MPI_BYTE, IMPI_RMA_BYTE},
    {MPI_PACKED, IMPI_RMA_BYTE},
    {MPI_CHAR, IMPI_RMA_INT8},
    {MPI_CHARACTER, IMPI_RMA_CHAR},
    {MPI_SIGNED_CHAR, IMPI_RMA_INT8},
    {MPI_UNSIGNED_CHAR, IMPI_RMA_UINT8},
    {MPI_SHORT, INT_OF},
    {MPI_INT, INT_OF},
    {MPI_LONG, INT_OF},
    {MPI_LONG_LONG, INT_OF},
    {MPI_INT8_T, INT_OF},
    {MPI_INT16_T, INT_OF},
    {MPI_INT32_T, INT_OF},
    {MPI_INT64_T, INT_OF},
    {MPI_AINT, INT_OF},
    {MPI_COUNT, INT_OF},
    {MPI_OFFSET, INT_OF},
    {MPI_INTEGER, INT_OF},
    {MPI_INTEGER1, INT_OF},
    {MPI_INTEGER2, INT_OF},
    {MPI_INTEGER4, INT_OF},
    {MPI_INTEGER8, INT_OF},
    {MPI_WCHAR, UINT_OF},
    {MPI_UNSIGNED_SHORT, UINT_OF},
    {MPI_UNSIGNED, UINT_OF},
    {MPI_UNSIGNED_LONG, UINT_OF},
    {MPI_UNSIGNED_LONG_LONG, UINT_OF},
    {MPI_UINT8_T, UINT_OF},
    {MPI_UINT16_T, UINT_OF},
    {MPI_UINT32_T, UINT_OF},
    {MPI_UINT64_T, UINT_OF},
    {MPI_FLOAT, FLOAT_OF},
    {MPI_DOUBLE, FLOAT_OF},
    {MPI_LONG_DOUBLE, IMPI_RMA_LDOUBLE},
    {MPI_REAL, FLOAT_OF},
    {MPI_REAL4, FLOAT_OF},
    {MPI_REAL8, FLOAT_OF},
    {MPI_DOUBLE_PRECISION, FLOAT_OF},
    {MPI_C_FLOAT_COMPLEX, COMPLEX_OF},
    {MPI_C_COMPLEX, COMPLEX_OF},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX_OF},
    {MPI_C_LONG_DOUBLE_COMPLEX, IMPI_RMA_CLDOUBLE},
    {MPI_CXX_FLOAT_COMPLEX, COMPLEX_OF},
    {MPI_CXX_DOUBLE_COMPLEX, COMPLEX_OF},
    {MPI_CXX_LONG_DOUBLE_COMPLEX, IMPI_RMA_CLDOUBLE},
    {MPI_COMPLEX, COMPLEX_OF},
    {MPI_COMPLEX8, COMPLEX_OF},
    {MPI_COMPLEX16, COMPLEX_OF},
    {MPI_DOUBLE_COMPLEX, COMPLEX_OF},
    {MPI_C_BOOL, IMPI_RMA_BOOL},
    {MPI_CXX_BOOL, IMPI_RMA_BOOL},
    {MPI_LOGICAL, LOGICAL_OF},
    {MPI_FLOAT_INT, IMPI_RMA_FLOAT_INT},
    {MPI_DOUBLE_INT, IMPI_RMA_DOUBLE_INT},
    {MPI_LONG_INT, PAIR_OF},
    {MPI_SHORT_INT, IMPI_RMA_SHORT_INT},
    {MPI_2INT, IMPI_RMA_2INT},
    {MPI_LONG_DOUBLE_INT, IMPI_RMA_LDOUBLE_INT},
    {MPI_2INTEGER, IMPI_RMA_2INT},
    {MPI_2REAL, IMPI_RMA_2FLOAT},
    {MPI_2DOUBLE_PRECISION, IMPI_RMA_2DOUBLE},
};

static uint32_t by_size(uint32_t of, size_t size)
{
    static const struct {
        uint32_t of;
        size_t size;
        uint32_t elem;
    } sizes[] = {
        {INT_OF, 1, IMPI_RMA_INT8},        {INT_OF, 2, IMPI_RMA_INT16},
        {INT_OF, 4, IMPI_RMA_INT32},       {INT_OF, 8, IMPI_RMA_INT64},
        {UINT_OF, 1, IMPI_RMA_UINT8},      {UINT_OF, 2, IMPI_RMA_UINT16},
        {UINT_OF, 4, IMPI_RMA_UINT32},     {UINT_OF, 8, IMPI_RMA_UINT64},
        {FLOAT_OF, 4, IMPI_RMA_FLOAT},     {FLOAT_OF, 8, IMPI_RMA_DOUBLE},
        {COMPLEX_OF, 8, IMPI_RMA_CFLOAT},  {COMPLEX_OF, 16, IMPI_RMA_CDOUBLE},
        {LOGICAL_OF, 4, IMPI_RMA_LOGICAL}, {PAIR_OF, 12, IMPI_RMA_LONG_INT},
        {PAIR_OF, 8, IMPI_RMA_2INT},
    };

    if (of < INT_OF)
        return of;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i].of == of && sizes[i].size == size)
            return sizes[i].elem;
    return 0;
}

/* Types of Fortran that a library was built without are null. */
static uint32_t elem_of_named(MPI_Datatype type)
{
    int size = 0;

    if (impi_real.Type_size(type, &size) != MPI_SUCCESS || size <= 0)
        return 0;
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++)
        if (named[i].type == type)
            return by_size(named[i].elem, (size_t)size);
    return 0;
}

static uint32_t elem_of_f90(MPI_Datatype type, int combiner)
{
    int size = 0;

    if (impi_real.Type_size(type, &size) != MPI_SUCCESS)
        return 0;
    return by_size(combiner == MPI_COMBINER_F90_INTEGER ? INT_OF
                   : combiner == MPI_COMBINER_F90_REAL  ? FLOAT_OF
                                                        : COMPLEX_OF,
                   (size_t)size);
}

/* All types that one is made of have the same element. */
static uint32_t elem_of_inner(MPI_Datatype type, int nints, int naddrs,
                              int ntypes)
{
    int *ints = calloc((size_t)nints + 1, sizeof(*ints));
    MPI_Aint *addrs = calloc((size_t)naddrs + 1, sizeof(*addrs));
    MPI_Datatype *types = calloc((size_t)ntypes + 1, sizeof(*types));
    uint32_t elem = 0;
    bool same = ints && addrs && types &&
                impi_real.Type_get_contents(type, nints, naddrs, ntypes, ints,
                                            addrs, types) == MPI_SUCCESS;

    for (int i = 0; same && i < ntypes; i++) {
        uint32_t e = win_type_elem(types[i]);
        int a, b, c, combiner;

        if (i > 0 && e != elem)
            e = UINT32_MAX;
        elem = e;
        if (impi_real.Type_get_envelope(types[i], &a, &b, &c, &combiner) ==
                MPI_SUCCESS &&
            combiner != MPI_COMBINER_NAMED &&
            combiner != MPI_COMBINER_F90_REAL &&
            combiner != MPI_COMBINER_F90_COMPLEX &&
            combiner != MPI_COMBINER_F90_INTEGER)
            impi_real.Type_free(&types[i]);
    }
    free(ints);
    free(addrs);
    free(types);
    return elem == UINT32_MAX ? 0 : elem;
}

/* Predefined types that were asked for; they never go away.  Written under the
 * lock, read without. */
static struct {
    MPI_Datatype type;
    uint32_t elem;
} known[sizeof(named) / sizeof(named[0])];
static unsigned nknown;

uint32_t win_type_known(MPI_Datatype type)
{
    unsigned n = __atomic_load_n(&nknown, __ATOMIC_ACQUIRE);

    for (unsigned i = 0; i < n; i++)
        if (known[i].type == type)
            return known[i].elem;
    return 0;
}

static void remember(MPI_Datatype type, uint32_t elem)
{
    if (win_type_known(type) || nknown == sizeof(known) / sizeof(known[0]))
        return;
    known[nknown].type = type;
    known[nknown].elem = elem;
    __atomic_store_n(&nknown, nknown + 1, __ATOMIC_RELEASE);
}

uint32_t win_type_elem(MPI_Datatype type)
{
    uint32_t elem;

    int nints, naddrs, ntypes, combiner;

    if (impi_real.Type_get_envelope(type, &nints, &naddrs, &ntypes,
                                    &combiner) != MPI_SUCCESS)
        return 0;
    switch (combiner) {
    case MPI_COMBINER_NAMED:
        elem = elem_of_named(type);
        if (elem)
            remember(type, elem);
        return elem;
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
        return elem_of_f90(type, combiner);
    default:
        return elem_of_inner(type, nints, naddrs, ntypes);
    }
}

/* ---- operations ---- */

uint32_t win_opcode(MPI_Op op)
{
    static const struct {
        MPI_Op op;
        uint32_t code;
    } ops[] = {
        {MPI_REPLACE, IMPI_RMA_REPLACE}, {MPI_NO_OP, IMPI_RMA_NO_OP},
        {MPI_SUM, IMPI_RMA_SUM},         {MPI_PROD, IMPI_RMA_PROD},
        {MPI_MAX, IMPI_RMA_MAX},         {MPI_MIN, IMPI_RMA_MIN},
        {MPI_LAND, IMPI_RMA_LAND},       {MPI_LOR, IMPI_RMA_LOR},
        {MPI_LXOR, IMPI_RMA_LXOR},       {MPI_BAND, IMPI_RMA_BAND},
        {MPI_BOR, IMPI_RMA_BOR},         {MPI_BXOR, IMPI_RMA_BXOR},
        {MPI_MINLOC, IMPI_RMA_MINLOC},   {MPI_MAXLOC, IMPI_RMA_MAXLOC},
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (ops[i].op == op)
            return ops[i].code;
    return 0;
}

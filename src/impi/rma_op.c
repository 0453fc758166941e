/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Integers are added and multiplied without sign, so that what overflows
 * wraps around as it does in both MPI libraries.
 */
#include "impi/rma_op.h"

#include <complex.h>
#include <string.h>

enum class { NONE, BYTES, INTEGER, FLOATING, COMPLEX, LOGICAL, PAIR };

static const struct {
    uint8_t size;
    uint8_t class;
} elems[IMPI_RMA_ELEMS] = {
    [IMPI_RMA_BYTE] = {1, BYTES},
    [IMPI_RMA_CHAR] = {1, NONE},
    [IMPI_RMA_INT8] = {1, INTEGER},
    [IMPI_RMA_UINT8] = {1, INTEGER},
    [IMPI_RMA_INT16] = {2, INTEGER},
    [IMPI_RMA_UINT16] = {2, INTEGER},
    [IMPI_RMA_INT32] = {4, INTEGER},
    [IMPI_RMA_UINT32] = {4, INTEGER},
    [IMPI_RMA_INT64] = {8, INTEGER},
    [IMPI_RMA_UINT64] = {8, INTEGER},
    [IMPI_RMA_FLOAT] = {sizeof(float), FLOATING},
    [IMPI_RMA_DOUBLE] = {sizeof(double), FLOATING},
    [IMPI_RMA_LDOUBLE] = {sizeof(long double), FLOATING},
    [IMPI_RMA_CFLOAT] = {2 * sizeof(float), COMPLEX},
    [IMPI_RMA_CDOUBLE] = {2 * sizeof(double), COMPLEX},
    [IMPI_RMA_CLDOUBLE] = {2 * sizeof(long double), COMPLEX},
    [IMPI_RMA_BOOL] = {1, LOGICAL},
    [IMPI_RMA_LOGICAL] = {4, LOGICAL},
    [IMPI_RMA_FLOAT_INT] = {sizeof(float) + 4, PAIR},
    [IMPI_RMA_DOUBLE_INT] = {sizeof(double) + 4, PAIR},
    [IMPI_RMA_LONG_INT] = {12, PAIR},
    [IMPI_RMA_SHORT_INT] = {6, PAIR},
    [IMPI_RMA_2INT] = {8, PAIR},
    [IMPI_RMA_LDOUBLE_INT] = {sizeof(long double) + 4, PAIR},
    [IMPI_RMA_2FLOAT] = {2 * sizeof(float), PAIR},
    [IMPI_RMA_2DOUBLE] = {2 * sizeof(double), PAIR},
};

size_t impi_rma_elem_size(uint32_t elem)
{
    return elem < IMPI_RMA_ELEMS ? elems[elem].size : 0;
}

bool impi_rma_op_fits(uint32_t op, uint32_t elem)
{
    if (impi_rma_elem_size(elem) == 0)
        return false;
    switch (op) {
    case IMPI_RMA_REPLACE:
    case IMPI_RMA_NO_OP:
        return true;
    case IMPI_RMA_SUM:
    case IMPI_RMA_PROD:
        return elems[elem].class >= INTEGER && elems[elem].class <= COMPLEX;
    case IMPI_RMA_MAX:
    case IMPI_RMA_MIN:
        return elems[elem].class == INTEGER || elems[elem].class == FLOATING;
    case IMPI_RMA_LAND:
    case IMPI_RMA_LOR:
    case IMPI_RMA_LXOR:
        return elems[elem].class == INTEGER || elems[elem].class == LOGICAL;
    case IMPI_RMA_BAND:
    case IMPI_RMA_BOR:
    case IMPI_RMA_BXOR:
        return elems[elem].class == INTEGER || elems[elem].class == BYTES;
    case IMPI_RMA_MINLOC:
    case IMPI_RMA_MAXLOC:
        return elems[elem].class == PAIR;
    default:
        return false;
    }
}

/* One loop: a is the element there, b the one that comes, r the result. */
#define EACH(type, result)                                                     \
    do {                                                                       \
        for (size_t i = 0; i < n;                                              \
             i++, to += sizeof(type), from += sizeof(type)) {                  \
            type a, b, r;                                                      \
                                                                               \
            memcpy(&a, to, sizeof(a));                                         \
            memcpy(&b, from, sizeof(b));                                       \
            r = (type)(result);                                                \
            memcpy(to, &r, sizeof(r));                                         \
        }                                                                      \
    } while (0);                                                               \
    break

#define INTEGERS(name, type)                                                   \
    static void name(uint32_t op, uint8_t *to, const uint8_t *from, size_t n)  \
    {                                                                          \
        switch (op) {                                                          \
        case IMPI_RMA_SUM:                                                     \
            EACH(type, (uint64_t)a + (uint64_t)b);                             \
        case IMPI_RMA_PROD:                                                    \
            EACH(type, (uint64_t)a *(uint64_t)b);                              \
        case IMPI_RMA_MAX:                                                     \
            EACH(type, a > b ? a : b);                                         \
        case IMPI_RMA_MIN:                                                     \
            EACH(type, a < b ? a : b);                                         \
        case IMPI_RMA_LAND:                                                    \
            EACH(type, a &&b);                                                 \
        case IMPI_RMA_LOR:                                                     \
            EACH(type, a || b);                                                \
        case IMPI_RMA_LXOR:                                                    \
            EACH(type, !a != !b);                                              \
        case IMPI_RMA_BAND:                                                    \
            EACH(type, a &b);                                                  \
        case IMPI_RMA_BOR:                                                     \
            EACH(type, a | b);                                                 \
        case IMPI_RMA_BXOR:                                                    \
            EACH(type, a ^ b);                                                 \
        default:                                                               \
            break;                                                             \
        }                                                                      \
    }

INTEGERS(on_int8, int8_t)
INTEGERS(on_uint8, uint8_t)
INTEGERS(on_int16, int16_t)
INTEGERS(on_uint16, uint16_t)
INTEGERS(on_int32, int32_t)
INTEGERS(on_uint32, uint32_t)
INTEGERS(on_int64, int64_t)
INTEGERS(on_uint64, uint64_t)

#define FLOATS(name, type)                                                     \
    static void name(uint32_t op, uint8_t *to, const uint8_t *from, size_t n)  \
    {                                                                          \
        switch (op) {                                                          \
        case IMPI_RMA_SUM:                                                     \
            EACH(type, a + b);                                                 \
        case IMPI_RMA_PROD:                                                    \
            EACH(type, a *b);                                                  \
        case IMPI_RMA_MAX:                                                     \
            EACH(type, a > b ? a : b);                                         \
        case IMPI_RMA_MIN:                                                     \
            EACH(type, a < b ? a : b);                                         \
        default:                                                               \
            break;                                                             \
        }                                                                      \
    }

FLOATS(on_float, float)
FLOATS(on_double, double)
FLOATS(on_ldouble, long double)

#define COMPLEXES(name, type)                                                  \
    static void name(uint32_t op, uint8_t *to, const uint8_t *from, size_t n)  \
    {                                                                          \
        switch (op) {                                                          \
        case IMPI_RMA_SUM:                                                     \
            EACH(type, a + b);                                                 \
        case IMPI_RMA_PROD:                                                    \
            EACH(type, a *b);                                                  \
        default:                                                               \
            break;                                                             \
        }                                                                      \
    }

COMPLEXES(on_cfloat, float complex)
COMPLEXES(on_cdouble, double complex)
COMPLEXES(on_cldouble, long double complex)

/* The first index counts where values are equal. */
#define PAIRS(name, type, index)                                               \
    static void name(uint32_t op, uint8_t *to, const uint8_t *from, size_t n)  \
    {                                                                          \
        for (size_t i = 0; i < n; i++) {                                       \
            type a, b;                                                         \
            index x, y;                                                        \
                                                                               \
            memcpy(&a, to, sizeof(a));                                         \
            memcpy(&x, to + sizeof(a), sizeof(x));                             \
            memcpy(&b, from, sizeof(b));                                       \
            memcpy(&y, from + sizeof(b), sizeof(y));                           \
            if ((op == IMPI_RMA_MINLOC ? b < a : b > a) || (a == b && y < x))  \
                memcpy(to, from, sizeof(a) + sizeof(x));                       \
            to += sizeof(a) + sizeof(x);                                       \
            from += sizeof(a) + sizeof(x);                                     \
        }                                                                      \
    }

PAIRS(on_float_int, float, int32_t)
PAIRS(on_double_int, double, int32_t)
PAIRS(on_long_int, int64_t, int32_t)
PAIRS(on_short_int, int16_t, int32_t)
PAIRS(on_2int, int32_t, int32_t)
PAIRS(on_ldouble_int, long double, int32_t)
PAIRS(on_2float, float, float)
PAIRS(on_2double, double, double)

typedef void apply_f(uint32_t op, uint8_t *to, const uint8_t *from, size_t n);

static apply_f *const apply[IMPI_RMA_ELEMS] = {
    [IMPI_RMA_BYTE] = on_uint8,
    [IMPI_RMA_INT8] = on_int8,
    [IMPI_RMA_UINT8] = on_uint8,
    [IMPI_RMA_INT16] = on_int16,
    [IMPI_RMA_UINT16] = on_uint16,
    [IMPI_RMA_INT32] = on_int32,
    [IMPI_RMA_UINT32] = on_uint32,
    [IMPI_RMA_INT64] = on_int64,
    [IMPI_RMA_UINT64] = on_uint64,
    [IMPI_RMA_FLOAT] = on_float,
    [IMPI_RMA_DOUBLE] = on_double,
    [IMPI_RMA_LDOUBLE] = on_ldouble,
    [IMPI_RMA_CFLOAT] = on_cfloat,
    [IMPI_RMA_CDOUBLE] = on_cdouble,
    [IMPI_RMA_CLDOUBLE] = on_cldouble,
    [IMPI_RMA_BOOL] = on_uint8,
    [IMPI_RMA_LOGICAL] = on_int32,
    [IMPI_RMA_FLOAT_INT] = on_float_int,
    [IMPI_RMA_DOUBLE_INT] = on_double_int,
    [IMPI_RMA_LONG_INT] = on_long_int,
    [IMPI_RMA_SHORT_INT] = on_short_int,
    [IMPI_RMA_2INT] = on_2int,
    [IMPI_RMA_LDOUBLE_INT] = on_ldouble_int,
    [IMPI_RMA_2FLOAT] = on_2float,
    [IMPI_RMA_2DOUBLE] = on_2double,
};

void impi_rma_op_apply(uint32_t op, uint32_t elem, void *inout, const void *in,
                       size_t n)
{
    if (op == IMPI_RMA_REPLACE)
        memcpy(inout, in, n * elems[elem].size);
    else if (op != IMPI_RMA_NO_OP)
        apply[elem](op, inout, in, n);
}

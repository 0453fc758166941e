/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User data in external32.
 */
#include "libimpi/external.h"

#include <stdlib.h>

#include "impi/external32.h"
#include "libimpi/state.h"

/* ---- predefined types ---- */

struct named {
    MPI_Datatype type;
    int kind, n;
    int kind2; /* the second of a pair, always one; -1: none */
};

static const struct named named_types[] = {
#define ONE(type, kind)                                                        \
    {                                                                          \
        type, IMPI_X32_##kind, 1, -1                                           \
    }
#define TWO(type, kind)                                                        \
    {                                                                          \
        type, IMPI_X32_##kind, 2, -1                                           \
    }
#define PAIR(type, kind)                                                       \
    {                                                                          \
        type, IMPI_X32_##kind, 1, IMPI_X32_INT32                               \
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
    PAIR(MPI_SHORT_INT, INT16),
    PAIR(MPI_FLOAT_INT, INT32),
    PAIR(MPI_DOUBLE_INT, INT64),
    PAIR(MPI_LONG_INT, LONG),
    PAIR(MPI_LONG_DOUBLE_INT, LDOUBLE),
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

/* ---- signatures ---- */

static void set_leaf(struct signature *s, int kind, uint64_t n)
{
    *s = (struct signature){
        .repeat = 1,
        .kind = kind,
        .n = n,
        .native = n * impi_x32_native_size((enum impi_x32)kind),
        .wire = n * impi_x32_wire_size((enum impi_x32)kind)};
}

static int add_children(struct signature *s, size_t n)
{
    *s = (struct signature){.repeat = 1, .nchildren = n};
    s->child = calloc(n ? n : 1, sizeof(*s->child));
    return s->child ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static void sum_up(struct signature *s)
{
    s->native = s->wire = 0;
    for (size_t i = 0; i < s->nchildren; i++) {
        s->native += s->child[i].repeat * s->child[i].native;
        s->wire += s->child[i].repeat * s->child[i].wire;
    }
}

static int make_named(struct signature *s, MPI_Datatype type)
{
    const size_t n = sizeof(named_types) / sizeof(named_types[0]);
    int rc;

    for (size_t i = 0; i < n; i++) {
        const struct named *t = &named_types[i];

        if (t->type != type)
            continue;
        if (t->kind2 < 0) {
            set_leaf(s, t->kind, (uint64_t)t->n);
            return MPI_SUCCESS;
        }
        rc = add_children(s, 2);
        if (rc != MPI_SUCCESS)
            return rc;
        set_leaf(&s->child[0], t->kind, 1);
        set_leaf(&s->child[1], t->kind2, 1);
        sum_up(s);
        return MPI_SUCCESS;
    }
    return MPI_ERR_UNSUPPORTED_DATAREP;
}

/* Types made by MPI_Type_create_f90_*: by their size. */
static int make_f90(struct signature *s, MPI_Datatype type, int combiner)
{
    bool complex = combiner == MPI_COMBINER_F90_COMPLEX;
    int size, rc = impi_real.Type_size(type, &size);

    if (rc != MPI_SUCCESS)
        return rc;
    switch (complex ? size / 2 : size) {
    case 2:
        set_leaf(s, IMPI_X32_INT16, complex ? 2 : 1);
        return MPI_SUCCESS;
    case 4:
        set_leaf(s, IMPI_X32_INT32, complex ? 2 : 1);
        return MPI_SUCCESS;
    case 8:
        set_leaf(s, IMPI_X32_INT64, complex ? 2 : 1);
        return MPI_SUCCESS;
    default:
        return MPI_ERR_UNSUPPORTED_DATAREP;
    }
}

/* What MPI_Type_get_contents says. */
struct contents {
    int nints, naddrs, ntypes, combiner;
    int *ints;
    MPI_Aint *addrs;
    MPI_Datatype *types;
};

static void contents_free(struct contents *c)
{
    for (int i = 0; c->types && i < c->ntypes; i++) {
        int a, b, t, combiner = MPI_COMBINER_NAMED;

        impi_real.Type_get_envelope(c->types[i], &a, &b, &t, &combiner);
        if (combiner != MPI_COMBINER_NAMED &&
            combiner != MPI_COMBINER_F90_REAL &&
            combiner != MPI_COMBINER_F90_COMPLEX &&
            combiner != MPI_COMBINER_F90_INTEGER)
            impi_real.Type_free(&c->types[i]);
    }
    free(c->ints);
    free(c->addrs);
    free(c->types);
}

static int contents_get(struct contents *c, MPI_Datatype type)
{
    int rc = MPI_ERR_NO_MEM;

    c->ints = calloc((size_t)c->nints + 1, sizeof(int));
    c->addrs = calloc((size_t)c->naddrs + 1, sizeof(MPI_Aint));
    c->types = calloc((size_t)c->ntypes + 1, sizeof(MPI_Datatype));
    if (c->ints && c->addrs && c->types)
        rc = impi_real.Type_get_contents(type, c->nints, c->naddrs, c->ntypes,
                                         c->ints, c->addrs, c->types);
    if (rc == MPI_SUCCESS)
        return rc;
    free(c->types);
    c->types = NULL;
    contents_free(c);
    return rc;
}

static int make_struct(struct signature *s, const struct contents *c)
{
    int rc = add_children(s, (size_t)c->ntypes);

    for (int i = 0; i < c->ntypes && rc == MPI_SUCCESS; i++) {
        rc = signature_make(&s->child[i], c->types[i]);
        s->child[i].repeat *= (uint64_t)c->ints[1 + i];
    }
    sum_up(s);
    return rc;
}

/* All other combiners have one inner type, so many times as it fits in. */
static int make_uniform(struct signature *s, const struct contents *c,
                        MPI_Datatype type)
{
    MPI_Count size, inner = 0;
    int rc = impi_real.Type_size_x(type, &size);

    if (rc == MPI_SUCCESS)
        rc = impi_real.Type_size_x(c->types[0], &inner);
    if (rc == MPI_SUCCESS)
        rc = add_children(s, 1);
    if (rc == MPI_SUCCESS)
        rc = signature_make(&s->child[0], c->types[0]);
    if (rc != MPI_SUCCESS)
        return rc;
    s->child[0].repeat *= inner > 0 ? (uint64_t)(size / inner) : 0;
    sum_up(s);
    return rc;
}

int signature_make(struct signature *s, MPI_Datatype type)
{
    struct contents c;
    int rc;

    *s = (struct signature){0};
    rc = impi_real.Type_get_envelope(type, &c.nints, &c.naddrs, &c.ntypes,
                                     &c.combiner);
    if (rc != MPI_SUCCESS)
        return rc;
    if (c.combiner == MPI_COMBINER_NAMED)
        return make_named(s, type);
    if (c.combiner == MPI_COMBINER_F90_REAL ||
        c.combiner == MPI_COMBINER_F90_COMPLEX ||
        c.combiner == MPI_COMBINER_F90_INTEGER)
        return make_f90(s, type, c.combiner);
    rc = contents_get(&c, type);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = c.combiner == MPI_COMBINER_STRUCT ? make_struct(s, &c)
                                           : make_uniform(s, &c, type);
    contents_free(&c);
    if (rc != MPI_SUCCESS)
        signature_free(s);
    return rc;
}

void signature_free(struct signature *s)
{
    for (size_t i = 0; i < s->nchildren; i++)
        signature_free(&s->child[i]);
    free(s->child);
    s->child = NULL;
    s->nchildren = 0;
}

int external_size(MPI_Datatype type, size_t *wire)
{
    struct signature s;
    int rc = signature_make(&s, type);

    if (rc != MPI_SUCCESS)
        return rc;
    *wire = s.repeat * s.wire;
    signature_free(&s);
    return MPI_SUCCESS;
}

/* ---- conversion ---- */

struct cursor {
    uint8_t *native;
    uint8_t *wire;
    uint64_t left; /* bytes of the wire */
    bool encode;
    bool range; /* a value did not fit */
};

static void convert_leaf(struct cursor *c, const struct signature *s,
                         uint64_t repeat)
{
    enum impi_x32 kind = (enum impi_x32)s->kind;
    size_t wire = impi_x32_wire_size(kind);
    uint64_t n = s->n * repeat;

    n = n < c->left / wire ? n : c->left / wire;
    if (!c->encode)
        impi_x32_unpack(kind, c->native, c->wire, n);
    else if (impi_x32_pack(kind, c->wire, c->native, n, 0, NULL) < 0)
        c->range = true;
    c->native += n * impi_x32_native_size(kind);
    c->wire += n * wire;
    c->left -= n * wire;
}

static void convert(struct cursor *c, const struct signature *s,
                    uint64_t repeat)
{
    if (s->nchildren == 0) {
        if (s->n > 0)
            convert_leaf(c, s, repeat);
        return;
    }
    if (s->nchildren == 1 && s->child[0].nchildren == 0) {
        convert(c, &s->child[0], repeat * s->child[0].repeat);
        return;
    }
    for (uint64_t r = 0; r < repeat && c->left > 0; r++) {
        for (size_t i = 0; i < s->nchildren; i++)
            convert(c, &s->child[i], s->child[i].repeat);
    }
}

int external_encode(MPI_Datatype type, void *wire, const void *packed,
                    int count)
{
    struct cursor c = {.native = (uint8_t *)(uintptr_t)packed,
                       .wire = wire,
                       .left = UINT64_MAX,
                       .encode = true};
    struct signature s;
    int rc = signature_make(&s, type);

    if (rc != MPI_SUCCESS)
        return rc;
    convert(&c, &s, (uint64_t)count * s.repeat);
    signature_free(&s);
    return c.range ? MPI_ERR_CONVERSION : MPI_SUCCESS;
}

int external_decode(MPI_Datatype type, void *packed, const void *wire,
                    uint64_t len, int count, uint64_t *bytes)
{
    struct cursor c = {
        .native = packed, .wire = (uint8_t *)(uintptr_t)wire, .left = len};
    struct signature s;
    int rc = signature_make(&s, type);

    if (rc != MPI_SUCCESS)
        return rc;
    convert(&c, &s, (uint64_t)count * s.repeat);
    signature_free(&s);
    *bytes = (uint64_t)(c.native - (uint8_t *)packed);
    return MPI_SUCCESS;
}

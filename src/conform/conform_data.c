/* SPDX-License-Identifier: BSD-3-Clause
 * Data of a message follow from a seed, so that sender and receiver know them
 * without talking.  All values are small: no type can overflow.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "conform.h"

#define BASIC(NAME, TYPE)                                                      \
    static void set_##NAME(void *at, int index, long value)                    \
    {                                                                          \
        ((TYPE *)at)[index] = (TYPE)value;                                     \
    }                                                                          \
    static long get_##NAME(const void *at, int index)                          \
    {                                                                          \
        return (long)((const TYPE *)at)[index];                                \
    }

BASIC(byte, unsigned char)
BASIC(char, signed char)
BASIC(short, short)
BASIC(int, int)
BASIC(unsigned, unsigned)
BASIC(long, long)
BASIC(longlong, long long)
BASIC(float, float)
BASIC(double, double)

/* Two blocks of three ints, the second five after the first. */
static const int vector_at[] = {0, 1, 2, 5, 6, 7};
#define VECTOR_INTS 8

static void set_vector(void *at, int index, long value)
{
    ((int *)at)[vector_at[index]] = (int)value;
}

static long get_vector(const void *at, int index)
{
    return ((const int *)at)[vector_at[index]];
}

struct mixed {
    char c;
    double d;
    int i[2];
};

static void set_mixed(void *at, int index, long value)
{
    struct mixed *m = at;

    if (index == 0)
        m->c = (char)value;
    else if (index == 1)
        m->d = (double)value;
    else
        m->i[index - 2] = (int)value;
}

static long get_mixed(const void *at, int index)
{
    const struct mixed *m = at;

    if (index == 0)
        return m->c;
    return index == 1 ? (long)m->d : m->i[index - 2];
}

#define ENTRY(NAME, TYPE)                                                      \
    {                                                                          \
#NAME, MPI_DATATYPE_NULL, sizeof(TYPE), 1, set_##NAME, get_##NAME      \
    }

static struct kind kinds[] = {
    ENTRY(byte, unsigned char),
    ENTRY(char, signed char),
    ENTRY(short, short),
    ENTRY(int, int),
    ENTRY(unsigned, unsigned),
    ENTRY(long, long),
    ENTRY(longlong, long long),
    ENTRY(float, float),
    ENTRY(double, double),
    {"vector", MPI_DATATYPE_NULL, VECTOR_INTS * sizeof(int), 6, set_vector,
     get_vector},
    {"struct", MPI_DATATYPE_NULL, sizeof(struct mixed), 4, set_mixed,
     get_mixed},
};
#define NKINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

static void make_vector(MPI_Datatype *out)
{
    MPI_Datatype v;

    MPI_Type_vector(2, 3, 5, MPI_INT, &v);
    MPI_Type_create_resized(v, 0, VECTOR_INTS * sizeof(int), out);
    MPI_Type_free(&v);
    MPI_Type_commit(out);
}

static void make_mixed(MPI_Datatype *out)
{
    int lengths[3] = {1, 1, 2};
    MPI_Aint at[3] = {offsetof(struct mixed, c), offsetof(struct mixed, d),
                      offsetof(struct mixed, i)};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, s;

    MPI_Type_create_struct(3, lengths, at, types, &s);
    MPI_Type_create_resized(s, 0, sizeof(struct mixed), out);
    MPI_Type_free(&s);
    MPI_Type_commit(out);
}

void data_start(void)
{
    const MPI_Datatype basic[] = {MPI_BYTE,      MPI_SIGNED_CHAR, MPI_SHORT,
                                  MPI_INT,       MPI_UNSIGNED,    MPI_LONG,
                                  MPI_LONG_LONG, MPI_FLOAT,       MPI_DOUBLE};

    for (int i = 0; i < NKINDS - 2; i++)
        kinds[i].type = basic[i];
    make_vector(&kinds[NKINDS - 2].type);
    make_mixed(&kinds[NKINDS - 1].type);
}

void data_stop(void)
{
    MPI_Type_free(&kinds[NKINDS - 2].type);
    MPI_Type_free(&kinds[NKINDS - 1].type);
}

const struct kind *kind_of(const struct instruction *l)
{
    const char *name = word(l, "type", "int");

    for (int i = 0; i < NKINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return &kinds[i];
    bad_script(l, "no such type");
}

void *data_alloc(const struct kind *k, int count)
{
    void *p = calloc((size_t)(count > 0 ? count : 1), (size_t)k->size);

    if (!p)
        MPI_Abort(MPI_COMM_WORLD, 99);
    return p;
}

long data_value(int seed, int index)
{
    return (long)(((unsigned)seed * 31u + (unsigned)index * 7u) % 97u);
}

void data_fill(const struct kind *k, void *buffer, int count, int seed)
{
    for (int i = 0; i < count; i++)
        for (int v = 0; v < k->values; v++)
            k->set((char *)buffer + (size_t)i * (size_t)k->size, v,
                   data_value(seed, i * k->values + v));
}

void data_check(const struct instruction *l, const struct kind *k,
                const void *buffer, int count, int seed)
{
    for (int i = 0; i < count; i++)
        for (int v = 0; v < k->values; v++) {
            long want = data_value(seed, i * k->values + v);
            long got =
                k->get((const char *)buffer + (size_t)i * (size_t)k->size, v);

            if (got != want) {
                fail(l, "element %d is %ld, expected %ld", i, got, want);
                return;
            }
        }
}

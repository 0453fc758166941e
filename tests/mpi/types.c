/* SPDX-License-Identifier: BSD-3-Clause
 * Every basic type and some derived ones across libraries; messages shorter
 * than what was asked for, also in the middle of an element. */
#include <stdbool.h>

#include "check.h"

static int peer;

static void pairs(void)
{
    struct {
        double v;
        int at;
    } a[3] = {{1.5, 1}, {2.5, 2}, {rank, 3}}, b[3];
    MPI_Status st;
    int n;

    memset(b, 0, sizeof(b));
    MPI_Sendrecv(a, 3, MPI_DOUBLE_INT, peer, 4, b, 3, MPI_DOUBLE_INT, peer, 4,
                 MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_DOUBLE_INT, &n);
    CHECK(n == 3 && b[0].v == 1.5 && b[1].at == 2 && b[2].v == peer);
}

/* Fill n bytes, send as count of type, compare what comes back. */
static void basic(MPI_Datatype type, size_t bytes, const void *a, const void *b,
                  const char *name)
{
    unsigned char *in = malloc(bytes);
    MPI_Status st;
    int tsize, n;

    MPI_Type_size(type, &tsize);
    memset(in, 0, bytes);
    MPI_Sendrecv(rank % 2 ? a : b, (int)bytes / tsize, type, peer, 0, in,
                 (int)bytes / tsize, type, peer, 0, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, type, &n);
    if (n != (int)bytes / tsize || memcmp(in, rank % 2 ? b : a, bytes) != 0)
        fprintf(stderr, "rank %d: type %s is wrong\n", rank, name);
    CHECK(n == (int)bytes / tsize);
    CHECK(memcmp(in, rank % 2 ? b : a, bytes) == 0);
    free(in);
}

#define BASIC(type, ctype)                                                     \
    do {                                                                       \
        ctype a_[4], b_[4];                                                    \
                                                                               \
        memset(a_, 0, sizeof(a_));                                             \
        memset(b_, 0, sizeof(b_));                                             \
        for (int i_ = 0; i_ < 4; i_++) {                                       \
            a_[i_] = (ctype)(i_ * 30);                                         \
            b_[i_] = (ctype)(100 - i_);                                        \
        }                                                                      \
        basic(type, sizeof(a_), a_, b_, #type);                                \
    } while (0)

static void basics(void)
{
    BASIC(MPI_CHAR, char);
    BASIC(MPI_SIGNED_CHAR, signed char);
    BASIC(MPI_UNSIGNED_CHAR, unsigned char);
    BASIC(MPI_BYTE, unsigned char);
    BASIC(MPI_SHORT, short);
    BASIC(MPI_UNSIGNED_SHORT, unsigned short);
    BASIC(MPI_INT, int);
    BASIC(MPI_UNSIGNED, unsigned);
    BASIC(MPI_LONG, long);
    BASIC(MPI_UNSIGNED_LONG, unsigned long);
    BASIC(MPI_LONG_LONG, long long);
    BASIC(MPI_UNSIGNED_LONG_LONG, unsigned long long);
    BASIC(MPI_FLOAT, float);
    BASIC(MPI_DOUBLE, double);
    BASIC(MPI_INT8_T, signed char);
    BASIC(MPI_INT16_T, short);
    BASIC(MPI_INT32_T, int);
    BASIC(MPI_INT64_T, long long);
    BASIC(MPI_UINT64_T, unsigned long long);
    BASIC(MPI_AINT, MPI_Aint);
    BASIC(MPI_C_FLOAT_COMPLEX, float);
    BASIC(MPI_C_DOUBLE_COMPLEX, double);
    BASIC(MPI_WCHAR, wchar_t);
}

/* By value: padding inside is anything. */
static void long_doubles(void)
{
    long double a[3] = {1.25L, -3e300L, rank}, b[3] = {0, 0, 0};

    MPI_Sendrecv(a, 3, MPI_LONG_DOUBLE, peer, 5, b, 3, MPI_LONG_DOUBLE, peer, 5,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(b[0] == 1.25L && b[1] == -3e300L && b[2] == peer);
}

static void vectors(void)
{
    double a[64], b[64];
    MPI_Datatype t;

    MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &t);
    MPI_Type_commit(&t);
    for (int i = 0; i < 64; i++) {
        a[i] = rank * 100 + i;
        b[i] = -1;
    }
    MPI_Sendrecv(a, 1, t, peer, 1, b, 1, t, peer, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < 64; i++)
        CHECK(b[i] == (i % 8 == 0 ? peer * 100 + i : -1));
    MPI_Type_free(&t);
}

static void structs(void)
{
    struct thing {
        char c;
        double d;
        int i[3];
    } a[5], b[5];
    int len[3] = {1, 1, 3};
    MPI_Aint at[3] = {0, offsetof(struct thing, d), offsetof(struct thing, i)};
    MPI_Datatype old[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT}, raw, t;

    MPI_Type_create_struct(3, len, at, old, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct thing), &t);
    MPI_Type_commit(&t);
    memset(a, 0, sizeof(a));
    memset(b, 0, sizeof(b));
    for (int i = 0; i < 5; i++)
        a[i] = (struct thing){(char)i, rank + i, {i, rank, 7}};
    MPI_Sendrecv(a, 5, t, peer, 2, b, 5, t, peer, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < 5; i++)
        CHECK(b[i].c == i && b[i].d == peer + i && b[i].i[1] == peer);
    MPI_Type_free(&raw);
    MPI_Type_free(&t);
}

/* Absolute addresses, from MPI_BOTTOM on. */
static void bottom(void)
{
    int out[2] = {rank, 17}, in[2] = {-1, -1}, len[2] = {1, 1};
    MPI_Aint from[2], to[2];
    MPI_Datatype tout, tin;
    MPI_Status st;
    int n;

    for (int i = 0; i < 2; i++) {
        MPI_Get_address(&out[1 - i], &from[i]);
        MPI_Get_address(&in[1 - i], &to[i]);
    }
    MPI_Type_create_hindexed(2, len, from, MPI_INT, &tout);
    MPI_Type_create_hindexed(2, len, to, MPI_INT, &tin);
    MPI_Type_commit(&tout);
    MPI_Type_commit(&tin);
    MPI_Sendrecv(MPI_BOTTOM, 1, tout, peer, 6, MPI_BOTTOM, 1, tin, peer, 6,
                 MPI_COMM_WORLD, &st);
    CHECK(in[0] == peer && in[1] == 17);
    /* Half of an element. */
    in[0] = in[1] = -1;
    MPI_Sendrecv(out, 1, MPI_INT, peer, 7, MPI_BOTTOM, 1, tin, peer, 7,
                 MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK(n == 1 && in[0] == -1 && in[1] == peer);
    MPI_Type_free(&tout);
    MPI_Type_free(&tin);
}

/* What one library has packed the other unpacks; as external32 there is
 * nothing but the values, and the size is exact. */
static void packed_data_cross(void)
{
    const char *data = getenv("SLURM_IMPI_DATA");
    bool external = data && strcmp(data, "external32") == 0;
    double a[4] = {1.5, rank, -2, 8}, b[2] = {0, 0};
    int n = 0, room, more, out = rank, in = -1, pos = 0;
    char buf[200], got[200];
    MPI_Datatype t;
    MPI_Status st;

    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &t);
    MPI_Type_commit(&t);
    MPI_Pack_size(1, t, MPI_COMM_WORLD, &room);
    MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &more);
    CHECK(room + more >= 20 && room + more <= (int)sizeof(buf));
    MPI_Pack(&out, 1, MPI_INT, buf, room + more, &pos, MPI_COMM_WORLD);
    MPI_Pack(a, 1, t, buf, room + more, &pos, MPI_COMM_WORLD);
    if (external)
        CHECK(room == 16 && more == 4 && pos == 20 && buf[3] == (char)rank &&
              memcmp(buf + 4, "\x3f\xf8\0\0\0\0\0\0", 8) == 0);
    MPI_Sendrecv(buf, pos, MPI_PACKED, peer, 8, got, sizeof(got), MPI_PACKED,
                 peer, 8, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_PACKED, &n);
    CHECK(n == pos);
    pos = 0;
    MPI_Unpack(got, n, &pos, &in, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(got, n, &pos, b, 2, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(in == peer && b[0] == 1.5 && b[1] == -2 && pos == n);
    MPI_Type_free(&t);
}

/* The standard's table of external32: bytes of a value on the wire, and of each
 * of its basic elements, which are big-endian. */
static void packed_by_the_table_of_the_standard(void)
{
    const char *data = getenv("SLURM_IMPI_DATA");
    const struct {
        MPI_Datatype type;
        int wire, element;
    } table[] = {
        {MPI_BYTE, 1, 1},
        {MPI_CHAR, 1, 1},
        {MPI_UNSIGNED_CHAR, 1, 1},
        {MPI_SIGNED_CHAR, 1, 1},
        {MPI_WCHAR, 2, 2},
        {MPI_SHORT, 2, 2},
        {MPI_UNSIGNED_SHORT, 2, 2},
        {MPI_INT, 4, 4},
        {MPI_UNSIGNED, 4, 4},
        {MPI_LONG, 4, 4},
        {MPI_UNSIGNED_LONG, 4, 4},
        {MPI_LONG_LONG, 8, 8},
        {MPI_UNSIGNED_LONG_LONG, 8, 8},
        {MPI_FLOAT, 4, 4},
        {MPI_DOUBLE, 8, 8},
        {MPI_LONG_DOUBLE, 16, 16},
        {MPI_C_BOOL, 1, 1},
        {MPI_INT8_T, 1, 1},
        {MPI_INT16_T, 2, 2},
        {MPI_INT32_T, 4, 4},
        {MPI_INT64_T, 8, 8},
        {MPI_UINT8_T, 1, 1},
        {MPI_UINT16_T, 2, 2},
        {MPI_UINT32_T, 4, 4},
        {MPI_UINT64_T, 8, 8},
        {MPI_AINT, 8, 8},
        {MPI_COUNT, 8, 8},
        {MPI_OFFSET, 8, 8},
        {MPI_C_COMPLEX, 2 * 4, 4},
        {MPI_C_FLOAT_COMPLEX, 2 * 4, 4},
        {MPI_C_DOUBLE_COMPLEX, 2 * 8, 8},
        {MPI_C_LONG_DOUBLE_COMPLEX, 2 * 16, 16},
        {MPI_CHARACTER, 1, 1},
        {MPI_LOGICAL, 4, 4},
        {MPI_INTEGER, 4, 4},
        {MPI_REAL, 4, 4},
        {MPI_DOUBLE_PRECISION, 8, 8},
        {MPI_COMPLEX, 2 * 4, 4},
        {MPI_DOUBLE_COMPLEX, 2 * 8, 8},
        {MPI_INTEGER1, 1, 1},
        {MPI_INTEGER2, 2, 2},
        {MPI_INTEGER4, 4, 4},
        {MPI_INTEGER8, 8, 8},
        {MPI_REAL4, 4, 4},
        {MPI_REAL8, 8, 8},
        {MPI_COMPLEX8, 2 * 4, 4},
        {MPI_COMPLEX16, 2 * 8, 8},
        {MPI_2INT, 2 * 4, 4},
    };

    if (!data || strcmp(data, "external32") != 0)
        return;
    for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++) {
        int w = table[t].wire, e = table[t].element, n, native, room, at = 0;
        _Alignas(16) unsigned char value[32] = {0}, wire[64];

        if (table[t].type == MPI_DATATYPE_NULL) /* no Fortran */
            continue;
        MPI_Type_size(table[t].type, &native);
        MPI_Pack_size(1, table[t].type, MPI_COMM_WORLD, &room);
        CHECK(room == w);
        /* Little-endian; in a long, and a wide character, what fits there. */
        n = native * e / w;
        for (int i = 0; e < 16 && i < native; i++)
            value[i] = i % n < e ? (unsigned char)(i + 1) : 0;
        MPI_Pack(value, 1, table[t].type, wire, sizeof(wire), &at,
                 MPI_COMM_WORLD);
        CHECK(at == w);
        for (int i = 0; i < w; i++)
            CHECK(wire[i] == value[i / e * n + e - 1 - i % e]);
    }
}

/* With large counts the same bytes, for who has the older calls, too. */
static void packed_by_large_counts(void)
{
    const char *data = getenv("SLURM_IMPI_DATA");
    bool external = data && strcmp(data, "external32") == 0;
    double a[2] = {1.5, rank}, b[2] = {0, 0};
    count_t room = 0, at = 0;
    char buf[64], got[64];
    MPI_Status st;
    int n = 0, pos = 0;

    C(Pack_size)(2, MPI_DOUBLE, MPI_COMM_WORLD, &room);
    CHECK(room >= 16 && room <= (count_t)sizeof(buf));
    C(Pack)(a, 2, MPI_DOUBLE, buf, room, &at, MPI_COMM_WORLD);
    CHECK(at >= 16 && at <= room);
    if (external)
        CHECK(room == 16 && memcmp(buf, "\x3f\xf8\0\0\0\0\0\0", 8) == 0);
    MPI_Sendrecv(buf, (int)at, MPI_PACKED, peer, 9, got, sizeof(got),
                 MPI_PACKED, peer, 9, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_PACKED, &n);
    MPI_Unpack(got, n, &pos, b, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    at = pos;
    C(Unpack)(got, n, &at, b + 1, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(b[0] == 1.5 && b[1] == peer && at == n);
    if (external) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        CHECK(C(Unpack)(got, n, &at, b, 1, MPI_DOUBLE, MPI_COMM_WORLD) !=
                  MPI_SUCCESS &&
              at == n);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    }
}

/* These have no communicator and are the libraries' own: for the types that
 * both agree upon, one reads what the other has written.  MPICH 3.4.1 puts the
 * lower half of a double first. */
static void external_by_the_libraries_crosses(void)
{
    static char form[] = "external32";
    static const char as_defined[] = {0x3f, (char)0xf8, 0, 0, 0, 0, 0, 0};
    double a[2] = {1.5, rank}, b[2] = {0, 0};
    int c = rank, d = -1, n = 0;
    char buf[64], got[64];
    MPI_Aint at = 0;
    MPI_Status st;

    MPI_Pack_external(form, &c, 1, MPI_INT, buf, sizeof(buf), &at);
    MPI_Pack_external(form, a, 2, MPI_DOUBLE, buf, sizeof(buf), &at);
    CHECK(at == 20);
    MPI_Sendrecv(buf, (int)at, MPI_BYTE, peer, 10, got, sizeof(got), MPI_BYTE,
                 peer, 10, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, MPI_BYTE, &n);
    CHECK(n == 20);
#if MPI_VERSION >= 4
    MPI_Count from = 0, room = 0;

    MPI_Pack_external_size_c(form, 2, MPI_DOUBLE, &room);
    CHECK(room == 16);
    MPI_Unpack_external_c(form, got, n, &from, &d, 1, MPI_INT);
    at = from;
#else
    at = 0;
    MPI_Unpack_external(form, got, n, &at, &d, 1, MPI_INT);
#endif
    MPI_Unpack_external(form, got, n, &at, b, 2, MPI_DOUBLE);
    CHECK(at == 20 && d == peer);
    if (memcmp(buf + 4, as_defined, 8) == 0 &&
        memcmp(got + 4, as_defined, 8) == 0)
        CHECK(b[0] == 1.5 && b[1] == peer);
}

/* Where one library is alone its own form stands: a long keeps its bytes. */
static void packed_inside_one_client(void)
{
    long out = 0x0102030405060708L, in = 0;
    int room, pos = 0;
    char buf[64];

    MPI_Pack_size(1, MPI_LONG, MPI_COMM_SELF, &room);
    CHECK(room >= (int)sizeof(out) && room <= (int)sizeof(buf));
    MPI_Pack(&out, 1, MPI_LONG, buf, sizeof(buf), &pos, MPI_COMM_SELF);
    CHECK(pos >= (int)sizeof(out) &&
          memcmp(buf + pos - sizeof(out), &out, sizeof(out)) == 0);
    pos = 0;
    MPI_Unpack(buf, sizeof(buf), &pos, &in, 1, MPI_LONG, MPI_COMM_SELF);
    CHECK(in == out);
}

/* 7 ints sent, 5 pairs of (int, gap, int) asked for: three and a half. */
static void partial(void)
{
    int a[7] = {1, 2, 3, 4, 5, 6, 7}, b[15], n;
    MPI_Datatype raw, t;
    MPI_Status st;

    for (int i = 0; i < 15; i++)
        b[i] = -i;
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    MPI_Type_create_resized(raw, 0, 3 * (MPI_Aint)sizeof(int), &t);
    MPI_Type_commit(&t);
    MPI_Sendrecv(a, 7, MPI_INT, peer, 3, b, 5, t, peer, 3, MPI_COMM_WORLD, &st);
    MPI_Get_count(&st, t, &n);
    CHECK(n == MPI_UNDEFINED);
    MPI_Get_count(&st, MPI_INT, &n);
    CHECK(n == 7);
    for (int i = 0; i < 15; i++) {
        int pair = i / 3, half = i % 3 / 2, at = 2 * pair + half;

        CHECK(b[i] == (i % 3 == 1 || at >= 7 ? -i : at + 1));
    }
    MPI_Type_free(&raw);
    MPI_Type_free(&t);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int d = 1; d < size; d++) {
        peer = (2 * size + d - rank) % size;
        if (peer == rank || (rank + peer) % 2 == 0)
            continue;
        basics();
        pairs();
        long_doubles();
        vectors();
        structs();
        partial();
        bottom();
        packed_data_cross();
        packed_by_large_counts();
        packed_by_the_table_of_the_standard();
        external_by_the_libraries_crosses();
        packed_inside_one_client();
    }
    return end("types");
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reading and writing a file that spans: explicit offsets, the individual and
 * the shared pointer, alone and together, blocking, nonblocking and split.
 */
#include "io.h"

#define N 1000 /* bytes of each process */

static unsigned char out[N], in[N];

static void check_whole(const char *name, int what)
{
    unsigned char *all = malloc((size_t)N * (size_t)size);

    MPI_Barrier(MPI_COMM_WORLD);
    content(name, all, (long)N * size);
    for (int i = 0; i < size; i++)
        CHECK(same(all + (size_t)i * N, N, i, what));
    free(all);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void explicit_offsets_alone(void)
{
    MPI_File f = fresh("at");
    MPI_Status st;
    int prev = (rank + size - 1) % size;

    fill(out, N, rank, 1);
    CHECK(MPI_File_write_at(f, (MPI_Offset)rank * N, out, N, MPI_BYTE, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N);
    CHECK(MPI_File_sync(f) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(f, (MPI_Offset)prev * N, in, N / 4, MPI_INT, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_INT) == N / 4);
    CHECK(same(in, N, prev, 1));
    closed(&f);
    check_whole("at", 1);
}

static void a_read_ends_where_the_file_does(void)
{
    MPI_File f = file("at", MPI_MODE_RDONLY);
    MPI_Status st;

    CHECK(MPI_File_read_at(f, (MPI_Offset)N * size - 10, in, N, MPI_BYTE,
                           &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == 10);
    CHECK(MPI_File_read_at_all(f, (MPI_Offset)N * size - 8, in, N, MPI_BYTE,
                               &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == 8);
    CHECK(MPI_File_read_at(f, (MPI_Offset)N * size + 5, in, N, MPI_BYTE, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == 0);
    closed(&f);
}

static void explicit_offsets_together(void)
{
    MPI_File f = fresh("at_all");
    MPI_Request r;
    MPI_Status st;

    fill(out, N, rank, 2);
    CHECK(MPI_File_write_at_all(f, (MPI_Offset)rank * N, out, N, MPI_BYTE,
                                &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N);
    closed(&f);
    check_whole("at_all", 2);
    f = file("at_all", MPI_MODE_RDWR);
    fill(out, N, rank, 3);
    CHECK(MPI_File_iwrite_at_all(f, (MPI_Offset)rank * N, out, N, MPI_BYTE,
                                 &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N);
    CHECK(MPI_File_read_at_all_begin(f, (MPI_Offset)rank * N, in, N,
                                     MPI_BYTE) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all_end(f, in, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N && same(in, N, rank, 3));
    closed(&f);
    check_whole("at_all", 3);
}

/* Nobody waits in a nonblocking call: the others come when told so. */
static void nonblocking_calls_return_before_the_others_come(void)
{
    MPI_File f = fresh("iall");
    MPI_Request r;
    int token = 1;

    fill(out, N, rank, 4);
    if (rank > 0)
        MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(MPI_File_iwrite_at_all(f, (MPI_Offset)rank * N, out, N, MPI_BYTE,
                                 &r) == MPI_SUCCESS);
    for (int i = 1; i < size && rank == 0; i++)
        MPI_Send(&token, 1, MPI_INT, i, 5, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    closed(&f);
    check_whole("iall", 4);
}

static void individual_pointers_move(void)
{
    MPI_File f = fresh("own");
    MPI_Offset at = -1;
    MPI_Request r;
    MPI_Status st;

    fill(out, N, rank, 5);
    CHECK(MPI_File_seek(f, (MPI_Offset)rank * N, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_write(f, out, 100, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(MPI_File_iwrite(f, out + 100, 200, MPI_BYTE, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS && count_of(&st, MPI_BYTE) == 200);
    CHECK(MPI_File_write_all(f, out + 300, 300, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(MPI_File_write_all_begin(f, out + 600, 100, MPI_BYTE) == MPI_SUCCESS);
    CHECK(MPI_File_write_all_end(f, out + 600, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == 100);
    CHECK(MPI_File_iwrite_all(f, out + 700, 300, MPI_BYTE, &r) == MPI_SUCCESS);
    CHECK(MPI_Wait(&r, &st) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(f, &at) == MPI_SUCCESS);
    CHECK(at == (MPI_Offset)rank * N + N);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_seek(f, -(MPI_Offset)N, MPI_SEEK_CUR) == MPI_SUCCESS);
    CHECK(MPI_File_read(f, in, 500, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(MPI_File_iread(f, in + 500, 100, MPI_BYTE, &r) == MPI_SUCCESS);
    MPI_Wait(&r, &st);
    CHECK(MPI_File_read_all(f, in + 600, 400, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(same(in, N, rank, 5));
    CHECK(MPI_File_seek(f, -10, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(f, &at) == MPI_SUCCESS);
    CHECK(at == (MPI_Offset)size * N - 10);
    CHECK(class_of(MPI_File_seek(f, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
    closed(&f);
    check_whole("own", 5);
}

/* Each block is somebody's, and none is lost. */
static void the_shared_pointer_is_one(void)
{
    MPI_File f = fresh("shared");
    MPI_Offset at = -1;
    MPI_Request r;
    MPI_Status st;
    int rounds = 20, *seen = calloc((size_t)(size * rounds), sizeof(int));
    int mine[4], *all = malloc(sizeof(mine) * (size_t)(size * rounds));

    for (int i = 0; i < rounds; i++) {
        for (int k = 0; k < 4; k++)
            mine[k] = rank * rounds + i;
        if (i % 2) {
            CHECK(MPI_File_write_shared(f, mine, 4, MPI_INT, &st) ==
                  MPI_SUCCESS);
        } else {
            CHECK(MPI_File_iwrite_shared(f, mine, 4, MPI_INT, &r) ==
                  MPI_SUCCESS);
            MPI_Wait(&r, &st);
        }
        CHECK(count_of(&st, MPI_INT) == 4);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS);
    CHECK(at == (MPI_Offset)sizeof(mine) * size * rounds);
    content("shared", (unsigned char *)all, (long)at);
    for (int i = 0; i < size * rounds; i++) {
        CHECK(all[4 * i] >= 0 && all[4 * i] < size * rounds);
        CHECK(!seen[all[4 * i]]);
        seen[all[4 * i]] = 1;
        for (int k = 1; k < 4; k++)
            CHECK(all[4 * i + k] == all[4 * i]);
    }
    CHECK(MPI_File_seek_shared(f, 16, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS && at == 16);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_shared(f, mine, 4, MPI_INT, &st) == MPI_SUCCESS);
    CHECK(mine[0] == mine[3]);
    closed(&f);
    free(seen);
    free(all);
}

static void ordered_is_by_rank(void)
{
    MPI_File f = fresh("ordered");
    MPI_Offset at = -1;
    MPI_Status st;

    fill(out, N, rank, 6);
    for (int half = 0; half < 2; half++) {
        /* Behind each other by rank, in two rounds. */
        CHECK(MPI_File_write_ordered(f, out, N, MPI_BYTE, &st) == MPI_SUCCESS);
        CHECK(count_of(&st, MPI_BYTE) == N);
    }
    CHECK(MPI_File_set_size(f, (MPI_Offset)N * size) == MPI_SUCCESS);
    CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS);
    CHECK(at == (MPI_Offset)2 * N * size);
    check_whole("ordered", 6);
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_ordered_begin(f, in, N, MPI_BYTE) == MPI_SUCCESS);
    CHECK(MPI_File_read_ordered_end(f, in, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N && same(in, N, rank, 6));
    closed(&f);
}

/* Lengths of all kinds: none, little (which rank 0 moves for all), and in the
 * second round too much for that. */
static int length_of(int who, int round)
{
    return round ? 3000 * (who + 1) : who % 3 * 1365;
}

#define MOST (3000 * 64)

/* In a view that is the same for all, every second block of 24 bytes. */
static void ordered_of_any_length(void)
{
    static unsigned char own[MOST], back[MOST];
    MPI_File f = fresh("lengths");
    MPI_Datatype type, gap;
    MPI_Offset at = -1, sum = 0;
    MPI_Status st;

    MPI_Type_contiguous(24, MPI_BYTE, &type);
    MPI_Type_create_resized(type, 0, 48, &gap);
    MPI_Type_commit(&gap);
    CHECK(MPI_File_set_view(f, 5, MPI_BYTE, gap, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    for (int round = 0; round < 2; round++) {
        int n = length_of(rank, round);

        fill(own, (size_t)n, rank, 9 + round);
        CHECK(MPI_File_write_ordered(f, own, n, MPI_BYTE, &st) == MPI_SUCCESS);
        CHECK(count_of(&st, MPI_BYTE) == n);
        for (int i = 0; i < size; i++)
            sum += length_of(i, round);
        CHECK(MPI_File_get_position_shared(f, &at) == MPI_SUCCESS && at == sum);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(MPI_File_seek_shared(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    for (int round = 0; round < 2; round++) {
        int n = length_of(rank, round);

        memset(back, 0, MOST);
        CHECK(MPI_File_read_ordered(f, back, n, MPI_BYTE, &st) == MPI_SUCCESS);
        CHECK(count_of(&st, MPI_BYTE) == n);
        CHECK(same(back, (size_t)n, rank, 9 + round));
    }
    MPI_Type_free(&type);
    MPI_Type_free(&gap);
    closed(&f);
}

/* Memory for what the file has not is left as it is. */
static void a_read_beyond_the_end_leaves_memory(void)
{
    enum { LESS = 5, MORE = 10 };
    MPI_File f = fresh("end");
    unsigned char in[MORE], want[MORE];
    int n = rank * MORE < LESS * size ? LESS * size - rank * MORE : 0;
    MPI_Status st;

    memset(in, 1, MORE);
    CHECK(MPI_File_write_at_all(f, rank * LESS, in, LESS, MPI_BYTE, &st) ==
          MPI_SUCCESS);
    memset(in, 99, MORE);
    n = n < MORE ? n : MORE;
    memset(want, 99, MORE);
    memset(want, 1, (size_t)n);
    CHECK(MPI_File_read_at_all(f, rank * MORE, in, MORE, MPI_BYTE, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == n && memcmp(in, want, MORE) == 0);
    memset(in, 99, MORE);
    CHECK(MPI_File_read_ordered(f, in, MORE, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == n && memcmp(in, want, MORE) == 0);
    CHECK(MPI_File_read_ordered(f, in, MORE, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == 0 && memcmp(in, want, MORE) == 0);
    memset(in, 99, MORE);
    CHECK(MPI_File_read_at_all(f, LESS * (size - 1), in, MORE, MPI_BYTE, &st) ==
          MPI_SUCCESS); /* the same by all */
    memset(want, 99, MORE);
    memset(want, 1, LESS);
    CHECK(count_of(&st, MPI_BYTE) == LESS && memcmp(in, want, MORE) == 0);
    closed(&f);
}

/* MPI asks for the same view; as the libraries do, each place is taken in the
 * view of its process. */
static void ordered_in_views_of_their_own(void)
{
    MPI_File f = fresh("views");
    unsigned char back[8], mine[8];
    MPI_Status st;

    fill(mine, 8, rank, 12);
    CHECK(MPI_File_set_view(f, (MPI_Offset)rank * 100, MPI_BYTE, MPI_BYTE,
                            "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(f, mine, 8, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(MPI_File_read_at(f, (MPI_Offset)rank * 8, back, 8, MPI_BYTE, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == 8 && same(back, 8, rank, 12));
    closed(&f);
}

/* Pieces of 4 of each process in turn, by a view; large enough for rounds. */
static void interleaved(const char *name, int piece, int pieces)
{
    MPI_File f = fresh(name);
    MPI_Datatype type;
    MPI_Status st;
    size_t bytes = (size_t)piece * (size_t)pieces;
    unsigned char *own = malloc(bytes), *back = calloc(bytes, 1), *all;

    MPI_Type_vector(pieces, piece, piece * size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    fill(own, bytes, rank, 7);
    CHECK(MPI_File_set_view(f, (MPI_Offset)rank * piece, MPI_BYTE, type,
                            "native", hints()) == MPI_SUCCESS);
    CHECK(MPI_File_write_all(f, own, (int)bytes, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == (int)bytes);
    CHECK(MPI_File_seek(f, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_all(f, back, (int)bytes, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == (int)bytes);
    CHECK(memcmp(own, back, bytes) == 0);
    memset(back, 0, bytes);
    CHECK(MPI_File_read_at(f, 0, back, (int)bytes, MPI_BYTE, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == (int)bytes);
    CHECK(memcmp(own, back, bytes) == 0);
    closed(&f);
    all = malloc(bytes * (size_t)size);
    content(name, all, (long)bytes * size);
    for (size_t i = 0; i < bytes; i++)
        CHECK(all[(i / piece * (size_t)size + (size_t)rank) * piece +
                  i % piece] == own[i]);
    free(all);
    free(own);
    free(back);
    MPI_Type_free(&type);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void views_interleave(void)
{
    interleaved("short", 4, 5000);
    interleaved("long", 4096, 1500);
}

/* A record too short for its runs: irregular pieces. */
static void views_are_irregular(void)
{
    enum { PIECES = 400 };
    MPI_File f = fresh("irregular");
    MPI_Datatype type;
    int lens[PIECES], disps[PIECES], at = 0, n = 0;
    unsigned char own[8 * PIECES], back[8 * PIECES];
    MPI_Status st;

    for (int i = 0; i < PIECES; i++) {
        for (int r = 0; r < size; r++) {
            int len = 1 + (i * 7 + r * 3) % 8;

            if (r == rank) {
                lens[i] = len;
                disps[i] = at;
                n += len;
            }
            at += len + i % 3;
        }
    }
    MPI_Type_indexed(PIECES, lens, disps, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    fill(own, (size_t)n, rank, 8);
    CHECK(MPI_File_set_view(f, 10, MPI_BYTE, type, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(f, 0, own, n, MPI_BYTE, &st) == MPI_SUCCESS);
    memset(back, 0, sizeof(back));
    CHECK(MPI_File_read_at_all(f, 0, back, n, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == n && memcmp(own, back, (size_t)n) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(back, 0, sizeof(back));
    CHECK(MPI_File_read_at(f, 0, back, n, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(memcmp(own, back, (size_t)n) == 0);
    closed(&f);
    MPI_Type_free(&type);
}

/* Memory with gaps. */
static void memory_has_gaps(void)
{
    MPI_File f = fresh("gaps");
    MPI_Datatype type;
    int mem[64], back[64];
    MPI_Status st;

    MPI_Type_vector(16, 2, 4, MPI_INT, &type);
    MPI_Type_commit(&type);
    for (int i = 0; i < 64; i++) {
        mem[i] = rank * 100 + i;
        back[i] = -1;
    }
    CHECK(MPI_File_write_at_all(f, (MPI_Offset)rank * 128, mem, 1, type, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, type) == 1);
    CHECK(MPI_File_read_at(f, (MPI_Offset)rank * 128, back, 1, type, &st) ==
          MPI_SUCCESS);
    for (int i = 0; i < 62; i++)
        CHECK(back[i] == (i % 4 < 2 ? mem[i] : -1));
    closed(&f);
    MPI_Type_free(&type);
}

static void external32_is_big_endian(void)
{
    MPI_File f = fresh("external");
    unsigned char all[4 * 64];
    int own[2] = {rank + 1, 0x01020304}, back[2] = {0};
    MPI_Status st;

    CHECK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "external32",
                            MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(f, 2 * rank, own, 2, MPI_INT, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_INT) == 2);
    CHECK(MPI_File_read_at_all(f, 2 * rank, back, 2, MPI_INT, &st) ==
          MPI_SUCCESS);
    CHECK(count_of(&st, MPI_INT) == 2);
    CHECK(back[0] == own[0] && back[1] == own[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    content("external", all, 8L * size);
    CHECK(all[8 * rank + 3] == rank + 1 && all[8 * rank + 4] == 1 &&
          all[8 * rank + 7] == 4);
    closed(&f);
}

/* In atomic mode a write is there as a whole. */
static void atomic_writes_are_whole(void)
{
    MPI_File f = fresh("atomic");
    MPI_Datatype type;
    unsigned char own[256];
    int flag = -1;

    CHECK(MPI_File_set_atomicity(f, 1) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(f, &flag) == MPI_SUCCESS && flag == 1);
    MPI_Type_vector(64, 4, 8, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK(MPI_File_set_view(f, 0, MPI_BYTE, type, "native", MPI_INFO_NULL) ==
          MPI_SUCCESS);
    memset(own, rank + 1, sizeof(own));
    for (int i = 0; i < 50; i++) {
        CHECK(MPI_File_write_at(f, 0, own, 256, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(MPI_File_read_at(f, 0, own, 256, MPI_BYTE, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        for (int k = 1; k < 256; k++)
            CHECK(own[k] == own[0]);
        memset(own, rank + 1, sizeof(own));
    }
    CHECK(MPI_File_write_at_all(f, 0, own, 256, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_read_at_all(f, 0, own, 256, MPI_BYTE, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    for (int k = 1; k < 256; k++)
        CHECK(own[k] == own[0]);
    closed(&f);
    MPI_Type_free(&type);
}

/* Of calls whose kin are used above. */
static void nonblocking_and_split_forms(void)
{
    MPI_File f = fresh("forms");
    MPI_Offset own = (MPI_Offset)rank * N;
    MPI_Request r;
    MPI_Status st;

    fill(out, N, rank, 7);
    CHECK(MPI_File_iwrite_at(f, own, out, N, MPI_BYTE, &r) == MPI_SUCCESS);
    MPI_Wait(&r, &st);
    CHECK(count_of(&st, MPI_BYTE) == N);
    check_whole("forms", 7);
    memset(in, 0, N);
    CHECK(MPI_File_iread_at(f, own, in, N, MPI_BYTE, &r) == MPI_SUCCESS);
    MPI_Wait(&r, &st);
    CHECK(count_of(&st, MPI_BYTE) == N && same(in, N, rank, 7));
    memset(in, 0, N);
    MPI_File_seek(f, own, MPI_SEEK_SET);
    CHECK(MPI_File_iread_all(f, in, N, MPI_BYTE, &r) == MPI_SUCCESS);
    MPI_Wait(&r, &st);
    CHECK(count_of(&st, MPI_BYTE) == N && same(in, N, rank, 7));
    memset(in, 0, N);
    MPI_File_seek(f, own, MPI_SEEK_SET);
    CHECK(MPI_File_read_all_begin(f, in, N, MPI_BYTE) == MPI_SUCCESS);
    CHECK(MPI_File_read_all_end(f, in, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N && same(in, N, rank, 7));
    closed(&f);
}

static void shared_and_ordered_forms(void)
{
    MPI_File f = fresh("forms2");
    MPI_Request r;
    MPI_Status st;
    int whose = -1;

    fill(out, N, rank, 8);
    CHECK(MPI_File_write_ordered_begin(f, out, N, MPI_BYTE) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered_end(f, out, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N);
    check_whole("forms2", 8);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    memset(in, 0, N);
    CHECK(MPI_File_read_ordered(f, in, N, MPI_BYTE, &st) == MPI_SUCCESS);
    CHECK(count_of(&st, MPI_BYTE) == N && same(in, N, rank, 8));
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    memset(in, 0, N);
    CHECK(MPI_File_iread_shared(f, in, N, MPI_BYTE, &r) == MPI_SUCCESS);
    MPI_Wait(&r, &st);
    CHECK(count_of(&st, MPI_BYTE) == N);
    for (int i = 0; i < size; i++) /* each got somebody's whole part */
        whose = same(in, N, i, 8) ? i : whose;
    CHECK(whose >= 0);
    closed(&f);
}

/* Requests of a file of its own library, among one that crosses. */
static void many_of_a_file_of_ones_own_are_waited_for(void)
{
    enum { WRITES = 10, LEN = 4096 };
    static char bytes[WRITES][LEN];
    char name[32];
    int to = (rank + 1) % size, from = (rank + size - 1) % size, got;
    MPI_File f;

    snprintf(name, sizeof(name), "own.%d", rank);
    CHECK(MPI_File_open(MPI_COMM_SELF, path_of(name),
                        RW | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &f) == MPI_SUCCESS);
    for (int round = 0; round < 100; round++) {
        MPI_Request r[WRITES + 2];
        MPI_Status st[WRITES + 2];

        got = -1;
        MPI_Irecv(&got, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &r[0]);
        for (int i = 0; i < WRITES; i++) {
            memset(bytes[i], 'a' + (round + i) % 26, LEN);
            MPI_File_iwrite_at(f, (MPI_Offset)i * LEN, bytes[i], LEN, MPI_BYTE,
                               &r[1 + i]);
        }
        MPI_Isend(&round, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &r[WRITES + 1]);
        CHECK(MPI_Waitall(WRITES + 2, r, st) == MPI_SUCCESS);
        CHECK(got == round);
        for (int i = 0; i < WRITES; i++) {
            int n = -1;

            MPI_Get_count(&st[1 + i], MPI_BYTE, &n);
            CHECK(n == LEN && r[1 + i] == MPI_REQUEST_NULL);
        }
    }
    MPI_File_read_at(f, 3 * LEN, bytes[0], LEN, MPI_BYTE, MPI_STATUS_IGNORE);
    CHECK(bytes[0][0] == bytes[3][0] && bytes[0][LEN - 1] == bytes[3][0]);
    MPI_File_close(&f);
}

enum { BY_WAITANY, BY_TESTANY, BY_WAITSOME, BY_TESTSOME, WAYS };

/* How many of them are done now. */
static int finish_some(int way, int n, MPI_Request *r)
{
    MPI_Status st[12];
    int index[12], done = 0, flag = 1;

    switch (way) {
    case BY_WAITANY:
        MPI_Waitany(n, r, index, st);
        return 1;
    case BY_TESTANY:
        MPI_Testany(n, r, index, &flag, st);
        return flag;
    case BY_WAITSOME:
        MPI_Waitsome(n, r, &done, index, st);
        return done;
    default:
        MPI_Testsome(n, r, &done, index, st);
        return done;
    }
}

/* (MPI_Testall is left out: MPICH 4.0.2 does not bear it, alone either.) */
static void they_are_found_done_one_by_one(void)
{
    enum { WRITES = 10, LEN = 4096 };
    static char bytes[WRITES][LEN], back[LEN];
    char name[32];
    int to = (rank + 1) % size, from = (rank + size - 1) % size, got;
    MPI_File f;

    snprintf(name, sizeof(name), "own.%d", rank);
    CHECK(MPI_File_open(MPI_COMM_SELF, path_of(name),
                        RW | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &f) == MPI_SUCCESS);
    for (int round = 0; round < 20 * WAYS; round++) {
        MPI_Request r[WRITES + 2];

        got = -1;
        MPI_Irecv(&got, 1, MPI_INT, from, 5, MPI_COMM_WORLD, &r[0]);
        for (int i = 0; i < WRITES; i++) {
            memset(bytes[i], 'a' + (round + i) % 26, LEN);
            MPI_File_iwrite_at(f, (MPI_Offset)i * LEN, bytes[i], LEN, MPI_BYTE,
                               &r[1 + i]);
        }
        MPI_Isend(&round, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &r[WRITES + 1]);
        for (int left = WRITES + 2; left > 0;)
            left -= finish_some(round % WAYS, WRITES + 2, r);
        CHECK(got == round);
        for (int i = 0; i < WRITES + 2; i++)
            CHECK(r[i] == MPI_REQUEST_NULL);
        MPI_File_read_at(f, 3 * LEN, back, LEN, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK(memcmp(back, bytes[3], LEN) == 0);
    }
    MPI_File_close(&f);
}

int main(int argc, char **argv)
{
#define PART(name)                                                             \
    {                                                                          \
#name, name                                                            \
    }
    static const struct part parts[] = {
        PART(explicit_offsets_alone),
        PART(a_read_ends_where_the_file_does),
        PART(explicit_offsets_together),
        PART(nonblocking_calls_return_before_the_others_come),
        PART(individual_pointers_move),
        PART(the_shared_pointer_is_one),
        PART(ordered_is_by_rank),
        PART(ordered_of_any_length),
        PART(a_read_beyond_the_end_leaves_memory),
        PART(ordered_in_views_of_their_own),
        PART(views_interleave),
        PART(views_are_irregular),
        PART(memory_has_gaps),
        PART(external32_is_big_endian),
        PART(atomic_writes_are_whole),
        PART(nonblocking_and_split_forms),
        PART(shared_and_ordered_forms),
        PART(many_of_a_file_of_ones_own_are_waited_for),
        PART(they_are_found_done_one_by_one),
    };

    begin(&argc, &argv);
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("io_data");
}

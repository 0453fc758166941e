/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mix of views and calls on one file by seed: all ranks draw the same rounds,
 * so each knows what the file must be.  Byte by byte, after each round.
 *   io_mix SEED ROUNDS
 */
#include "io.h"
#include "mix.h"

#define MAX (1 << 18) /* bytes of the file that are looked at */

static unsigned char model[MAX], seen[MAX], mem[MAX], back[MAX];
static long end_of; /* of the file */

/* Pieces of a round: those of all ranks, one behind the other, with gaps. */
struct piece {
    int who, at, len;
};
static struct piece pieces[4096];
static int npieces;

static void draw_pieces(void)
{
    int at = pick(5000), most = 1 << pick(13), regular = pick(2);
    int n = 1 + pick(60), len = 1 + pick(most), gap = pick(3) ? 0 : pick(300);

    npieces = 0;
    for (int i = 0; i < n; i++) {
        for (int r = 0; r < size; r++) {
            if (!regular) {
                len = 1 + pick(most);
                gap = pick(3) ? 0 : pick(300);
            }
            if (at + len > MAX || (!regular && pick(7) == 0))
                continue;
            pieces[npieces++] = (struct piece){r, at, len};
            at += len + gap;
        }
    }
}

/* This rank's as a filetype; *bytes: how many they are. */
static MPI_Datatype own_type(int *bytes, int *first)
{
    static int lens[4096], disps[4096];
    MPI_Datatype t;
    int n = 0;

    *bytes = *first = 0;
    for (int i = 0; i < npieces; i++) {
        if (pieces[i].who != rank)
            continue;
        if (n == 0)
            *first = pieces[i].at;
        lens[n] = pieces[i].len;
        disps[n] = pieces[i].at - *first;
        *bytes += lens[n++];
    }
    MPI_Type_indexed(n, lens, disps, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    return t;
}

static unsigned char value(int i)
{
    return (unsigned char)(round_now * 37 + i * 11 + i / 253 + (int)seed);
}

/* Memory in the order of the view, and the file as it will be. */
static void write_model(void)
{
    int n = 0;

    for (int i = 0; i < npieces; i++) {
        for (int k = 0; k < pieces[i].len; k++) {
            int at = pieces[i].at + k;

            model[at] = value(at);
            if (pieces[i].who == rank)
                mem[n++] = value(at);
        }
        if (pieces[i].at + pieces[i].len > end_of)
            end_of = pieces[i].at + pieces[i].len;
    }
}

static void write_some(MPI_File f, int how, int bytes)
{
    int half = bytes / 2;
    MPI_Request r[2];
    MPI_Status st, both[2];

    switch (how) {
    case 0:
        MUST(MPI_File_write_at_all(f, 0, mem, bytes, MPI_BYTE, &st) == 0);
        MUST(count_of(&st, MPI_BYTE) == bytes);
        break;
    case 1:
        MUST(MPI_File_write_all(f, mem, half, MPI_BYTE, &st) == 0);
        MUST(MPI_File_write_all(f, mem + half, bytes - half, MPI_BYTE, &st) ==
             0);
        break;
    case 2:
        MUST(MPI_File_iwrite_at_all(f, 0, mem, half, MPI_BYTE, &r[0]) == 0);
        MUST(MPI_File_iwrite_at_all(f, half, mem + half, bytes - half, MPI_BYTE,
                                    &r[1]) == 0);
        MUST(MPI_Waitall(2, r, both) == 0);
        MUST(count_of(&both[1], MPI_BYTE) == bytes - half);
        break;
    case 3:
        MUST(MPI_File_write_at_all_begin(f, 0, mem, bytes, MPI_BYTE) == 0);
        rest();
        MUST(MPI_File_write_at_all_end(f, mem, &st) == 0);
        MUST(count_of(&st, MPI_BYTE) == bytes);
        break;
    case 4:
        MUST(MPI_File_write_at(f, half, mem + half, bytes - half, MPI_BYTE,
                               &st) == 0);
        MUST(MPI_File_write_at(f, 0, mem, half, MPI_BYTE, &st) == 0);
        break;
    default:
        MUST(MPI_File_write(f, mem, half, MPI_BYTE, &st) == 0);
        MUST(MPI_File_iwrite(f, mem + half, bytes - half, MPI_BYTE, &r[0]) ==
             0);
        MUST(MPI_Wait(&r[0], &st) == 0);
        MUST(count_of(&st, MPI_BYTE) == bytes - half);
    }
}

static void read_some(MPI_File f, int how, int bytes)
{
    MPI_Status st;
    MPI_Request r;

    memset(back, 0, (size_t)bytes);
    if (how == 0)
        MUST(MPI_File_read_at_all(f, 0, back, bytes, MPI_BYTE, &st) == 0);
    else if (how == 1)
        MUST(MPI_File_read_at(f, 0, back, bytes, MPI_BYTE, &st) == 0);
    else if (how == 2)
        MUST(MPI_File_iread_at_all(f, 0, back, bytes, MPI_BYTE, &r) == 0 &&
             MPI_Wait(&r, &st) == 0);
    else
        MUST(MPI_File_seek(f, 0, MPI_SEEK_SET) == 0 &&
             MPI_File_read_all(f, back, bytes, MPI_BYTE, &st) == 0);
    MUST(count_of(&st, MPI_BYTE) == bytes);
    MUST(memcmp(back, mem, (size_t)bytes) == 0);
}

static void one_round(MPI_File f)
{
    static const char *const windows[] = {"65536", "100000", "16777216"};
    int bytes, first, atomic = pick(6) == 0;
    MPI_Datatype type;
    MPI_Info info;

    draw_pieces();
    type = own_type(&bytes, &first);
    write_model();
    MPI_Info_create(&info);
    MPI_Info_set(info, "cb_buffer_size", windows[pick(3)]);
    MPI_Info_set(info, "cb_nodes", pick(2) ? "1" : "64");
    MUST(MPI_File_set_view(f, first, MPI_BYTE, type, "native", info) == 0);
    MPI_Info_free(&info);
    MPI_Type_free(&type);
    MUST(MPI_File_set_atomicity(f, atomic) == 0);
    write_some(f, pick(6), bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    read_some(f, pick(4), bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    content("mix", seen, end_of);
    MUST(memcmp(seen, model, (size_t)end_of) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_File f;

    begin_mix(argc, argv);
    f = fresh("mix");
    for (round_now = 0; round_now < (argc > 2 ? atoi(argv[2]) : 20);
         round_now++)
        one_round(f);
    closed(&f);
    return end("io_mix");
}

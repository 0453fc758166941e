/* SPDX-License-Identifier: BSD-3-Clause
 *
 *   folds [SEED]
 *
 * Reductions of an operation that does not commute, beside a plain fold in rank
 * order: of the world and of parts of it whose ranks are in any order, in place
 * and not, one after the other and two at once.  And broadcasts and gathers, of
 * long vectors, too.
 */
#include "check.h"

#define PRIME 1000003
#define ROUNDS 60
#define MOST 3000
#define LONG 40000 /* elements: more than 256 KB */

/* The function x -> a x + b, with a gap between. */
struct function {
    int a, gap, b;
};

static unsigned long long state;
static MPI_Datatype type;
static MPI_Op op;
static MPI_Comm comm;
static int me, members;
static int *who; /* world rank of each member */

/* All ranks draw the same. */
static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)n);
}

static struct function after(struct function f, struct function g)
{
    return (struct function){(int)((long long)f.a * g.a % PRIME), g.gap,
                             (int)(((long long)f.a * g.b + f.b) % PRIME)};
}

static void compose(void *in, void *inout, int *len, MPI_Datatype *t)
{
    struct function *f = in, *g = inout;

    (void)t;
    for (int i = 0; i < *len; i++)
        g[i] = after(f[i], g[i]);
}

static struct function of(int r, int round, int i)
{
    return (struct function){(r * 37 + i * 11 + round) % (PRIME - 2) + 2, -7,
                             (r * r + i * 3 + round * 5) % PRIME};
}

static void own(struct function *f, int n, int round)
{
    for (int i = 0; i < n; i++)
        f[i] = of(who[me], round, i);
}

static void untouched(struct function *f, int n)
{
    for (int i = 0; i < n; i++)
        f[i] = (struct function){-1, -7, -1};
}

/* Those of members [0, last], from element `from` on. */
static void is_fold(const struct function *got, int n, int last, int round,
                    int from)
{
    for (int i = 0; i < n; i++) {
        struct function f = of(who[0], round, from + i);

        for (int r = 1; r <= last; r++)
            f = after(f, of(who[r], round, from + i));
        CHECK(got[i].a == f.a && got[i].b == f.b);
    }
}

static int pick_count(void)
{
    int kind = draw(4), n = draw(MOST);

    return kind == 0 ? n : n % 9;
}

static void scan(struct function *in, struct function *out, int n, int round)
{
    own(in, n, round);
    untouched(out, n);
    if (round % 2) {
        MPI_Scan(in, out, n, type, op, comm);
    } else {
        memcpy(out, in, (size_t)n * sizeof(*in));
        MPI_Scan(MPI_IN_PLACE, out, n, type, op, comm);
    }
    is_fold(out, n, me, round, 0);
    untouched(out, n);
    if (round % 2) {
        MPI_Exscan(in, out, n, type, op, comm);
    } else {
        memcpy(out, in, (size_t)n * sizeof(*in));
        MPI_Exscan(MPI_IN_PLACE, out, n, type, op, comm);
    }
    if (me > 0)
        is_fold(out, n, me - 1, round, 0);
    for (int i = 0; me == 0 && i < n; i++)
        CHECK(out[i].a == (round % 2 ? -1 : in[i].a));
}

static void reduce(struct function *in, struct function *out, int n, int round)
{
    int root = draw(1 << 20) % members;

    own(in, n, round);
    untouched(out, n);
    if (round % 2 || me != root) {
        MPI_Reduce(in, out, n, type, op, root, comm);
    } else {
        memcpy(out, in, (size_t)n * sizeof(*in));
        MPI_Reduce(MPI_IN_PLACE, out, n, type, op, root, comm);
    }
    if (me == root)
        is_fold(out, n, members - 1, round, 0);
    own(in, n, round);
    if (round % 3) {
        MPI_Allreduce(in, out, n, type, op, comm);
    } else {
        memcpy(out, in, (size_t)n * sizeof(*in));
        MPI_Allreduce(MPI_IN_PLACE, out, n, type, op, comm);
    }
    is_fold(out, n, members - 1, round, 0);
}

/* What the root has, to some as ints without a gap. */
static void long_bcast(struct function *f, int n, int round)
{
    int root = draw(1 << 20) % members, *flat = malloc((size_t)n * 8);

    for (int i = 0; i < n; i++)
        f[i] = me == root ? of(root, round, i) : (struct function){-1, -7, -1};
    if (me == root || me % 3 > 0)
        MPI_Bcast(f, n, type, root, comm);
    else
        MPI_Bcast(flat, 2 * n, MPI_INT, root, comm);
    for (int i = 0; i < n; i++) {
        struct function want = of(root, round, i);

        if (me != root && me % 3 == 0)
            CHECK(flat[2 * i] == want.a && flat[2 * i + 1] == want.b);
        else
            CHECK(f[i].a == want.a && f[i].b == want.b && f[i].gap == -7);
    }
    free(flat);
}

/* Long enough to go by parts. */
static void long_fold(int round)
{
    struct function *in = malloc(LONG * sizeof(*in));
    struct function *out = malloc(LONG * sizeof(*out));
    int n = LONG - draw(5000), root = draw(1 << 20) % members;

    own(in, n, round);
    untouched(out, n);
    MPI_Allreduce(in, out, n, type, op, comm);
    is_fold(out, n, members - 1, round, 0);
    untouched(out, n);
    MPI_Reduce(in, out, n, type, op, root, comm);
    if (me == root)
        is_fold(out, n, members - 1, round, 0);
    long_bcast(in, n, round);
    free(in);
    free(out);
}

/* Blocks of unlike lengths, some none, with gaps between; in place, too. */
static void gather(int round)
{
    int *counts = calloc((size_t)members, sizeof(int)), sum = 0, most = 5;
    int *at = calloc((size_t)members, sizeof(int));
    struct function *in, *out;

    if (round % 6 == 0)
        most = 2 * LONG / members;
    for (int r = 0; r < size; r++) {
        int count = draw(most), gap = draw(3);

        if (r >= members)
            continue;
        counts[r] = count;
        /* MPICH 4.0.2 takes no displacement of one process by itself. */
        at[r] = sum + (round % 2 && members > 1 ? gap : 0);
        sum = at[r] + count;
    }
    in = calloc((size_t)sum + 1, sizeof(*in));
    out = malloc((size_t)(sum + 1) * sizeof(*out));
    untouched(out, sum);
    own(round % 3 ? in : out + at[me], counts[me], round);
    if (round % 3)
        MPI_Allgatherv(in, counts[me], type, out, counts, at, type, comm);
    else
        MPI_Allgatherv(MPI_IN_PLACE, 0, type, out, counts, at, type, comm);
    for (int r = 0, i = 0; i < sum; i++) {
        struct function want = {-1, -7, -1};

        while (r + 1 < members && at[r + 1] <= i)
            r++;
        if (i >= at[r] && i < at[r] + counts[r])
            want = of(who[r], round, i - at[r]);
        CHECK(out[i].a == want.a && out[i].b == want.b && out[i].gap == -7);
    }
    free(in);
    free(out);
    free(counts);
    free(at);
}

/* The same of ints, as long as each other, where they lie. */
static void gather_ints(int round)
{
    int n = round % 6 ? draw(9) : LONG * 2 / members;
    int *in = malloc((size_t)n * sizeof(int) + 1);
    int *out = malloc((size_t)(n * members) * sizeof(int) + 1);
    MPI_Request req;

    for (int i = 0; i < n; i++)
        out[n * me + i] = in[i] = who[me] * 1000 + i + round;
    if (round % 2)
        MPI_Iallgather(in, n, MPI_INT, out, n, MPI_INT, comm, &req);
    else
        MPI_Iallgather(MPI_IN_PLACE, n, MPI_INT, out, n, MPI_INT, comm, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    for (int i = 0; i < n * members; i++)
        CHECK(out[i] == who[i / n] * 1000 + i % n + round);
    free(in);
    free(out);
}

static void scatter(struct function *out, int round)
{
    int *counts = malloc((size_t)size * sizeof(*counts)), from = 0, sum = 0;
    int each = draw(4);
    struct function *in;

    for (int r = 0; r < size; r++) {
        counts[r] = draw(5);
        from += r < me ? counts[r] : 0;
        sum += r < members ? counts[r] : 0;
    }
    in = malloc(((size_t)sum + 4 * (size_t)members) * sizeof(*in));
    own(in, sum, round);
    untouched(out, counts[me]);
    MPI_Reduce_scatter(in, out, counts, type, op, comm);
    is_fold(out, counts[me], members - 1, round, from);
    own(in, each * members, round);
    MPI_Reduce_scatter_block(in, out, each, type, op, comm);
    is_fold(out, each, members - 1, round, each * me);
    MPI_Reduce_scatter_block(MPI_IN_PLACE, in, each, type, op, comm);
    is_fold(in, each, members - 1, round, each * me);
    free(in);
    free(counts);
}

/* Ints and doubles of operations that commute: all have the same bits. */
static void commutes(int round)
{
    double part = 1.0 / (1 + who[me] + round), sum, least, most;
    int in[3] = {who[me], 1, round}, out[3], want = 0;

    MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(&sum, &least, 1, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(&sum, &most, 1, MPI_DOUBLE, MPI_MAX, comm);
    CHECK(least == most);
    MPI_Scan(in, out, 3, MPI_INT, MPI_SUM, comm);
    for (int r = 0; r <= me; r++)
        want += who[r];
    CHECK(out[0] == want && out[1] == me + 1 && out[2] == round * (me + 1));
}

/* Ints of many lengths, some long enough to go by parts. */
static void sums(int round)
{
    int n = round % 6 ? draw(50) : 65536 + draw(9000), from = 0, ranks = 0;
    int *in, *out, counts[64], all = 0;

    for (int r = 0; r < size; r++) {
        counts[r] = round % 6 ? draw(5) : draw(9000);
        if (r < members) {
            from += r < me ? counts[r] : 0;
            all += counts[r];
            ranks += who[r];
        }
    }
    in = malloc((size_t)(n > all ? n : all) * sizeof(int) + 1);
    out = calloc((size_t)(n > all ? n : all) + 1, sizeof(int));
    for (int i = 0; i < n || i < all; i++)
        in[i] = i * 3 + who[me];
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        CHECK(out[i] == i * 3 * members + ranks);
    MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, members - 1, comm);
    for (int i = 0; me + 1 == members && i < n; i++)
        CHECK(out[i] == i * 3 * members + ranks);
    MPI_Bcast(out, n, MPI_INT, members - 1, comm);
    for (int i = 0; i < n; i++)
        CHECK(out[i] == i * 3 * members + ranks);
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < counts[me]; i++)
        CHECK(out[i] == (from + i) * 3 * members + ranks);
    MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        CHECK(in[i] == i * 3 * members + ranks);
    free(in);
    free(out);
}

static void at_once(struct function *in, struct function *out, int n, int round)
{
    struct function *other = malloc((size_t)(n + 1) * sizeof(*other));
    MPI_Request req[3];

    own(in, n, round);
    MPI_Iscan(in, out, n, type, op, comm, &req[0]);
    MPI_Ibarrier(comm, &req[1]);
    MPI_Iallreduce(in, other, n, type, op, comm, &req[2]);
    MPI_Waitall(3, req, MPI_STATUSES_IGNORE);
    is_fold(out, n, me, round, 0);
    is_fold(other, n, members - 1, round, 0);
    free(other);
}

static void one_round(int round)
{
    static struct function in[MOST], out[MOST];
    int n = pick_count(), colors = 1 + draw(2), key = 0, color = 0;

    for (int r = 0; r < size; r++) {
        int k = draw(1000), c = draw(colors);

        if (r == rank) {
            key = round % 4 ? k : rank;
            color = c;
        }
    }
    MPI_Comm_split(MPI_COMM_WORLD, color, key, &comm);
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    who = malloc((size_t)members * sizeof(*who));
    MPI_Allgather(&rank, 1, MPI_INT, who, 1, MPI_INT, comm);
    untouched(out, MOST);
    scan(in, out, n, round);
    reduce(in, out, n, round);
    if (round % 6 == 0)
        long_fold(round);
    gather(round);
    gather_ints(round);
    untouched(out, MOST);
    scatter(out, round);
    MPI_Barrier(comm);
    commutes(round);
    sums(round);
    untouched(out, MOST);
    at_once(in, out, n, round);
    free(who);
    MPI_Comm_free(&comm);
}

static void make_type(void)
{
    int lens[2] = {1, 1};
    MPI_Aint at[2] = {offsetof(struct function, a),
                      offsetof(struct function, b)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT}, raw;

    MPI_Type_create_struct(2, lens, at, types, &raw);
    MPI_Type_create_resized(raw, 0, sizeof(struct function), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&raw);
    MPI_Op_create(compose, 0, &op);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    make_type();
    for (int round = 0; round < ROUNDS; round++)
        one_round(round);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
    return end("folds");
}

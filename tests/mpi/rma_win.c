/* SPDX-License-Identifier: BSD-3-Clause
 * Windows as objects: each way to make one, what it tells of itself,
 * attributes, info, names, error handlers and groups, and the class of each
 * error. */
#include "rma.h"

static int next, prev;

/* ---- ways to make one ---- */

static void *attribute(MPI_Win win, int key)
{
    void *value = NULL;
    int found = 0;

    MPI_Win_get_attr(win, key, &value, &found);
    CHECK(found);
    return value;
}

static void tells(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    CHECK(attribute(win, MPI_WIN_BASE) == base);
    CHECK(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE) == bytes);
    CHECK(*(int *)attribute(win, MPI_WIN_DISP_UNIT) == unit);
    CHECK(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR) == flavor);
    CHECK(*(int *)attribute(win, MPI_WIN_MODEL) == MPI_WIN_UNIFIED);
}

/* Put into the next one, get of the one before. */
static void use(MPI_Win win, int *mem)
{
    int v = 100 + rank, in = -1;

    MPI_Win_fence(0, win);
    MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(&in, 1, MPI_INT, prev, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(in == 100 + (rank + 2 * size - 2) % size);
    CHECK(!mem || *mem == 100 + prev);
}

static void created(void)
{
    int *mem = calloc(100, sizeof(int));
    MPI_Win win;

    MPI_Win_create(mem, 100 * sizeof(int), sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    tells(win, mem, 100 * sizeof(int), sizeof(int), MPI_WIN_FLAVOR_CREATE);
    use(win, mem);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);
    free(mem);
}

static void allocated(void)
{
    int *mem = NULL;
    MPI_Win win;

    for (int i = 0; i < 3; i++) {
        MPI_Aint bytes = (i + 1 + rank) * 5000 * (MPI_Aint)sizeof(int);

        MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                         &mem, &win);
        CHECK(mem);
        memset(mem, 0, (size_t)bytes);
        tells(win, mem, bytes, sizeof(int), MPI_WIN_FLAVOR_ALLOCATE);
        use(win, mem);
        MPI_Win_free(&win);
    }
}

/* Some have no memory. */
static void of_no_size(void)
{
    int mine = rank % 2 == 0, *mem = malloc(sizeof(int)), v = 5, in = 0;
    MPI_Win win;

    MPI_Win_create(mine ? mem : NULL, mine ? sizeof(int) : 0, sizeof(int),
                   MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    if (rank == 1)
        MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Put(&v, 0, MPI_INT, next, 0, 0, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Get(&in, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(in == 5);
    MPI_Win_free(&win);
    MPI_Win_allocate(mine ? 16 : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                     &win);
    CHECK(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE) == (mine ? 16 : 0));
    MPI_Win_free(&win);
}

static void dynamic(void)
{
    int *a = calloc(10, sizeof(int)), *b = calloc(1000, sizeof(int));
    int v = 7 + rank, in = 0;
    MPI_Aint here[2], *there = malloc((size_t)size * sizeof(here));
    MPI_Win win;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    tells(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    MPI_Win_attach(win, a, 10 * sizeof(int));
    MPI_Win_attach(win, b, 1000 * sizeof(int));
    MPI_Get_address(a, &here[0]);
    MPI_Get_address(b + 999, &here[1]);
    MPI_Allgather(here, 2, MPI_AINT, there, 2, MPI_AINT, MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int k = 0; k < 2; k++)
        MPI_Put(&v, 1, MPI_INT, next, there[2 * next + k], 1, MPI_INT, win);
    MPI_Accumulate(&v, 1, MPI_INT, next,
                   MPI_Aint_add(there[2 * next], sizeof(int)), 1, MPI_INT,
                   MPI_SUM, win);
    MPI_Win_flush_all(win);
    MPI_Get(&in, 1, MPI_INT, next, there[2 * next + 1], 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    CHECK(in == 7 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(a[0] == 7 + prev && a[1] == 7 + prev && b[999] == 7 + prev);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    /* what is detached may be attached again */
    MPI_Win_detach(win, b);
    MPI_Win_attach(win, b, 1000 * sizeof(int));
    MPI_Barrier(MPI_COMM_WORLD);
    v = 70 + rank;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    MPI_Put(&v, 1, MPI_INT, next, there[2 * next + 1], 1, MPI_INT, win);
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(b[999] == 70 + prev);
    MPI_Win_detach(win, a);
    MPI_Win_detach(win, b);
    MPI_Win_free(&win);
    free(a);
    free(b);
    free(there);
}

/* Memory that all of a machine load from and store to. */
static void shared(void)
{
    MPI_Comm node;
    MPI_Aint bytes;
    int *mem, *theirs, *before = NULL, me, n, unit, last = -1, one = 1;
    MPI_Win win;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank,
                        MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &me);
    MPI_Comm_size(node, &n);
    MPI_Win_allocate_shared((me + 1) * 64 * (MPI_Aint)sizeof(int), sizeof(int),
                            MPI_INFO_NULL, node, &mem, &win);
    tells(win, mem, (me + 1) * 64 * (MPI_Aint)sizeof(int), sizeof(int),
          MPI_WIN_FLAVOR_SHARED);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    mem[0] = 50 + me;
    mem[40] = 0;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int r = 0; r < n; r++) {
        MPI_Win_shared_query(win, r, &bytes, &unit, &theirs);
        CHECK(bytes == (r + 1) * 64 * (MPI_Aint)sizeof(int) && unit == 4);
        CHECK(theirs[0] == 50 + r);
        CHECK(!before || theirs == before + r * 64);
        before = theirs;
        CHECK(r != me || theirs == mem);
        theirs[1 + me] = 1000 * r + me;
        last = theirs[0];
    }
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int r = 0; r < n; r++)
        CHECK(mem[1 + r] == 1000 * me + r);
    CHECK(last == 50 + n - 1);
    MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &theirs);
    /* (MPICH 4.2.1 says 0 bytes of a window of one process) */
    CHECK((n == 1 && bytes == 0) ||
          (bytes == 64 * (MPI_Aint)sizeof(int) && theirs[0] == 50));
    MPI_Win_unlock_all(win);
    /* it is a window as any other */
    MPI_Win_lock_all(0, win);
    MPI_Accumulate(&one, 1, MPI_INT, n - 1, 40, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(node);
    CHECK(me != n - 1 || mem[40] == n);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
}

/* All of this machine, of whatever client. */
static void our_shared(void)
{
    MPI_Comm node;
    int n;

    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, -rank,
                        MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    CHECK(n == size);
    MPI_Comm_rank(node, &n);
    CHECK(n == size - 1 - rank);
    MPI_Comm_free(&node);
    MPI_Comm_split_type(MPI_COMM_WORLD,
                        rank ? MPI_COMM_TYPE_SHARED : MPI_UNDEFINED, 0,
                        MPI_INFO_NULL, &node);
    CHECK((node == MPI_COMM_NULL) == (rank == 0));
    if (rank)
        MPI_Comm_free(&node);
    shared();
}

static void many_at_once(void)
{
    enum { MANY = 30, APART = 4 };
    int *mem = calloc(MANY * APART, sizeof(int));
    MPI_Win win[MANY];

    for (int i = 0; i < MANY; i++)
        MPI_Win_create(mem + APART * i, sizeof(int), 1, MPI_INFO_NULL,
                       MPI_COMM_WORLD, &win[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Win_fence(0, win[i]);
    for (int i = 0; i < MANY; i++) {
        int v = 100 * i + rank;

        MPI_Put(&v, 1, MPI_INT, next, 0, 1, MPI_INT, win[i]);
        MPI_Win_fence(0, win[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        CHECK(mem[APART * i] == 100 * i + prev);
        MPI_Win_free(&win[i]);
    }
    for (int i = 0; i < MANY; i++) {
        MPI_Win_create(mem, sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                       &win[0]);
        MPI_Win_free(&win[0]);
    }
    free(mem);
}

/* ---- what hangs on one ---- */

static int copied, deleted;

static int copy_fn(MPI_Win win, int key, void *extra, void *in, void *out,
                   int *flag)
{
    (void)win;
    (void)key;
    (void)extra;
    *(void **)out = in;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static int delete_fn(MPI_Win win, int key, void *value, void *extra)
{
    (void)win;
    (void)key;
    CHECK(value == extra);
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int *mem = malloc(sizeof(int)), key[2], flag, x;
    MPI_Win win = window(mem, sizeof(int), 1);
    void *value;

    MPI_Win_create_keyval(copy_fn, delete_fn, &key[0], &x);
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key[1],
                          NULL);
    MPI_Win_get_attr(win, key[0], &value, &flag);
    CHECK(!flag);
    MPI_Win_set_attr(win, key[0], &x);
    MPI_Win_set_attr(win, key[1], mem);
    MPI_Win_get_attr(win, key[0], &value, &flag);
    CHECK(flag && value == &x);
    MPI_Win_delete_attr(win, key[1]);
    MPI_Win_get_attr(win, key[1], &value, &flag);
    CHECK(!flag && deleted == 0);
    MPI_Win_delete_attr(win, key[0]);
    CHECK(deleted == 1);
    MPI_Win_set_attr(win, key[0], &x);
    MPI_Win_free(&win);
    CHECK(deleted == 2 && copied == 0);
    MPI_Win_free_keyval(&key[0]);
    MPI_Win_free_keyval(&key[1]);
    CHECK(key[0] == MPI_KEYVAL_INVALID);
    free(mem);
}

static void names(void)
{
    int *mem = malloc(sizeof(int)), n = -1;
    MPI_Win win = window(mem, sizeof(int), 1);
    char name[MPI_MAX_OBJECT_NAME];

    MPI_Win_set_name(win, "ocean");
    MPI_Win_get_name(win, name, &n);
    CHECK(n == 5 && strcmp(name, "ocean") == 0);
    MPI_Win_free(&win);
    free(mem);
}

static void info(void)
{
    int *mem = malloc(sizeof(int)), flag = 0;
    char value[16] = "";
    MPI_Info hints, got;
    MPI_Win win;

    MPI_Info_create(&hints);
    MPI_Info_set(hints, "no_locks", "true");
    MPI_Win_create(mem, sizeof(int), 1, hints, MPI_COMM_WORLD, &win);
    MPI_Info_free(&hints);
    MPI_Win_get_info(win, &got);
    MPI_Info_get(got, "no_locks", 15, value, &flag);
    /* Only of hints that it uses a library has to say so. */
    CHECK(!flag || strcmp(value, "true") == 0);
    MPI_Info_free(&got);
    MPI_Info_create(&hints);
    MPI_Info_set(hints, "something_that_nobody_knows", "1");
    MPI_Win_set_info(win, hints);
    MPI_Info_free(&hints);
    MPI_Win_free(&win);
    free(mem);
}

static void groups(void)
{
    int *mem = malloc(sizeof(int)), result;
    MPI_Win win = window(mem, sizeof(int), 1);
    MPI_Group mine, all;

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Win_get_group(win, &mine);
    MPI_Group_compare(mine, all, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&mine);
    MPI_Group_free(&all);
    MPI_Win_free(&win);
    free(mem);
}

/* ---- errors ---- */

static int called, code_seen;
static MPI_Win win_seen;

static void handler(MPI_Win *win, int *code, ...)
{
    called++;
    win_seen = *win;
    code_seen = *code;
}

static void error_handlers(void)
{
    int *mem = malloc(sizeof(int)), v = 0, class;
    MPI_Win win = window(mem, sizeof(int), sizeof(int));
    MPI_Errhandler mine, got;

    MPI_Win_get_errhandler(win, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Win_create_errhandler(handler, &mine);
    MPI_Win_set_errhandler(win, mine);
    MPI_Win_get_errhandler(win, &got);
    CHECK(got == mine);
    MPI_Errhandler_free(&got);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(called == 1 && win_seen == win && code_seen == MPI_ERR_OTHER);
    MPI_Win_fence(0, win);
    MPI_Put(&v, 1, MPI_INT, size + 3, 0, 1, MPI_INT, win);
    CHECK(called == 2 && win_seen == win);
    MPI_Error_class(code_seen, &class);
    CHECK(class == MPI_ERR_RANK);
    MPI_Win_fence(0, win);
    MPI_Errhandler_free(&mine);
    MPI_Win_free(&win);
    free(mem);
}

static void is_class(int code, int wanted, const char *what)
{
    int class = -1;

    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    if (class != wanted)
        fprintf(stderr, "%s: code %d of class %d, not %d\n", what, code, class,
                wanted);
    CHECK(class == wanted);
}
#define IS(call, wanted) is_class(call, wanted, #call)

static void classes_of_arguments(void)
{
    int *mem = malloc(sizeof(int)), v = 0;
    MPI_Win win = window(mem, sizeof(int), sizeof(int));

    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock_all(0, win);
    IS(MPI_Put(&v, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    IS(MPI_Get(&v, 1, MPI_INT, -7, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    IS(MPI_Put(&v, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    IS(MPI_Put(&v, 1, MPI_INT, 0, 0, -1, MPI_INT, win), MPI_ERR_COUNT);
    IS(MPI_Put(&v, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    IS(MPI_Accumulate(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win),
       MPI_ERR_OP);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(mem);
}

static void classes_of_epochs(void)
{
    int *mem = malloc(sizeof(int)), v = 0;
    MPI_Win win = window(mem, sizeof(int), sizeof(int));

    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    IS(MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    IS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    IS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    IS(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    MPI_Win_free(&win);
    free(mem);
}

/* MPICH 4.0.2 or Open MPI 4.1.4 alone does not say so. */
static void our_classes(void)
{
    int *mem = malloc(sizeof(int)), v = 0;
    MPI_Win win = window(mem, sizeof(int), sizeof(int));

    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    IS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    IS(MPI_Win_lock(12345, 0, 0, win), MPI_ERR_LOCKTYPE);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    IS(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    if (size > 1)
        IS(MPI_Put(&v, 1, MPI_INT, 1, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    IS(MPI_Put(&v, 1, MPI_INT, 0, 1, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    IS(MPI_Get(&v, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    MPI_Win_unlock(0, win);
    MPI_Win_free(&win);
    free(mem);
}

/* More than there is, for one: an error for all, and the next one is made.
 * (MPICH 4.0.2 alone ends the program.) */
static void our_no_memory(void)
{
    MPI_Aint bytes = rank == size - 1 ? (MPI_Aint)1 << 46 : 64;
    int *mem = NULL;
    MPI_Win win;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    IS(MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win),
       MPI_ERR_NO_MEM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &win);
    mem[0] = 0;
    use(win, mem);
    MPI_Win_free(&win);
}

/* One that shares nothing: none of them has a window, and each client is a
 * machine of its own. */
static void our_apart(void)
{
    MPI_Comm node;
    MPI_Win win;
    int *mem, n;

    if (rank == size - 1)
        setenv("SLURM_IMPI_WINDOWS", "messages", 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    IS(MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &mem,
                               &win),
       MPI_ERR_RMA_SHARED);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &node);
    MPI_Comm_size(node, &n);
    CHECK(n < size);
    MPI_Comm_free(&node);
    unsetenv("SLURM_IMPI_WINDOWS");
}

/* Windows of one byte at every address.  (MPICH 4.0.2 alone: rma.h.) */
static void our_bases(void)
{
    enum { BYTES = 40 };
    char *mem = calloc(BYTES, 1), v, in[BYTES];
    MPI_Win win[BYTES];

    for (int i = 0; i < BYTES; i++) {
        MPI_Win_create(mem + i, 1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win[i]);
        v = (char)(i + rank);
        MPI_Win_fence(0, win[i]);
        MPI_Put(&v, 1, MPI_CHAR, next, 0, 1, MPI_CHAR, win[i]);
        MPI_Win_fence(0, win[i]);
        CHECK(mem[i] == (char)(i + prev));
        MPI_Get(&in[i], 1, MPI_CHAR, next, 0, 1, MPI_CHAR, win[i]);
        MPI_Win_fence(0, win[i]);
        CHECK(in[i] == v);
    }
    for (int i = 0; i < BYTES; i++)
        MPI_Win_free(&win[i]);
    free(mem);
}

static const struct part parts[] = {{"create", created},
                                    {"no_size", of_no_size},
                                    {"many", many_at_once},
                                    {"attributes", attributes},
                                    {"names", names},
                                    {"groups", groups},
                                    {"handlers", error_handlers},
                                    {"arguments", classes_of_arguments},
                                    {"epochs", classes_of_epochs},
                                    {"our_classes", our_classes},
                                    {"our_bases", our_bases},
                                    {"our_shared", our_shared},
                                    {"our_apart", our_apart},
                                    {"our_no_memory", our_no_memory},
                                    {"info", info},
                                    {"allocate", allocated},
                                    {"dynamic", dynamic},
                                    {"shared", shared}};

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    next = (rank + 1) % size;
    prev = (rank + size - 1) % size;
    run_parts(argc, argv, parts, sizeof(parts) / sizeof(parts[0]));
    return end("rma_win");
}

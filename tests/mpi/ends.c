/* SPDX-License-Identifier: BSD-3-Clause
 * A world may end with messages that nobody received, with freed requests
 * under way, and after children were made; what is deleted with MPI_COMM_SELF
 * is deleted before. */
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include "check.h"
#include "../../src/libimpi/impi.h"

static void children(void)
{
    int st;
    pid_t pid = fork();

    CHECK(pid >= 0);
    if (pid == 0)
        _exit(5);
    CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 5);
    pid = fork();
    if (pid == 0)
        exit(0); /* runs exit handlers: must say nothing to anybody */
    CHECK(waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 0);
    CHECK(system("exit 3") >> 8 == 3);
}

/* Within its own client MPICH 4.2 takes a message that nobody receives for an
 * error: its MPI_Finalize aborts, without us as with us. */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 40200000
static const bool own_refuses = true;
#else
static const bool own_refuses = false;
#endif

static int my_client(void)
{
    int *value, found;

    MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, &value, &found);
    CHECK(found);
    return *value;
}

static void unmatched_messages_are_destroyed(void)
{
    static char buf[1000];
    int mine = my_client(), *of = calloc((size_t)size, sizeof(*of));

    MPI_Allgather(&mine, 1, MPI_INT, of, 1, MPI_INT, MPI_COMM_WORLD);
    for (int p = 0; p < size; p++)
        if (p != rank && !(own_refuses && of[p] == mine))
            MPI_Send(buf, 1000, MPI_CHAR, p, 71, MPI_COMM_WORLD);
    free(of);
}

/* A long message whose request is given back, received before the end. */
static void freed_long_send(char *big, int len)
{
    int next = (rank + 1) % size, prev = (rank + size - 1) % size;
    MPI_Request r;
    char *in = malloc((size_t)len);

    MPI_Isend(big, len, MPI_CHAR, next, 72, MPI_COMM_WORLD, &r);
    if (next == prev && size == 1)
        MPI_Recv(in, len, MPI_CHAR, prev, 72, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Request_free(&r);
    if (size > 1)
        MPI_Recv(in, len, MPI_CHAR, prev, 72, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    free(in);
}

/* Libraries keep what they still have to do as an attribute of MPI_COMM_SELF,
 * and have freed its key value by then. */
static int deleted;

static int delete_all_together(MPI_Comm comm, int keyval, void *value,
                               void *extra)
{
    int one = 1, sum = 0, flag;

    (void)keyval;
    (void)extra;
    CHECK(comm == MPI_COMM_SELF);
    CHECK(*(int *)value == deleted++); /* the last that was set comes first */
    MPI_Finalized(&flag);
    CHECK(!flag);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size);
    return MPI_SUCCESS;
}

static int count_me(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    ++*(int *)value;
    return MPI_SUCCESS;
}

static void self_is_deleted_first(void)
{
    static int order[] = {0, 1, 2}, early;
    int keys[3], none;

    for (int i = 0; i < 3; i++)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_all_together,
                               &keys[i], NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_me, &none, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[2], &order[2]);
    MPI_Comm_set_attr(MPI_COMM_SELF, none, &early);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* MPICH 4.2 */
    MPI_Attr_put(MPI_COMM_SELF, keys[1], &order[1]);
#pragma GCC diagnostic pop
    MPI_Comm_set_attr(MPI_COMM_SELF, keys[0], &order[0]);
    MPI_Comm_delete_attr(MPI_COMM_SELF, none);
    CHECK(early == 1);
    for (int i = 0; i < 3; i++)
        MPI_Comm_free_keyval(&keys[i]);
    MPI_Comm_free_keyval(&none);
}

int main(int argc, char **argv)
{
    char *big = calloc(1, 1 << 20);
    int flag;

    begin(&argc, &argv);
    children();
    MPI_Barrier(MPI_COMM_WORLD);
    children();
    unmatched_messages_are_destroyed();
    freed_long_send(big, 1 << 20);
    self_is_deleted_first();
    MPI_Finalized(&flag);
    CHECK(!flag);
    MPI_Finalize();
    MPI_Finalized(&flag);
    if (!flag || deleted != 3)
        return 1;
    if (rank == 0)
        printf("PASS ends\n");
    free(big);
    return 0;
}

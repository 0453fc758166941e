/* SPDX-License-Identifier: BSD-3-Clause
 * Requests of point-to-point operations.
 *
 *   wait   req | waitall first last | test req | waitany first last
 *   start  req | cancel req [took=yes|no] [tell=RANK] | free req
 */
#include <stdlib.h>
#include <string.h>

#include "conform.h"

static void drop(struct pending *p)
{
    if (p->request != MPI_REQUEST_NULL)
        MPI_Request_free(&p->request);
    free(p->buffer);
    free(p->text);
    memset(p, 0, sizeof(*p));
}

static void completed(struct pending *p, int rc, const MPI_Status *status)
{
    if (check_code(&p->expect, rc) == 0 && p->is_recv)
        check_received(&p->expect, p->kind, p->buffer, status);
    if (p->request == MPI_REQUEST_NULL)
        drop(p);
}

static void do_wait(const struct instruction *l)
{
    struct pending *p = pending_of(l, "req");
    MPI_Status status;
    int rc, flag = 0;

    if (strcmp(l->op, "test") != 0) {
        rc = MPI_Wait(&p->request, &status);
    } else {
        do
            rc = MPI_Test(&p->request, &flag, &status);
        while (rc == MPI_SUCCESS && !flag);
    }
    completed(p, rc, &status);
}

static int gather_requests(const struct instruction *l, MPI_Request *all)
{
    int first = number(l, "first", 0), last = number(l, "last", 0);

    if (first < 0 || last >= MAX_REQUESTS || last < first)
        bad_script(l, "first, last");
    for (int i = first; i <= last; i++)
        all[i - first] = st.pending[i].request;
    return last - first + 1;
}

static void do_waitall(const struct instruction *l)
{
    MPI_Request all[MAX_REQUESTS];
    MPI_Status status[MAX_REQUESTS];
    int n = gather_requests(l, all), first = number(l, "first", 0);
    int rc = MPI_Waitall(n, all, status);

    for (int i = 0; i < n; i++) {
        st.pending[first + i].request = all[i];
        completed(&st.pending[first + i],
                  rc == MPI_SUCCESS ? MPI_SUCCESS : status[i].MPI_ERROR,
                  &status[i]);
    }
}

/* Each once, in whatever order. */
static void do_waitany(const struct instruction *l)
{
    MPI_Request all[MAX_REQUESTS];
    int n = gather_requests(l, all), first = number(l, "first", 0);

    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int index, rc = MPI_Waitany(n, all, &index, &status);

        if (index < 0 || index >= n) {
            fail(l, "index %d", index);
            return;
        }
        st.pending[first + index].request = all[index];
        completed(&st.pending[first + index], rc, &status);
    }
}

static void do_cancel(const struct instruction *l)
{
    struct pending *p = pending_of(l, "req");
    const char *took = word(l, "took", NULL);
    MPI_Status status;
    int flag = 0;

    check_code(l, MPI_Cancel(&p->request));
    check_code(l, MPI_Wait(&p->request, &status));
    MPI_Test_cancelled(&status, &flag);
    if (took && flag != (strcmp(took, "yes") == 0))
        fail(l, flag ? "was cancelled" : "was not cancelled");
    if (!flag && p->is_recv)
        check_received(&p->expect, p->kind, p->buffer, &status);
    if (number(l, "tell", -1) >= 0)
        check_code(l, MPI_Send(&flag, 1, MPI_INT, number(l, "tell", 0),
                               TELL_TAG, MPI_COMM_WORLD));
    drop(p);
}

static void do_start(const struct instruction *l)
{
    struct pending *p = pending_of(l, "req");

    if (p->is_recv)
        memset(p->buffer, 0,
               (size_t)number(&p->expect, "count", 1) * (size_t)p->kind->size);
    check_code(l, MPI_Start(&p->request));
}

static void do_free(const struct instruction *l)
{
    drop(pending_of(l, "req"));
}

int run_wait(const struct instruction *l)
{
    static const struct {
        const char *op;
        void (*run)(const struct instruction *l);
    } table[] = {
        {"wait", do_wait},       {"test", do_wait},     {"waitall", do_waitall},
        {"waitany", do_waitany}, {"cancel", do_cancel}, {"start", do_start},
        {"free", do_free},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (strcmp(table[i].op, l->op) == 0) {
            table[i].run(l);
            return 1;
        }
    return 0;
}

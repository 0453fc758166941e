/* SPDX-License-Identifier: BSD-3-Clause
 * The joining client, against the server engine and against scripted servers.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi_job.h"

static const uint32_t three_hosts[] = {3, 2, 2}, three_per[] = {2, 3, 4};

/* Everybody joined: move each client's world out and compare. */
static void take_worlds(struct job *job, struct impi_world *w)
{
    for (uint32_t c = 0; c < job->nclients; c++) {
        if (job->clients[c].failed)
            print_error("client %u: %s\n", c, job->clients[c].err.text);
        assert_false(job->clients[c].failed);
        assert_true(impi_join_done(job->clients[c].join));
        impi_join_take_world(job->clients[c].join, &w[c]);
    }
    for (uint32_t c = 1; c < job->nclients; c++) {
        uint8_t *a, *b;
        size_t la, lb;

        assert_int_equal(impi_world_encode(&w[0], &a, &la), 0);
        assert_int_equal(impi_world_encode(&w[c], &b, &lb), 0);
        assert_int_equal(la, lb);
        assert_memory_equal(a, b, la);
        free(a);
        free(b);
    }
}

static void free_worlds(struct job *job, struct impi_world *w)
{
    for (uint32_t c = 0; c < job->nclients; c++)
        impi_world_free(&w[c]);
}

static void im_34_three_clients_join_and_leave(void **state)
{
    struct impi_world w[3];
    struct job job;

    for (unsigned seed = 0; seed < 50; seed++) {
        job_init(&job, 3, three_hosts, three_per);
        job.seed = seed;
        job_start(&job);
        job_run(&job);
        take_worlds(&job, w);
        assert_int_equal(w[0].nhosts, 7);
        assert_int_equal(w[0].nprocs, 20);
        assert_int_equal(w[0].flags, IMPI_WORLD_EXTENDED | IMPI_WORLD_NATIVE);
        assert_int_equal(w[0].maxdatalen, 65536);
        assert_int_equal(w[0].coll_xsize, 1024);
        assert_int_equal(w[0].coll_maxlinear, 4);
        for (uint32_t c = 0; c < 3; c++)
            impi_join_fini(job.clients[c].join);
        job_run(&job);
        assert_true(impi_server_finished(job.server));
        for (uint32_t c = 0; c < 3; c++)
            assert_false(job.clients[c].failed);
        assert_int_equal(job_count(&job, IMPI_SERVER_LOST, NULL), 0);
        free_worlds(&job, w);
        job_free(&job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(im_34_three_clients_join_and_leave),
    };

    return cmocka_run_group_tests_name("impi_join", tests, NULL, NULL);
}

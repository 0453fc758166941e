/* SPDX-License-Identifier: BSD-3-Clause
 * Memory runs out at every place in turn: the start-up engines report it and
 * neither crash nor leak (the latter under --enable-asan).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/join.h"
#include "impi/rendezvous.h"
#include "impi/server.h"

/* Allocations until one fails; 0: none fails. */
static unsigned countdown;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t m);

static int denied(void)
{
    if (countdown == 0 || --countdown > 0)
        return 0;
    errno = ENOMEM;
    return 1;
}

void *__wrap_malloc(size_t n)
{
    return denied() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
    return denied() ? NULL : __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
    return denied() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t m)
{
    return denied() ? NULL : __real_reallocarray(p, n, m);
}

#define CLIENTS 2

struct pair {
    struct impi_server *server;
    struct impi_join *join[CLIENTS];
    int conn[CLIENTS];
};

static struct impi_join *make_join(uint32_t client,
                                   const struct impi_auth_method *none)
{
    struct impi_join_host host = {.nprocs = 2};
    struct impi_join_proc procs[2] = {{.pid = 1}, {.pid = 2}};
    struct impi_join_options o;

    host.addr[15] = procs[0].hostid[15] = (uint8_t)(client + 5);
    procs[1].hostid[15] = (uint8_t)(client + 5);
    procs[0].rank = client;
    procs[1].rank = client + 2;
    impi_join_defaults(&o);
    o.client = client;
    o.nclients = CLIENTS;
    o.methods = none;
    o.nmethods = 1;
    o.hosts = &host;
    o.nhosts = 1;
    o.procs = procs;
    o.nprocs = 2;
    return impi_join_create(&o, NULL);
}

/* One exchange in each direction; false: nothing moved. */
static bool move(struct pair *p, int c)
{
    const uint8_t *data = NULL;
    size_t n = impi_join_output(p->join[c], &data), m;

    if (p->conn[c] < 0)
        return false;
    impi_server_input(p->server, p->conn[c], data, n);
    impi_join_sent(p->join[c], n);
    m = impi_server_output(p->server, p->conn[c], &data);
    if (m && impi_join_input(p->join[c], data, m, NULL) < 0) {
        impi_server_close(p->server, p->conn[c]);
        p->conn[c] = -1;
        return true;
    }
    impi_server_sent(p->server, p->conn[c], m);
    if (!impi_server_open(p->server, p->conn[c])) {
        impi_server_close(p->server, p->conn[c]);
        p->conn[c] = -1;
    }
    return n > 0 || m > 0;
}

/* A job of two clients.  True when both joined. */
static bool run_job(void)
{
    const struct impi_auth_method none = impi_auth_none();
    const struct impi_server_options o = {
        .nclients = CLIENTS, .methods = &none, .nmethods = 1};
    const uint8_t nonce[IMPI_AUTH_NONCE_SIZE] = {0};
    struct pair p = {.server = impi_server_create(&o, NULL)};
    bool ready = p.server != NULL, moved = true;

    for (uint32_t c = 0; c < CLIENTS; c++) {
        p.join[c] = make_join(c, &none);
        p.conn[c] = ready ? impi_server_connect(p.server, "x", nonce) : -1;
        ready = ready && p.join[c] && p.conn[c] >= 0;
    }
    while (ready && moved) {
        moved = move(&p, 0);
        moved |= move(&p, 1);
    }
    for (int c = 0; c < CLIENTS; c++) {
        ready = ready && impi_join_done(p.join[c]);
        impi_join_destroy(p.join[c]);
    }
    impi_server_destroy(p.server);
    return ready;
}

/* Three contributions.  True when the key was completed. */
static bool run_rendezvous(void)
{
    struct rendezvous *r = rendezvous_create();
    struct agent_put put = {
        .key = "k", .expected = 6, .blob = {(const uint8_t *)"blob", 4}};
    struct rendezvous_result result;
    int rc = 0;

    for (put.index = 0; r && rc == 0 && put.index < 6; put.index++)
        rc = rendezvous_put(r, put.index, &put, false, &result, NULL);
    if (rc == 1)
        rendezvous_result_free(&result);
    rendezvous_destroy(r);
    return rc == 1;
}

static bool run_world(void)
{
    struct impi_world w = {.nclients = 1,
                           .maxdatalen = 1,
                           .tagub = 32767,
                           .ackmark = 1,
                           .hiwater = 1};
    struct impi_world back;
    uint8_t *buf;
    size_t len;
    bool good = false;

    if (impi_world_alloc(&w, 1, 1) < 0)
        return false;
    w.hosts[0].nprocs = 1;
    if (impi_world_encode(&w, &buf, &len) == 0) {
        good = impi_world_decode(&back, buf, len, NULL) == 0;
        if (good)
            impi_world_free(&back);
        free(buf);
    }
    impi_world_free(&w);
    return good;
}

/* Fail the first allocation, the second, ... until all are past. */
static void exhaust(bool (*run)(void))
{
    unsigned n = 0;

    for (;;) {
        bool done;

        countdown = ++n;
        done = run();
        if (countdown > 0) { /* it was not reached */
            countdown = 0;
            assert_true(done);
            assert_true(n > 3);
            return;
        }
        assert_in_range(n, 1, 100000);
    }
}

static void a_job_survives_every_lack_of_memory(void **state)
{
    exhaust(run_job);
}

static void the_rendezvous_survives_every_lack_of_memory(void **state)
{
    exhaust(run_rendezvous);
}

static void the_world_survives_every_lack_of_memory(void **state)
{
    exhaust(run_world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_survives_every_lack_of_memory),
        cmocka_unit_test(the_rendezvous_survives_every_lack_of_memory),
        cmocka_unit_test(the_world_survives_every_lack_of_memory),
    };

    return cmocka_run_group_tests_name("impi_oom", tests, NULL, NULL);
}

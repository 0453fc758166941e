/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void job_event(void *arg, const struct impi_server_event *e)
{
    struct job *job = arg;

    assert_in_range(job->nevents, 0, JOB_MAX_EVENTS - 1);
    job->events[job->nevents].type = e->type;
    job->events[job->nevents].client = e->client;
    strcpy(job->events[job->nevents++].text, e->text);
}

static void fill_client(struct job *job, uint32_t c, uint32_t nhosts,
                        uint32_t per_host, uint32_t first_rank)
{
    struct job_client *k = &job->clients[c];
    uint32_t n = 0;

    impi_join_defaults(&k->o);
    k->o.client = c;
    k->o.nclients = job->nclients;
    k->o.hosts = k->hosts;
    k->o.nhosts = nhosts;
    k->o.procs = k->procs;
    k->o.nprocs = nhosts * per_host;
    memset(k->o.secret, 0x33, sizeof(k->o.secret));
    for (uint32_t h = 0; h < nhosts; h++) {
        const uint8_t ipv4[4] = {127, 0, (uint8_t)(c + 1), (uint8_t)(h + 1)};

        impi_hostid_set_ipv4(k->hosts[h].addr, ipv4);
        k->hosts[h].port = (uint16_t)(1000 * (5 + c) + h + 1);
        k->hosts[h].nprocs = per_host;
        for (uint32_t p = 0; p < per_host; p++, n++) {
            impi_hostid_set_ipv4(k->procs[n].hostid, ipv4);
            memcpy(k->procs[n].addr, k->procs[n].hostid, 16);
            k->procs[n].pid = 100 + n;
            k->procs[n].port = (uint16_t)(40000 + n);
            k->procs[n].cpus = (uint16_t)(1 + c);
            k->procs[n].rank = first_rank + n;
        }
    }
}

void job_init(struct job *job, uint32_t nclients, const uint32_t *hosts,
              const uint32_t *per_host)
{
    uint32_t rank = 0;

    memset(job, 0, sizeof(*job));
    job->nclients = nclients;
    job->methods[0] = impi_auth_none();
    job->nmethods = 1;
    for (uint32_t c = 0; c < nclients; c++) {
        fill_client(job, c, hosts[c], per_host[c], rank);
        rank += hosts[c] * per_host[c];
    }
}

void job_start(struct job *job)
{
    struct impi_server_options so = {.nclients = job->nclients,
                                     .methods = job->methods,
                                     .nmethods = job->nmethods,
                                     .event = job_event,
                                     .arg = job};
    const uint8_t nonce[IMPI_AUTH_NONCE_SIZE] = {7};
    char peer[32];

    job->server = impi_server_create(&so, NULL);
    assert_non_null(job->server);
    for (uint32_t c = 0; c < job->nclients; c++) {
        struct job_client *k = &job->clients[c];

        if (!k->o.methods) {
            k->o.methods = job->methods;
            k->o.nmethods = job->nmethods;
        }
        k->join = impi_join_create(&k->o, &k->err);
        assert_non_null(k->join);
        snprintf(peer, sizeof(peer), "127.0.%u.1:9", c + 1);
        k->conn = impi_server_connect(job->server, peer, nonce);
    }
}

static size_t piece(struct job *job, size_t len)
{
    if (!job->seed || len < 2)
        return len;
    return 1 + (size_t)rand_r(&job->seed) % (len < 40 ? len : 40);
}

static bool to_server(struct job *job, struct job_client *k)
{
    const uint8_t *data;
    size_t n = piece(job, impi_join_output(k->join, &data));

    if (n == 0 || k->conn < 0)
        return false;
    impi_server_input(job->server, k->conn, data, n);
    impi_join_sent(k->join, n);
    return true;
}

static bool to_client(struct job *job, struct job_client *k)
{
    const uint8_t *data = NULL;
    size_t n;

    if (k->conn < 0)
        return false;
    n = piece(job, impi_server_output(job->server, k->conn, &data));
    if (n > 0) {
        if (!k->failed && impi_join_input(k->join, data, n, &k->err) < 0)
            k->failed = true;
        impi_server_sent(job->server, k->conn, n);
        return true;
    }
    if (impi_server_open(job->server, k->conn))
        return false;
    impi_server_close(job->server, k->conn);
    k->conn = -1;
    if (!k->failed && impi_join_eof(k->join, &k->err) < 0)
        k->failed = true;
    return true;
}

void job_run(struct job *job)
{
    bool moved = true;

    while (moved) {
        moved = false;
        for (uint32_t c = 0; c < job->nclients; c++) {
            moved |= to_server(job, &job->clients[c]);
            moved |= to_client(job, &job->clients[c]);
        }
    }
}

void job_free(struct job *job)
{
    for (uint32_t c = 0; c < job->nclients; c++)
        impi_join_destroy(job->clients[c].join);
    impi_server_destroy(job->server);
}

int job_count(const struct job *job, enum impi_server_event_type type,
              const char **text)
{
    int n = 0;

    for (int i = 0; i < job->nevents; i++)
        if (job->events[i].type == type) {
            n++;
            if (text)
                *text = job->events[i].text;
        }
    return n;
}

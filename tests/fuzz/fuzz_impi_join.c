/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a server may send to a joining client (0 of 2 clients, extensions on
 * when the first byte is odd).
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/join.h"

static void make_options(struct impi_join_options *o,
                         struct impi_join_host *host,
                         struct impi_join_proc *proc,
                         const struct impi_auth_method *none)
{
    static const uint8_t ipv4[4] = {127, 0, 1, 1};

    memset(host, 0, sizeof(*host));
    memset(proc, 0, sizeof(*proc));
    impi_hostid_set_ipv4(host->addr, ipv4);
    impi_hostid_set_ipv4(proc->hostid, ipv4);
    host->nprocs = 1;
    host->port = 5001;
    proc->pid = 100;
    impi_join_defaults(o);
    o->nclients = 2;
    o->methods = none;
    o->nmethods = 1;
    o->hosts = host;
    o->nhosts = 1;
    o->procs = proc;
    o->nprocs = 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct impi_auth_method none = impi_auth_none();
    struct impi_join_options o;
    struct impi_join_host host;
    struct impi_join_proc proc;
    struct impi_join *j;
    struct errbuf err;
    const uint8_t *out;

    if (size == 0)
        return 0;
    make_options(&o, &host, &proc, &none);
    o.extensions = data[0] & 1;
    j = impi_join_create(&o, &err);
    if (!j)
        return 0;
    if (impi_join_input(j, data + 1, size - 1, &err) < 0)
        impi_join_eof(j, &err);
    impi_join_sent(j, impi_join_output(j, &out));
    if (impi_join_done(j)) {
        struct impi_world w;

        impi_join_take_world(j, &w);
        impi_world_free(&w);
        impi_join_fini(j);
    }
    impi_join_destroy(j);
    return 0;
}

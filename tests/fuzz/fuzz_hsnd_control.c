/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests of hsnd's control socket, which every user may send: all verbs, of
 * a board that knows 2500 peers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "fuzz.h"
#include "hsnd/hsnd.h"

#define PEERS 2500
#define SHOWN 1000 /* in one answer */

uint64_t clock_ns(void)
{
    return 1;
}

/* No file is read here. */
int hsnd_routes_file(struct hsnd *d, const char *path, struct errbuf *err)
{
    (void)d;
    (void)path;
    return errprintf(err, "no file");
}

static void *page(void *arg, size_t size)
{
    (void)arg;
    return aligned_alloc(size, size);
}

static void no_page(void *arg, void *p, size_t size)
{
    (void)arg;
    (void)size;
    free(p);
}

static size_t nothing_comes(void *nic, struct hsn_rx *rx, size_t n)
{
    (void)nic;
    (void)rx;
    (void)n;
    return 0;
}

static void load_peers(struct hsn_engine *e)
{
    static struct hsn_peer peers[PEERS];
    struct hsn_routes routes;
    struct errbuf err;

    for (size_t i = 0; i < PEERS; i++)
        peers[i] = (struct hsn_peer){.address = 0x100 + i,
                                     .neighbour = i % 2,
                                     .nroutes = 1,
                                     .route = {{1, {0x81}}}};
    if (hsn_routes_make(&routes, peers, PEERS, NULL, &err) < 0)
        abort();
    hsn_engine_set_routes(e, &routes);
}

/* Its NIC is never used. */
static struct hsnd *board(void)
{
    static const struct hsn_nic_ops ops = {.recv = nothing_comes};
    static struct hsn_nic nic = {.kind = "none"};
    static struct hsnd d = {.nic = &nic, .node = "n1"};
    const struct hsn_engine_options o = {
        .board = 1, .page_size = 4096, .memory = {page, no_page, NULL}};

    if (!d.engine) {
        d.engine = hsn_engine_new(&o, &ops, NULL);
        if (!d.engine)
            abort();
        load_peers(d.engine);
    }
    return &d;
}

/* A thousand of the peers from the one that was asked for on. */
static void check_peers(struct json_object *in, struct json_object *out)
{
    int64_t from = 0, left;
    size_t n;

    if (json_object_object_get_ex(in, "from", NULL) &&
        !jsonx_int(in, "from", 0, INT64_MAX, &from))
        abort(); /* answered nevertheless */
    left = from < PEERS ? PEERS - from : 0;
    if (!jsonx_array(out, "peers", &n) ||
        n != (size_t)(left < SHOWN ? left : SHOWN))
        abort();
}

static void ask(struct hsnd *d, const struct ctl_verb *verb,
                struct json_object *in)
{
    const struct ctl_peer peer = {0};
    struct ctl_request q = {
        .in = in, .out = json_object_new_object(), .peer = &peer, .arg = d};
    struct errbuf err = {""};

    if (verb->call(&q, &err) < 0) {
        if (!err.text[0])
            abort();
    } else if (strcmp(verb->name, "peers") == 0) {
        check_peers(in, q.out);
    }
    json_object_put(q.out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errbuf err;
    struct json_object *in = jsonx_parse((const char *)data, size, &err);
    const char *verb = in ? jsonx_str(in, "verb", 32) : NULL;

    for (size_t i = 0; verb && i < hsnd_nverbs; i++)
        if (strcmp(verb, hsnd_verbs[i].name) == 0)
            ask(board(), &hsnd_verbs[i], in);
    json_object_put(in);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The IMPI server engine with scripted clients: what they say and hear, and
 * the events.
 */
#ifndef SF_TESTS_IMPI_SERVER_BENCH_H
#define SF_TESTS_IMPI_SERVER_BENCH_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/server.h"
#include "impi/wire.h"

struct bench {
    struct impi_server *s;
    struct impi_auth_method methods[4];
    int nevents;
    struct {
        enum impi_server_event_type type;
        int client;
        char text[SF_ERRBUF_SIZE];
    } events[128];
};

static inline void on_event(void *arg, const struct impi_server_event *e)
{
    struct bench *b = arg;

    assert_in_range(b->nevents, 0, 127);
    b->events[b->nevents].type = e->type;
    b->events[b->nevents].client = e->client;
    strcpy(b->events[b->nevents++].text, e->text);
}

static inline void start_with(struct bench *b, struct impi_server_options o)
{
    o.event = on_event;
    o.arg = b;
    b->nevents = 0;
    b->s = impi_server_create(&o, NULL);
    assert_non_null(b->s);
}

static inline void start(struct bench *b, uint32_t nclients)
{
    b->methods[0] = impi_auth_none();
    start_with(b, (struct impi_server_options){.nclients = nclients,
                                               .methods = b->methods,
                                               .nmethods = 1});
}

static inline void stop(struct bench *b)
{
    impi_server_destroy(b->s);
}

static inline int dial(struct bench *b)
{
    static uint8_t nonce[IMPI_AUTH_NONCE_SIZE];
    int c;

    nonce[0]++;
    c = impi_server_connect(b->s, "12.34.56.78:9000", nonce);
    assert_true(c >= 0);
    return c;
}

static inline void say(struct bench *b, int c, const void *bytes, size_t len)
{
    impi_server_input(b->s, c, bytes, len);
}

#define SAY(b, c, literal) say(b, c, literal, sizeof(literal) - 1)

/* Exactly these bytes wait for the client; they are taken. */
static inline void hear(struct bench *b, int c, const void *want, size_t len)
{
    const uint8_t *data = NULL;
    size_t have = impi_server_output(b->s, c, &data);

    assert_int_equal(have, len);
    if (len)
        assert_memory_equal(data, want, len);
    impi_server_sent(b->s, c, have);
}

#define HEAR(b, c, literal) hear(b, c, literal, sizeof(literal) - 1)

static inline void drain(struct bench *b, int c)
{
    const uint8_t *data;

    impi_server_sent(b->s, c, impi_server_output(b->s, c, &data));
}

static const char *last(const struct bench *b, enum impi_server_event_type t)
{
    for (int i = b->nevents; i-- > 0;)
        if (b->events[i].type == t)
            return b->events[i].text;
    return "";
}

static inline int count(const struct bench *b, enum impi_server_event_type t)
{
    int n = 0;

    for (int i = 0; i < b->nevents; i++)
        n += b->events[i].type == t;
    return n;
}

#define AUTH_NONE_BYTES "AUTH\0\0\0\4\0\0\0\1"

static inline void say_impi(struct bench *b, int c, uint8_t rank)
{
    uint8_t m[12] = "IMPI\0\0\0\4\0\0\0";

    m[11] = rank;
    say(b, c, m, 12);
}

/* Authenticated by NONE and joined as rank; output taken. */
static inline int join(struct bench *b, uint8_t rank)
{
    int c = dial(b);

    SAY(b, c, AUTH_NONE_BYTES);
    HEAR(b, c, "\0\0\0\0\0\0\0\0");
    say_impi(b, c, rank);
    return c;
}

static inline void join_all(struct bench *b, int *c, uint32_t n)
{
    start(b, n);
    for (uint32_t i = 0; i < n; i++)
        c[i] = join(b, (uint8_t)i);
    for (uint32_t i = 0; i < n; i++)
        drain(b, c[i]);
}

static inline void say_label(struct bench *b, int c, uint32_t label,
                             const void *data, uint32_t len)
{
    struct bytebuf o;

    bytebuf_init(&o, 1 << 26);
    impi_coll_encode(&o, (int32_t)label, len);
    bytebuf_add(&o, data, len);
    say(b, c, bytebuf_data(&o), bytebuf_len(&o));
    bytebuf_free(&o);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A host on the other end of the mapper's own cable, whose Replies carry any
 * option: the values that the document does not define.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mapper/gm1.h"
#include "mapper/hostside.h"

#define SECOND 1000000000ull
#define OPTION_OFFERED 3
#define MAPPER_ADDRESS 0x0060dd000001ull
#define HOST_ADDRESS 0x0060dd000002ull

struct pair {
    struct gm1 *mapper;
    struct hostside *host;
    uint64_t now;
    uint16_t option;
    uint8_t mail[64][GM1_CONFIG_SIZE + 4 * GM1_ENTRY_SIZE];
    size_t len[64];
    unsigned nmail; /* for the mapper, after it has sent */
    unsigned warned;
    char text[200];
};

/* What the host says, with the option of this test in its Replies. */
static void of_host(const uint8_t *route, size_t nroute, const void *body,
                    size_t len, void *arg)
{
    struct pair *p = arg;
    struct gm1_message msg;

    assert_int_equal(gm1_decode(&msg, body, len), 0);
    assert_true(p->nmail < 64);
    if (msg.subtype == GM1_REPLY) {
        msg.reply.option = p->option;
        len = gm1_encode(p->mail[p->nmail], sizeof(p->mail[0]), &msg);
        assert_int_not_equal(len, 0);
    } else {
        assert_true(len <= sizeof(p->mail[0]));
        memcpy(p->mail[p->nmail], body, len);
    }
    p->len[p->nmail++] = len;
}

/* The cable leads to the host: what has a route byte left is for nobody. */
static void of_mapper(const uint8_t *route, size_t nroute, const void *body,
                      size_t len, void *arg)
{
    struct pair *p = arg;

    if (nroute == 0)
        hostside_input(p->host, body, len);
}

static void on_notice(const char *text, void *arg)
{
    struct pair *p = arg;

    if (!strstr(text, "option"))
        return;
    p->warned++;
    snprintf(p->text, sizeof(p->text), "%s", text);
}

static void ignore_moved(enum gm1_event event, enum gm1_state from,
                         enum gm1_state to, void *arg)
{
}

static void ignore_scouted(const struct gm1_scout *scout, void *arg)
{
}

static void ignore_version(uint32_t version, void *arg)
{
}

static void ignore(void *arg)
{
}

static void run(struct pair *p, uint64_t until)
{
    while (p->now < until) {
        for (unsigned i = 0; i < p->nmail; i++)
            gm1_input(p->mapper, p->now, p->mail[i], p->len[i]);
        p->nmail = 0;
        gm1_tick(p->mapper, p->now);
        p->now += SECOND / 1000;
    }
}

static void open_pair(struct pair *p, uint16_t option)
{
    const struct hostside_config host = {.address = HOST_ADDRESS,
                                         .name = "other"};
    const struct hostside_ops host_ops = {.send = of_host,
                                          .scouted = ignore_scouted,
                                          .cleared = ignore,
                                          .complete = ignore_version};
    const struct gm1_ops ops = {.send = of_mapper,
                                .cleared = ignore,
                                .configured = ignore_version,
                                .moved = ignore_moved,
                                .notice = on_notice,
                                .fatal = on_notice};
    struct gm1_options options;

    memset(p, 0, sizeof(*p));
    p->option = option;
    gm1_options_default(&options);
    options.host.address = MAPPER_ADDRESS;
    options.host.name = "mapper";
    options.host.level = 1;
    p->host = hostside_new(&host, &host_ops, p);
    p->mapper = gm1_new(&options, &ops, p, 0);
    assert_non_null(p->host);
    assert_non_null(p->mapper);
}

static void close_pair(struct pair *p)
{
    gm1_free(p->mapper);
    hostside_free(p->host);
}

/* Undefined options are as 0, and that is said once; no bit of them is taken
 * for one that is defined. */
static void undefined_options_are_as_none(void **state)
{
    static const uint16_t options[] = {OPTION_OFFERED, 0x0101, 0x8002, 0xffff};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        struct hostside_state s;
        struct pair p;
        char number[20];

        open_pair(&p, options[i]);
        run(&p, 20 * SECOND);
        hostside_state(p.host, &s);
        assert_true(s.complete);
        assert_int_equal(s.nentries, 2);
        assert_int_equal(p.warned, 1);
        snprintf(number, sizeof(number), "option %u", options[i]);
        assert_non_null(strstr(p.text, number));
        assert_non_null(strstr(p.text, "other"));
        close_pair(&p);
    }
}

static void defined_options_are_no_warning(void **state)
{
    static const uint16_t options[] = {GM1_OPTION_NONE, GM1_OPTION_NO_ROUTES};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        struct hostside_state s;
        struct pair p;

        open_pair(&p, options[i]);
        run(&p, 20 * SECOND);
        hostside_state(p.host, &s);
        assert_int_equal(s.nentries,
                         options[i] == GM1_OPTION_NO_ROUTES ? 0 : 2);
        assert_int_not_equal(s.version, 0);
        assert_int_equal(p.warned, 0);
        close_pair(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(undefined_options_are_as_none),
        cmocka_unit_test(defined_options_are_no_warning),
    };

    return cmocka_run_group_tests_name("gm1 options", tests, NULL, NULL);
}

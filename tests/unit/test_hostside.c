/* SPDX-License-Identifier: BSD-3-Clause
 * The host side of GM-1.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "mapper/gm2_wire.h"
#include "mapper/hostside.h"

#define ME 0x0060dd000001ULL
#define MAPPER 0x0060dd000009ULL

struct world {
    struct hostside *host;
    int nsent, nscouted, ncleared, ncomplete;
    uint8_t route[32];
    size_t nroute;
    uint8_t body[2000];
    size_t len;
    struct gm1_message last;
};

static void on_send(const uint8_t *route, size_t nroute, const void *body,
                    size_t len, void *arg)
{
    struct world *w = arg;

    w->nsent++;
    memcpy(w->route, route, nroute);
    w->nroute = nroute;
    memcpy(w->body, body, len);
    w->len = len;
    assert_int_equal(gm1_decode(&w->last, w->body, w->len), 0);
}

static void on_scouted(const struct gm1_scout *scout, void *arg)
{
    ((struct world *)arg)->nscouted++;
}

static void on_cleared(void *arg)
{
    ((struct world *)arg)->ncleared++;
}

static void on_complete(uint32_t version, void *arg)
{
    ((struct world *)arg)->ncomplete++;
}

static const struct hostside_ops ops = {on_send, on_scouted, on_cleared,
                                        on_complete};

static void setup(struct world *w, const struct hostside_config *config)
{
    memset(w, 0, sizeof(*w));
    w->host = hostside_new(config, &ops, w);
    assert_non_null(w->host);
}

static const struct hostside_config plain = {ME, "n1", 0, 0, false, false};

static bool scout(struct world *w, uint16_t command)
{
    const struct gm1_message msg = {
        .subtype = GM1_SCOUT,
        .port = 0xffffffff,
        .phase = 0xfedcba98,
        .scout = {{3, {0x81, 0x82, 0x83}}, MAPPER, command, 1}};
    uint8_t body[60];

    gm1_encode(body, sizeof(body), &msg);
    return hostside_input(w->host, body, 60);
}

/* A Config with entries for addresses first .. first + n - 1. */
static void config_from(struct world *w, uint64_t mapper, uint64_t address,
                        uint32_t version, uint16_t total, uint64_t first,
                        uint32_t n, uint32_t serial)
{
    struct gm1_message msg = {.subtype = GM1_CONFIG, .port = 7, .phase = 8};
    struct gm1_entry entries[20] = {0};
    uint8_t body[GM1_MESSAGE_MAX];
    size_t len;

    msg.config = (struct gm1_config){
        serial, {2, {0x84, 0x85}}, address, mapper, 42, total, version};
    for (uint32_t i = 0; i < n; i++) {
        entries[i].address = first + i;
        entries[i].gmid = (uint16_t)(first + i);
        entries[i].node_type = 77;
        entries[i].route = (struct gm1_route){1, {0x81}};
        entries[i].control = 0xbeef;
    }
    len = gm1_encode_entries(body, sizeof(body), &msg, entries, n);
    assert_true(len > 0);
    assert_false(hostside_input(w->host, body, len));
}

static void config_to(struct world *w, uint64_t address, uint32_t version,
                      uint16_t total, uint64_t first, uint32_t n,
                      uint32_t serial)
{
    config_from(w, MAPPER, address, version, total, first, n, serial);
}

static void config(struct world *w, uint32_t version, uint16_t total,
                   uint64_t first, uint32_t n)
{
    config_to(w, ME, version, total, first, n, 0);
}

static void scout_is_answered_by_its_route(void **state)
{
    struct world w;

    setup(&w, &plain);
    assert_false(scout(&w, 0));
    assert_int_equal(w.nsent, 1);
    assert_int_equal(w.nroute, 3);
    assert_memory_equal(w.route, "\x81\x82\x83", 3);
    assert_int_equal(w.last.subtype, GM1_REPLY);
    assert_int_equal(w.last.port, 0xffffffff);
    assert_int_equal(w.last.phase, 0xfedcba98);
    assert_int_equal(w.last.reply.address, ME);
    assert_string_equal(w.last.reply.name, "n1");
    assert_int_equal(w.nscouted, 1); /* G1-28: handed to a mapper here */
    hostside_free(w.host);
}

static void zero_before_the_first_config(void **state)
{
    struct world w;

    setup(&w, &plain);
    scout(&w, 0);
    assert_int_equal(w.last.reply.mapper, 0);
    assert_int_equal(w.last.reply.gmid, 0);
    assert_int_equal(w.last.reply.version, 0);
    config(&w, 7, 0, 0, 0);
    scout(&w, 0);
    assert_int_equal(w.last.reply.mapper, MAPPER);
    assert_int_equal(w.last.reply.gmid, 42);
    assert_int_equal(w.last.reply.version, 7);
    hostside_free(w.host);
}

static void reset_forgets_everything(void **state)
{
    struct hostside_state s;
    struct world w;

    setup(&w, &plain);
    config(&w, 7, 2, 100, 2);
    scout(&w, 5); /* unknown: nothing */
    assert_int_equal(w.last.reply.version, 7);
    scout(&w, GM1_COMMAND_RESET);
    assert_int_equal(w.last.reply.version, 0);
    assert_int_equal(w.last.reply.gmid, 0);
    assert_int_equal(w.last.reply.mapper, 0);
    hostside_state(w.host, &s);
    assert_int_equal(s.nentries, 0);
    assert_null(hostside_find(w.host, 100));
    hostside_free(w.host);
}

/* Of a name as long as the field or longer 31 characters are told. */
static void a_long_name_is_told_as_far_as_there_is_room(void **state)
{
    static const char name[] = "a123456789b123456789c123456789d123456789";
    struct hostside_config c = plain;
    char own[sizeof(name)], told[GM1_NAME_SIZE];

    for (size_t len = 30; len < sizeof(name); len++) {
        struct world w;

        snprintf(own, sizeof(own), "%.*s", (int)len, name);
        snprintf(told, sizeof(told), "%.31s", own);
        c.name = own;
        setup(&w, &c);
        scout(&w, 0);
        assert_string_equal(w.last.reply.name, told);
        assert_int_equal(w.body[32 + 31], 0);
        hostside_free(w.host);
    }
}

static void only_host_messages_are_answered(void **state)
{
    struct gm1_message msg = {.subtype = GM1_PROBE, .port = 1, .phase = 1};
    uint8_t body[100];
    struct world w;
    size_t len;

    setup(&w, &plain);
    len = gm1_encode(body, sizeof(body), &msg);
    assert_false(hostside_input(w.host, body, len));
    msg.subtype = GM1_VERIFY;
    len = gm1_encode(body, sizeof(body), &msg);
    assert_false(hostside_input(w.host, body, len));
    assert_int_equal(hostside_counters(w.host)->dropped_switch, 2);
    msg.subtype = GM1_REPLY;
    len = gm1_encode(body, sizeof(body), &msg);
    assert_true(hostside_input(w.host, body, len));
    msg.subtype = GM1_CLOUD_QUERY;
    len = gm1_encode(body, sizeof(body), &msg);
    assert_false(hostside_input(w.host, body, len));
    assert_int_equal(w.nsent, 0);
    assert_int_equal(w.ncleared, 0);
    hostside_free(w.host);
}

static void each_config_is_acknowledged(void **state)
{
    struct world w;

    setup(&w, &plain);
    for (uint32_t i = 0; i < 10; i++) {
        config_to(&w, ME, 7, 100, 100 + 10 * i, 10, i);
        assert_int_equal(w.nsent, (int)i + 1);
        assert_int_equal(w.last.port, 7);
        assert_int_equal(w.last.phase, 8);
        assert_int_equal(w.last.reply.mapper, MAPPER);
        assert_memory_equal(w.route, "\x84\x85", 2);
    }
    assert_int_equal(w.ncomplete, 1);
    hostside_free(w.host);
}

static void older_versions_are_acknowledged_not_taken(void **state)
{
    struct hostside_state s;
    struct world w;

    setup(&w, &plain);
    config(&w, 7, 1, 100, 1);
    config(&w, 6, 1, 200, 1);
    assert_int_equal(w.nsent, 2);
    assert_int_equal(w.last.reply.version, 7);
    assert_null(hostside_find(w.host, 200));
    config(&w, 8, 1, 300, 1);
    assert_int_equal(w.last.reply.version, 8);
    config(&w, 0, 1, 400, 1);
    hostside_state(w.host, &s);
    assert_int_equal(s.version, 0);
    assert_non_null(hostside_find(w.host, 400));
    hostside_free(w.host);
}

static void permute(struct world *w, int *order, int n)
{
    struct hostside_state s;

    if (n < 4) {
        for (int i = n; i < 4; i++) {
            int t = order[n];

            order[n] = order[i];
            order[i] = t;
            permute(w, order, n + 1);
            t = order[n];
            order[n] = order[i];
            order[i] = t;
        }
        return;
    }
    scout(w, GM1_COMMAND_RESET);
    w->ncomplete = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(w->ncomplete, 0);
        config_to(w, ME, 9, 20, 100 + 5 * (uint64_t)order[i], 5,
                  (uint32_t)(3 * order[i])); /* no serial that fits */
    }
    assert_int_equal(w->ncomplete, 1);
    hostside_state(w->host, &s);
    assert_int_equal(s.nentries, 20);
}

static void configs_in_any_order(void **state)
{
    int order[4] = {0, 1, 2, 3};
    struct world w;

    setup(&w, &plain);
    permute(&w, order, 0);
    hostside_free(w.host);
}

static void config_of_another_host_is_dropped(void **state)
{
    struct world w;

    setup(&w, &plain);
    config_to(&w, ME + 1, 7, 1, 100, 1, 0);
    assert_int_equal(w.nsent, 0);
    assert_int_equal(hostside_counters(w.host)->dropped_address, 1);
    hostside_free(w.host);
}

static void complete_exactly_at_the_announced_number(void **state)
{
    struct world w;

    setup(&w, &plain);
    config(&w, 7, 4, 100, 2);
    config(&w, 7, 4, 100, 2); /* the same again */
    config(&w, 7, 4, 101, 2);
    assert_int_equal(w.ncomplete, 0);
    config(&w, 7, 4, 103, 1);
    assert_int_equal(w.ncomplete, 1);
    config(&w, 7, 4, 103, 1);
    assert_int_equal(w.ncomplete, 1);
    config(&w, 7, 4, 104, 1); /* a fifth of four */
    assert_null(hostside_find(w.host, 104));
    assert_int_equal(hostside_counters(w.host)->dropped_broken, 1);
    hostside_free(w.host);
}

static void another_version_clears_the_routes(void **state)
{
    struct world w;

    setup(&w, &plain);
    config(&w, 7, 2, 100, 2);
    assert_int_equal(w.ncleared, 1);
    config(&w, 8, 4, 200, 2);
    assert_int_equal(w.ncleared, 2);
    assert_null(hostside_find(w.host, 100));
    assert_non_null(hostside_find(w.host, 200));
    hostside_free(w.host);
}

static void count(const struct gm1_entry *entry, void *arg)
{
    ++*(int *)arg;
}

/* It had claimed the version from the first message on: when the rest was
 * lost, every mapper took it for configured. */
static void half_a_configuration_claims_no_version(void **state)
{
    struct world w;

    setup(&w, &plain);
    config(&w, 7, 2, 100, 1);
    assert_int_equal(w.last.reply.version, 7); /* acknowledged as what it is */
    scout(&w, 0);
    assert_int_equal(w.last.reply.version, 0);
    config(&w, 6, 1, 300, 1);
    assert_int_equal(w.last.reply.version, 7); /* still too old */
    config(&w, 7, 2, 101, 1);
    scout(&w, 0);
    assert_int_equal(w.last.reply.version, 7);
    hostside_free(w.host);
}

/* Two mappers chose one version: rows of both would make a whole. */
static void the_same_version_of_another_mapper_clears_too(void **state)
{
    struct hostside_state s;
    struct world w;

    setup(&w, &plain);
    config(&w, 7, 2, 100, 1);
    config_from(&w, MAPPER + 1, ME, 7, 2, 101, 1, 0);
    hostside_state(w.host, &s);
    assert_int_equal(s.nentries, 1);
    assert_false(s.complete);
    assert_null(hostside_find(w.host, 100));
    hostside_free(w.host);
}

static void entries_are_kept_as_they_came(void **state)
{
    const struct gm1_entry *e;
    struct world w;
    int n = 0;

    setup(&w, &plain);
    config(&w, 7, 3, 100, 3);
    e = hostside_find(w.host, 101);
    assert_non_null(e);
    assert_int_equal(e->gmid, 101);
    assert_int_equal(e->node_type, 77);
    assert_int_equal(e->control, 0xbeef);
    assert_int_equal(e->route.len, 1);
    hostside_entries(w.host, count, &n);
    assert_int_equal(n, 3);
    hostside_free(w.host);
}

static void what_came_last_of_an_address_holds(void **state)
{
    struct gm1_message msg = {.subtype = GM1_CONFIG,
                              .config = {0, {1, {0x84}}, ME, MAPPER, 42, 3, 7}};
    const struct gm1_entry again = {
        .address = 101, .gmid = 9, .route = {2, {0x82, 0x83}}};
    const struct gm1_entry *e;
    uint8_t body[GM1_MESSAGE_MAX];
    struct world w;

    setup(&w, &plain);
    config(&w, 7, 3, 100, 3);
    hostside_input(w.host, body,
                   gm1_encode_entries(body, sizeof(body), &msg, &again, 1));
    e = hostside_find(w.host, 101);
    assert_non_null(e);
    assert_int_equal(e->gmid, 9);
    assert_int_equal(e->route.len, 2);
    hostside_free(w.host);
}

static void level_and_type_are_the_hosts_own(void **state)
{
    static const uint16_t types[] = {0, 1, 2, 77};
    struct hostside_config c = plain;
    struct world w;

    for (int i = 0; i < 4; i++) {
        c.node_type = types[i];
        setup(&w, &c);
        scout(&w, 0);
        assert_int_equal(w.last.reply.node_type, types[i]);
        assert_int_equal(w.last.reply.level, 0);
        hostside_set_level(w.host, 5);
        scout(&w, 0);
        assert_int_equal(w.last.reply.level, 5);
        hostside_free(w.host);
    }
}

static void minimal_node_keeps_three_things(void **state)
{
    struct hostside_config c = plain;
    struct world w;

    c.minimal = true;
    c.name = NULL;
    setup(&w, &c);
    config(&w, 7, 0, 0, 0);
    assert_int_equal(w.ncomplete, 1);
    scout(&w, 0);
    assert_int_equal(w.last.reply.option, GM1_OPTION_NO_ROUTES);
    assert_int_equal(w.last.reply.mapper, MAPPER);
    assert_int_equal(w.last.reply.gmid, 42);
    assert_int_equal(w.last.reply.version, 7);
    assert_string_equal(w.last.reply.name, "");
    hostside_free(w.host);
}

static struct gm1_member cloud[500];

static void gateway(struct world *w, uint32_t n)
{
    struct hostside_config c = plain;

    c.gateway = true;
    setup(w, &c);
    for (uint32_t i = 0; i < 500; i++)
        cloud[i] = (struct gm1_member){0x020000000000 + i, (uint16_t)i};
    assert_int_equal(hostside_set_members(w->host, cloud, n), 0);
}

static void query(struct world *w, uint32_t port, uint32_t first, uint32_t n)
{
    const struct gm1_message msg = {.subtype = GM1_CLOUD_QUERY,
                                    .port = port,
                                    .phase = 3,
                                    .query = {first, n}};
    uint8_t body[20];

    gm1_encode(body, sizeof(body), &msg);
    assert_false(hostside_input(w->host, body, 20));
    assert_int_equal(w->last.subtype, GM1_CLOUD_QUERY_REPLY);
    assert_int_equal(w->last.port, port);
    assert_int_equal(w->last.query_reply.nhosts, w->last.nrows);
}

static uint64_t row(const struct world *w, uint32_t i)
{
    struct gm1_member m;

    gm1_member_at(&w->last, i, &m);
    return m.address - 0x020000000000;
}

static void gateway_answers_with_its_cloud(void **state)
{
    struct world w;

    gateway(&w, 500);
    scout(&w, 0);
    assert_int_equal(w.last.reply.option, GM1_OPTION_CLOUD);
    assert_int_equal(w.last.reply.nhosts, 500);
    assert_int_equal(w.last.nrows, 175);
    query(&w, 1, 175, 175);
    assert_int_equal(w.last.nrows, 175);
    assert_int_equal(row(&w, 0), 175);
    assert_memory_equal(w.route, "\x81\x82\x83", 3);
    query(&w, 9, 20, 10); /* no more than were asked for */
    assert_int_equal(w.last.nrows, 10);
    assert_int_equal(row(&w, 0), 20);
    query(&w, 2, 350, 150);
    assert_int_equal(w.last.nrows, 150);
    assert_int_equal(row(&w, 149), 499);
    hostside_set_members(w.host, cloud, 400); /* the table shrinks */
    query(&w, 3, 350, 150);
    assert_int_equal(w.last.nrows, 50);
    query(&w, 4, 400, 100);
    assert_int_equal(w.last.nrows, 0);
    query(&w, 5, 0xffffffff, 0xffffffff);
    assert_int_equal(w.last.nrows, 0);
    hostside_free(w.host);
}

/* A query carries no route: it is answered by that of the last Scout, which
 * may be another one than before. */
static void a_query_is_answered_by_the_last_scouts_route(void **state)
{
    static const struct gm1_route ways[] = {
        {3, {0x81, 0x82, 0x83}}, {2, {0x91, 0x92}}, {5, {1, 2, 3, 4, 5}}};
    struct world w;

    gateway(&w, 10);
    for (int i = 0; i < 3; i++) {
        const struct gm1_message msg = {.subtype = GM1_SCOUT,
                                        .scout = {ways[i], MAPPER, 0, 1}};
        uint8_t body[60];

        gm1_encode(body, sizeof(body), &msg);
        hostside_input(w.host, body, 60);
        for (int k = 0; k < 2; k++) {
            memset(w.route, 0, sizeof(w.route));
            query(&w, 1, 0, 10);
            assert_int_equal(w.nroute, ways[i].len);
            assert_memory_equal(w.route, ways[i].byte, ways[i].len);
        }
    }
    hostside_free(w.host);
}

static void gm1_host_drops_gm2_messages(void **state)
{
    static const enum gm2_subtype kinds[] = {GM2_PROBE, GM2_SCOUT, GM2_REPLY};
    uint8_t body[200];
    struct world w;

    setup(&w, &plain);
    for (int i = 0; i < 3; i++) {
        const struct gm2_message msg = {.subtype = kinds[i],
                                        .reason = GM2_LX_MAPPING};
        size_t len = gm2_encode(body, sizeof(body), &msg);

        assert_false(hostside_input(w.host, body, len));
    }
    assert_int_equal(hostside_counters(w.host)->dropped_foreign, 3);
    assert_int_equal(w.nsent, 0);
    hostside_free(w.host);
}

static void what_is_not_ours_or_broken_is_counted(void **state)
{
    static const uint8_t others[] = {5, 6, 9, 0xff};
    const struct gm1_message msg = {.subtype = GM1_SCOUT, .port = 1};
    uint8_t body[GM1_SCOUT_SIZE];
    struct world w;

    setup(&w, &plain);
    gm1_encode(body, sizeof(body), &msg);
    for (size_t i = 0; i < sizeof(others); i++) {
        body[3] = others[i];
        assert_false(hostside_input(w.host, body, sizeof(body)));
        assert_int_equal(hostside_counters(w.host)->dropped_foreign, i + 1);
    }
    body[3] = GM1_SCOUT;
    assert_false(hostside_input(w.host, body, sizeof(body) - 1));
    assert_int_equal(hostside_counters(w.host)->dropped_broken, 1);
    body[15] = GM1_ROUTE_MAX + 1; /* length of the route back */
    assert_false(hostside_input(w.host, body, sizeof(body)));
    assert_int_equal(hostside_counters(w.host)->dropped_broken, 2);
    assert_int_equal(w.nsent, 0);
    hostside_free(w.host);
}

/* The others are taken; it is whole when all have come. */
static void an_entry_with_a_long_route_is_counted(void **state)
{
    const struct gm1_message msg = {
        .subtype = GM1_CONFIG,
        .config = {0, {1, {0x84}}, ME, MAPPER, 42, 2, 7}};
    struct gm1_entry entries[2] = {{.address = 100}, {.address = 101}};
    uint8_t body[GM1_MESSAGE_MAX];
    struct world w;
    size_t len;

    setup(&w, &plain);
    len = gm1_encode_entries(body, sizeof(body), &msg, entries, 2);
    body[GM1_CONFIG_SIZE + 11] = GM1_ROUTE_MAX + 1;
    assert_false(hostside_input(w.host, body, len));
    assert_int_equal(hostside_counters(w.host)->dropped_broken, 1);
    assert_null(hostside_find(w.host, 100));
    assert_non_null(hostside_find(w.host, 101));
    assert_int_equal(w.ncomplete, 0);
    body[GM1_CONFIG_SIZE + 11] = GM1_ROUTE_MAX;
    assert_false(hostside_input(w.host, body, len));
    assert_int_equal(w.ncomplete, 1);
    hostside_free(w.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scout_is_answered_by_its_route),
        cmocka_unit_test(zero_before_the_first_config),
        cmocka_unit_test(reset_forgets_everything),
        cmocka_unit_test(a_long_name_is_told_as_far_as_there_is_room),
        cmocka_unit_test(only_host_messages_are_answered),
        cmocka_unit_test(each_config_is_acknowledged),
        cmocka_unit_test(older_versions_are_acknowledged_not_taken),
        cmocka_unit_test(configs_in_any_order),
        cmocka_unit_test(config_of_another_host_is_dropped),
        cmocka_unit_test(complete_exactly_at_the_announced_number),
        cmocka_unit_test(another_version_clears_the_routes),
        cmocka_unit_test(half_a_configuration_claims_no_version),
        cmocka_unit_test(the_same_version_of_another_mapper_clears_too),
        cmocka_unit_test(entries_are_kept_as_they_came),
        cmocka_unit_test(what_came_last_of_an_address_holds),
        cmocka_unit_test(level_and_type_are_the_hosts_own),
        cmocka_unit_test(minimal_node_keeps_three_things),
        cmocka_unit_test(gateway_answers_with_its_cloud),
        cmocka_unit_test(a_query_is_answered_by_the_last_scouts_route),
        cmocka_unit_test(gm1_host_drops_gm2_messages),
        cmocka_unit_test(what_is_not_ours_or_broken_is_counted),
        cmocka_unit_test(an_entry_with_a_long_route_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

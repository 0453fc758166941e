/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The web page's answers: by which names it may be asked for, what stands at
 * which path, and what of the fabric and its health is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "page_bed.h"

static void only_own_names_and_addresses_are_served(void **state)
{
    static const struct {
        const char *host, *list;
        bool good;
    } cases[] = {
        {NULL, NULL, true},
        {"127.0.0.1", NULL, true},
        {"127.0.0.1:9839", NULL, true},
        {"10.1.2.3:80", NULL, true},
        {"[::1]", NULL, true},
        {"[::1]:9839", NULL, true},
        {"localhost:9839", NULL, true},
        {"LocalHost", NULL, true},
        {"ctl", NULL, true},
        {"CTL:1", NULL, true},
        {"ctl.evil.example", NULL, false},
        {"ctlx", NULL, false},
        {"ct", NULL, false},
        {"evil.example:9839", NULL, false},
        {"evil.example", "fabric.site,ctl.site", false},
        {"fabric.site", "fabric.site,ctl.site", true},
        {"CTL.site:443", " fabric.site, ctl.site ", true},
        {"fabric.site,ctl.site", "fabric.site,ctl.site", false},
        {"", NULL, false},
        {"", "", false},
        {":80", ",", false},
        {"[::1", NULL, false},
        {"[]", NULL, false},
        {"[]:80", NULL, false},
        {"[evil.example]", NULL, false},
        {"::1", NULL, false},
        {"127.0.0.1.evil.example", NULL, false},
        {"127.0.0.1:80.evil.example", NULL, false},
        {"127.0.0.1@evil.example", NULL, false},
        {"0x7f.1", NULL, false},
    };
    char longer[2 * SF_PAGE_HOST_MAX];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (page_host_ok(cases[i].host, "ctl", cases[i].list) != cases[i].good)
            fail_msg("%s of %s", cases[i].host, cases[i].list);
    }
    memset(longer, 'a', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_false(page_host_ok(longer, "ctl", longer));
    assert_false(page_host_ok("evil", "", NULL)); /* who has no name */
}

static void paths_are_its_own_and_no_others(void **state)
{
    static const char *const good[] = {
        "/",         "/page.css", "/page.js",    "/fabric.json",
        "/fabric/0", "/fabric/7", "/health.json"};
    static const char *const bad[] = {"",
                                      "//",
                                      "/page.html",
                                      "/page.js/",
                                      "/../etc/passwd",
                                      "/health.json?x",
                                      "/days/n1",
                                      "/fabric/",
                                      "/fabric/8",
                                      "/fabric/-1",
                                      "/fabric/0/",
                                      "/day"};
    struct page_bed *b = *state;
    struct page_answer a;
    const char *link;
    enum history_by by;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(page_get(b->page, &b->n, good[i], &a));
        assert_int_equal(strlen(a.text), a.len);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(page_get(b->page, &b->n, bad[i], &a));
        assert_false(page_is_history(bad[i], &link, &by));
    }
    assert_true(page_is_history("/day/n1", &link, &by));
    assert_string_equal(link, "n1");
    assert_int_equal(by, HISTORY_BY_MINUTE);
    assert_true(page_is_history("/year/", &link, &by));
    assert_string_equal(link, "");
    assert_int_equal(by, HISTORY_BY_HOUR);
}

static struct json_object *get(struct page_bed *b, const char *path)
{
    struct page_answer a;
    struct errbuf err;
    struct json_object *o;

    assert_true(page_get(b->page, &b->n, path, &a));
    o = jsonx_parse(a.text, a.len, &err);
    assert_non_null(o);
    return o;
}

/* A piece of a job's list of nodes, or the end of the job. */
static bool job_says(struct page_bed *b, uint32_t id, uint32_t flags,
                     uint32_t at, const char *nodes)
{
    struct rec_job rec = {.type = REC_JOB, .flags = flags, .id = id, .at = at};

    rec.len = (uint32_t)strlen(nodes);
    memcpy(rec.nodes, nodes, rec.len);
    snprintf(rec.name, sizeof(rec.name), "70_%u", id);
    return jobs_take(b->n.jobs, &rec);
}

static void job_is(struct page_bed *b, const char *name, const char *want)
{
    struct page_answer a;
    char path[64];

    snprintf(path, sizeof(path), "/job/%s", name);
    assert_true(page_get(b->page, &b->n, path, &a));
    assert_string_equal(a.text, want);
}

static void a_job_is_told_with_its_nodes(void **state)
{
    struct page_bed *b = *state;

    job_is(b, "71", "{}");
    assert_true(job_says(b, 71, 0, 0, "n[1-"));
    job_is(b, "71", "{}"); /* half of it */
    assert_true(job_says(b, 71, REC_JOB_LAST, 4, "3],m7"));
    job_is(b, "71", "{\"job\":\"71\",\"nodes\":[\"n1\",\"n2\",\"n3\",\"m7\"]}");
    job_is(b, "70_71",
           "{\"job\":\"70_71\",\"nodes\":[\"n1\",\"n2\",\"n3\",\"m7\"]}");
    job_is(b, "7", "{}");
    job_is(b, "", "{}");
    assert_true(job_says(b, 71, REC_JOB_LAST, 0, "n9")); /* another list */
    job_is(b, "71", "{\"job\":\"71\",\"nodes\":[\"n9\"]}");
    assert_false(job_says(b, 71, REC_JOB_LAST, 1, "x")); /* from nowhere */
    job_is(b, "71", "{}");
    assert_true(job_says(b, 72, REC_JOB_LAST, 0, "n1"));
    assert_true(job_says(b, 72, REC_JOB_GONE, 0, ""));
    job_is(b, "72", "{}");
}

static void a_jobs_list_has_its_limit(void **state)
{
    struct page_bed *b = *state;
    struct rec_job rec = {.type = REC_JOB, .id = 5, .len = REC_JOB_PIECE + 1};

    assert_false(jobs_take(b->n.jobs, &rec));
    rec.len = REC_JOB_PIECE;
    memset(rec.nodes, 'n', sizeof(rec.nodes));
    for (; rec.at + rec.len <= SF_JOB_NODES_MAX; rec.at += rec.len)
        assert_true(jobs_take(b->n.jobs, &rec));
    assert_false(jobs_take(b->n.jobs, &rec));
    job_is(b, "5", "{}");
}

static void before_there_is_a_map_nothing_is_told_of_one(void **state)
{
    struct page_bed *b = *state;
    struct json_object *o = get(b, "/fabric.json");
    size_t n = 1;

    assert_non_null(jsonx_array(o, "hosts", &n));
    assert_int_equal(n, 0);
    json_object_put(o);
}

static void list_is(struct page_bed *b, const char *path, const char *key,
                    const char *want)
{
    struct json_object *o = get(b, path);
    size_t n;

    assert_string_equal(json_object_to_json_string_ext(jsonx_array(o, key, &n),
                                                       JSON_C_TO_STRING_PLAIN),
                        want);
    json_object_put(o);
}

static void maps_are(struct page_bed *b, const char *want)
{
    list_is(b, "/health.json", "fabrics", want);
}

static void the_fabric_is_told_with_names_and_cables(void **state)
{
    static const char map[] = "host n0 0060dd000000\nhost n1 0060dd000001\n"
                              "xbar leaf0 4\nxbar leaf1 4\n"
                              "cable n0 leaf0:0\ncable n1 leaf1:2\n"
                              "cable leaf0:3 leaf1:3\n";
    struct page_bed *b = *state;
    struct errbuf err;
    struct net *net = net_parse("map", map, strlen(map), &err);
    struct json_object *o;

    assert_non_null(net);
    page_take_net(b->page, 0, net);
    o = get(b, "/fabric.json");
    assert_string_equal(
        json_object_to_json_string_ext(jsonx_array(o, "hosts", &(size_t){0}),
                                       JSON_C_TO_STRING_PLAIN),
        "[[\"n0\",0,0],[\"n1\",1,2]]");
    assert_string_equal(
        json_object_to_json_string_ext(jsonx_array(o, "links", &(size_t){0}),
                                       JSON_C_TO_STRING_PLAIN),
        "[[0,3,1,3]]");
    json_object_put(o);
    maps_are(b, "[{\"rail\":0,\"version\":1}]");
    page_take_net(b->page, 0, net); /* the same again is no news */
    page_bed_now += 10000;
    maps_are(b, "[{\"rail\":0,\"version\":1}]");
    net_free(net);
}

/* Of several maps each stands by itself; the first one is /fabric.json, too. */
static void each_rail_has_its_map(void **state)
{
    static const char *const maps[] = {"host n0 0060dd000010\nxbar a 4\n"
                                       "cable n0 a:0\n",
                                       "host n1 0060dd000021\nxbar b 4\n"
                                       "cable n1 b:3\n"};
    struct page_bed *b = *state;
    struct errbuf err;

    for (uint8_t i = 0; i < 2; i++) {
        struct net *net = net_parse("map", maps[i], strlen(maps[i]), &err);

        assert_non_null(net);
        page_take_net(b->page, i ? 3 : 1, net);
        net_free(net);
    }
    maps_are(b, "[{\"rail\":1,\"version\":1},{\"rail\":3,\"version\":1}]");
    list_is(b, "/fabric/0", "hosts", "[]");
    list_is(b, "/fabric/1", "hosts", "[[\"n0\",0,0]]");
    list_is(b, "/fabric.json", "hosts", "[[\"n0\",0,0]]");
    list_is(b, "/fabric/3", "hosts", "[[\"n1\",0,3]]");
    page_drop_net(b->page, 1);
    page_bed_now += 1000; /* not the same look */
    maps_are(b, "[{\"rail\":3,\"version\":1}]");
    list_is(b, "/fabric/1", "hosts", "[]");
}

/* InfiniBand counts the ports of a switch from 1, reports and cables, too, and
 * a report has no character in a name that a picture's file may have. */
static void ports_and_switches_are_called_as_in_reports(void **state)
{
    static const char map[] =
        "Switch 4 \"S-0000000000001001\" # \"MF0;leaf0:MSB7700/U1\"\n"
        "[1] \"H-0000000000000100\"[1]\n"
        "[4] \"S-0000000000001002\"[2]\n\n"
        "Switch 4 \"S-0000000000001002\" # \"spine0\"\n"
        "[2] \"S-0000000000001001\"[4]\n\n"
        "Ca 1 \"H-0000000000000100\" # \"n0 mlx5_0\"\n"
        "[1] \"S-0000000000001001\"[1]\n";
    struct page_bed *b = *state;
    struct errbuf err;
    struct net *net = net_parse("map", map, strlen(map), &err);

    if (!net)
        fail_msg("%s", err.text);
    page_take_net(b->page, 0, net);
    net_free(net);
    list_is(b, "/fabric/0", "hosts", "[[\"n0\",0,1]]");
    list_is(b, "/fabric/0", "links", "[[0,4,1,2]]");
    list_is(b, "/fabric/0", "xbars",
            "[[\"MF0;leaf0:MSB7700\\/U1\",\"MF0_leaf0_MSB7700_U1\","
            "\"" REPORT_ANON "0\"],[\"spine0\",\"" REPORT_ANON "1\"]]");
}

/* What Slurm was told, maintenance and the caps as they stand. */
static void a_fault_is_told_with_what_became_of_it(void **state)
{
    static const struct {
        uint32_t flags;
        bool in_slurm, maintenance;
        const char *told;
    } cases[] = {
        {0, false, false, "not a node of Slurm"},
        {0, true, false, "not drained"},
        {0, true, true, "maintenance: not drained"},
        {REC_NODE_OWN_DRAIN | REC_NODE_DRAIN, true, false,
         "drained by the fabric"},
        {REC_NODE_DRAIN, true, false, "drained by somebody else"},
        {REC_NODE_CAPPED, true, false, "drain held back by the caps"},
        {REC_NODE_UNDONE, true, false, "drain taken back by an administrator"},
    };
    struct page_bed *b = *state;
    struct collector_node *p = page_bed_peer(b, "n1");
    size_t n;

    page_bed_says(b, 1, SEEN_DOWN, "no link");
    b->n.updater.capped = 3; /* so far */
    b->n.updater.own_drains = 2;
    b->n.conf.drain_max = 8;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct json_object *o, *host;

        p->flags = cases[i].flags;
        p->in_slurm = cases[i].in_slurm;
        p->maintenance = cases[i].maintenance;
        page_bed_now += 1000; /* not the same look */
        o = get(b, "/health.json");
        host = json_object_array_get_idx(jsonx_array(o, "hosts", &n), 0);
        assert_string_equal(jsonx_str(host, "state", 64), "down");
        assert_string_equal(jsonx_str(host, "why", 64), "no link");
        assert_string_equal(jsonx_str(host, "slurm", 64), cases[i].told);
        jsonx_array(o, "maintenance", &n);
        assert_int_equal(n, cases[i].maintenance);
        assert_int_equal(
            json_object_get_int(json_object_object_get(o, "capped")),
            cases[i].flags == REC_NODE_CAPPED);
        assert_int_equal(
            json_object_get_int(json_object_object_get(o, "drained")), 2);
        assert_int_equal(
            json_object_get_int(json_object_object_get(o, "drain_max")), 8);
        json_object_put(o);
    }
}

/* As many as lead: none, the only one, both. */
static void each_rail_has_its_mapper(void **state)
{
    static const char *const leaders[] = {"n3", "n5"};
    static const int64_t rails[] = {0, 2};
    struct page_bed *b = *state;
    int64_t rail;
    size_t n;

    for (size_t lead = 0; lead <= 2; lead++) {
        struct json_object *o, *maps;

        if (lead > 0)
            page_bed_leads(b, lead == 1 ? 3 : 5, (uint8_t)rails[lead - 1]);
        page_bed_now += 1000; /* not the same look */
        o = get(b, "/health.json");
        maps = jsonx_array(o, "maps", &n);
        assert_int_equal(n, lead);
        for (size_t i = 0; i < n; i++) {
            struct json_object *map = json_object_array_get_idx(maps, i);

            assert_string_equal(jsonx_str(map, "leader", 64), leaders[i]);
            assert_true(jsonx_int(map, "rail", 0, 255, &rail));
            assert_int_equal(rail, rails[i]);
        }
        json_object_put(o);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, page_bed_up, page_bed_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_own_names_and_addresses_are_served),
        TEST(paths_are_its_own_and_no_others),
        TEST(a_job_is_told_with_its_nodes),
        TEST(a_jobs_list_has_its_limit),
        TEST(before_there_is_a_map_nothing_is_told_of_one),
        TEST(the_fabric_is_told_with_names_and_cables),
        TEST(each_rail_has_its_map),
        TEST(ports_and_switches_are_called_as_in_reports),
        TEST(a_fault_is_told_with_what_became_of_it),
        TEST(each_rail_has_its_mapper),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

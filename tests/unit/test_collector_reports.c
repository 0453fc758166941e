/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How switchmgrd answers reports under a connection's key: which it takes,
 * which it refuses, and which cost their sender the connection.  Connections
 * are real, munged is a function of this test.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/be.h"
#include "base/clerk.h"
#include "base/seal.h"
#include "health/report_key.h"
#include "health_world.h"
#include "switchmgrd/collector.h"

#define HOUR (3600 * SEC)
#define NODE_ADDR 0x0100000a /* 10.0.0.1 */
#define OTHER_ADDR 0x0200000a

static int64_t clock_now;
static struct seal_info maker; /* of the next credential */
static struct collector_node node;
static char last_alarm[256];

/* A credential is its text here. */
int seal_open(void **payload, size_t *len, struct seal_info *info,
              const char *cred, const char *socket, struct errbuf *err)
{
    *payload = strdup(cred);
    *len = strlen(cred);
    *info = maker;
    return 0;
}

int64_t steady_now(void)
{
    return clock_now;
}

void collector_events_alarm(const char *text, int64_t now, void *arg)
{
    snprintf(last_alarm, sizeof(last_alarm), "%s", text);
}

struct collector_node *collector_node_find(struct collector *n,
                                           const char *name)
{
    return strcmp(name, node.name) == 0 ? &node : NULL;
}

struct in_addr collector_node_addr(const struct collector_node *p)
{
    return p->configured;
}

/* Nothing is listened on but a socket in the file system. */
int collector_address(const char *key, const char *text, uint16_t port,
                      struct sockaddr_in *sa, struct errbuf *err)
{
    return -1;
}

struct bed {
    struct collector n;
    char path[64];
    int fds[64], nfds; /* of senders */
};

static int bed_up(void **state)
{
    struct bed *b = calloc(1, sizeof(*b));
    struct model_conf conf;
    struct model_ops ops = {0};
    struct errbuf err;

    strcpy(b->path, "/tmp/reportsXXXXXX");
    close(mkstemp(b->path));
    unlink(b->path);
    model_conf_defaults(&conf);
    clock_now = T0;
    maker = (struct seal_info){.uid = 0, .addr_be = NODE_ADDR};
    node = (struct collector_node){.name = "n1",
                                   .configured = {.s_addr = NODE_ADDR}};
    last_alarm[0] = '\0';
    b->n.loop = ev_loop_new(0);
    b->n.model = model_new(&conf, &ops);
    b->n.clerk = clerk_new(b->n.loop, 8);
    b->n.conf.listen = "";
    b->n.conf.report_socket = b->path;
    assert_int_equal(collector_reports_open(&b->n, &err), 0);
    collector_reports_start(&b->n);
    *state = b;
    return 0;
}

static int bed_down(void **state)
{
    struct bed *b = *state;

    while (b->nfds > 0)
        close(b->fds[--b->nfds]);
    while (b->n.nconns > 0)
        ev_run(b->n.loop, EVRUN_ONCE);
    ev_io_stop(b->n.loop, &b->n.unix_.io);
    close(b->n.unix_.fd);
    unlink(b->path);
    offenders_free(&b->n.offenders);
    clerk_free(b->n.clerk);
    model_free(b->n.model);
    ev_loop_destroy(b->n.loop);
    free(b);
    return 0;
}

/* ---- a sender ---------------------------------------------------------- */

static const uint8_t secret[SF_REPORT_KEY] = "0123456789abcde";
static const uint8_t other_secret[SF_REPORT_KEY] = "0123456789abcdf";

static int dial(struct bed *b)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(sa.sun_path, b->path);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_true(b->nfds < (int)(sizeof(b->fds) / sizeof(b->fds[0])));
    b->fds[b->nfds++] = fd;
    return fd;
}

/* What hsnd of n1 says, `pad` counters long. */
static char *long_text(uint64_t seq, enum report_seen seen,
                       const uint8_t *brings, size_t pad)
{
    static struct report_counter counters[SF_REPORT_COUNTERS_MAX];
    struct report_record me = {.kind = REPORT_HOST, .seen = seen, .name = "n1"};
    struct report r = {.from = REPORT_HSND,
                       .node = "n1",
                       .instance = 7,
                       .seq = seq,
                       .records = &me,
                       .nrecords = 1,
                       .counters = counters,
                       .ncounters = pad};
    struct errbuf err;
    char *text, *with;

    for (size_t i = 0; i < pad; i++)
        snprintf(counters[i].name, sizeof(counters[i].name), "counter_%zu", i);
    text = report_encode(&r, &err);
    assert_non_null(text);
    if (!brings)
        return text;
    with = report_with_key(text, brings);
    free(text);
    return with;
}

static void send_all(int fd, const void *data, size_t len)
{
    assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void send_frame(int fd, uint32_t flag, const void *data, size_t len)
{
    uint8_t head[4];

    be_store32(head, (uint32_t)len | flag);
    send_all(fd, head, sizeof(head));
    send_all(fd, data, len);
}

/* The next answer; '-': the connection is closed instead. */
static char answer(struct bed *b, int fd)
{
    char how;
    ssize_t n;

    while ((n = recv(fd, &how, 1, MSG_DONTWAIT)) < 0 && errno == EAGAIN)
        ev_run(b->n.loop, EVRUN_ONCE);
    return n == 1 ? how : '-';
}

static char by_credential(struct bed *b, int fd, uint64_t seq,
                          enum report_seen seen, const uint8_t *brings)
{
    char *text = long_text(seq, seen, brings, 0);

    send_frame(fd, 0, text, strlen(text));
    free(text);
    return answer(b, fd);
}

/* Data and its tag; free() it. */
static uint8_t *tagged(struct report_key *key, const void *data, size_t len)
{
    uint8_t *body = malloc(len + REPORT_TAG_SIZE);

    memcpy(body, data, len);
    report_key_sign(key, body + len, body, len);
    return body;
}

static void send_keyed(int fd, struct report_key *key, const void *data,
                       size_t len)
{
    uint8_t *body = tagged(key, data, len);

    send_frame(fd, REPORT_KEYED, body, len + REPORT_TAG_SIZE);
    free(body);
}

static char by_key(struct bed *b, int fd, struct report_key *key, uint64_t seq,
                   enum report_seen seen)
{
    char *text = long_text(seq, seen, NULL, 0);

    send_keyed(fd, key, text, strlen(text));
    free(text);
    return answer(b, fd);
}

static void send_again(int fd, struct report_key *key, uint64_t seq)
{
    uint8_t number[REPORT_AGAIN_SIZE];

    be_store64(number, seq);
    send_keyed(fd, key, number, sizeof(number));
}

static char say_again(struct bed *b, int fd, struct report_key *key,
                      uint64_t seq)
{
    send_again(fd, key, seq);
    return answer(b, fd);
}

/* A connection whose report 1, "up", brought `secret`. */
static int dial_with_key(struct bed *b, struct report_key *key)
{
    int fd = dial(b);

    assert_int_equal(by_credential(b, fd, 1, SEEN_UP, secret), 'K');
    report_key_set(key, secret);
    return fd;
}

static uint64_t heard(struct bed *b) /* the number of the last that counts */
{
    return model_next_reporter(b->n.model, NULL)->seq;
}

static enum report_seen seen(struct bed *b)
{
    return model_host(b->n.model, "n1", 0)->evidence[REPORT_HSND].seen;
}

/* It costs the connection, is counted and told of; nothing was taken. */
static void expect_refused_key(struct bed *b, int fd, const char *why)
{
    uint64_t before = heard(b), refused = b->n.count.refused_key;

    assert_int_equal(answer(b, fd), '-');
    assert_int_equal(b->n.count.refused_key, refused + 1);
    assert_non_null(strstr(last_alarm, why));
    assert_int_equal(heard(b), before);
}

#define NOT_ITS_KEY "not under the key of its connection"
#define NO_KEY "under a key that nobody brought"

/* ---- what is taken ----------------------------------------------------- */

static void what_follows_a_key_needs_no_credential(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);

    assert_int_equal(seen(b), SEEN_UP);
    assert_int_equal(by_key(b, fd, &key, 2, SEEN_DOWN), 'A');
    assert_int_equal(seen(b), SEEN_DOWN);
    assert_int_equal(say_again(b, fd, &key, 3), 'A');
    assert_int_equal(heard(b), 3);
    assert_int_equal(seen(b), SEEN_DOWN);
    assert_int_equal(by_key(b, fd, &key, 4, SEEN_UP), 'A');
    assert_int_equal(seen(b), SEEN_UP);
    assert_int_equal(b->n.count.credentials, 1);
    assert_int_equal(b->n.count.accepted, 4);
}

/* In the order in which they came, whatever of them comes in one packet. */
static void each_has_its_answer_in_turn(void **state)
{
    static const char right[] = "AARA";
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);

    send_again(fd, &key, 2);
    send_again(fd, &key, 3);
    send_again(fd, &key, 3); /* older than the last: refused, no more */
    send_again(fd, &key, 4);
    for (size_t i = 0; right[i]; i++)
        assert_int_equal(answer(b, fd), right[i]);
    assert_int_equal(heard(b), 4);
}

static void a_refused_report_is_not_what_is_said_again(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);

    assert_int_equal(by_key(b, fd, &key, 1, SEEN_DOWN), 'R');
    assert_int_equal(say_again(b, fd, &key, 2), 'A');
    assert_int_equal(seen(b), SEEN_UP);
}

/* A map comes in parts that are long.  A turn of the loop hears all reporters,
 * and with 65 536 takes its time: so a part takes no more than a few. */
static void a_long_report_is_read_in_one_turn(void **state)
{
    struct bed *b = *state;
    static struct report_record records[SF_REPORT_RECORDS_MAX];
    struct report r = {.from = REPORT_MAPPERD,
                       .node = "n1",
                       .instance = 7,
                       .seq = 2,
                       .map = {.present = true,
                               .leader = true,
                               .configured = true,
                               .version = 1,
                               .part = 1,
                               .parts = 1},
                       .records = records,
                       .nrecords = SF_REPORT_RECORDS_MAX};
    struct report_key key;
    struct errbuf err;
    int fd = dial_with_key(b, &key);
    unsigned before;
    char *text;

    for (size_t i = 0; i < SF_REPORT_RECORDS_MAX; i++) {
        records[i] =
            (struct report_record){.kind = REPORT_HOST, .seen = SEEN_UP};
        snprintf(records[i].name, sizeof(records[i].name), "n%zu", i);
    }
    text = report_encode(&r, &err);
    assert_non_null(text);
    assert_true(strlen(text) > 5 * 16384);
    send_keyed(fd, &key, text, strlen(text));
    free(text);
    before = ev_iteration(b->n.loop);
    assert_int_equal(answer(b, fd), 'A');
    assert_in_range(ev_iteration(b->n.loop) - before, 1, 2);
    assert_int_equal(model_count(b->n.model, REPORT_HOST, HEALTH_HEALTHY),
                     SF_REPORT_RECORDS_MAX);
}

/* Both ends keep so much; what is longer nobody can say again. */
static void a_report_that_is_too_long_is_not_kept(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);
    char *text = long_text(2, SEEN_UP, NULL, SF_REPORT_COUNTERS_MAX);

    assert_true(strlen(text) > SF_REPORT_KEPT_MAX);
    send_keyed(fd, &key, text, strlen(text));
    free(text);
    assert_int_equal(answer(b, fd), 'A');
    assert_int_equal(say_again(b, fd, &key, 3), 'R');
    assert_non_null(strstr(last_alarm, "a report that is not known"));
    assert_int_equal(by_key(b, fd, &key, 4, SEEN_DOWN), 'A');
}

/* A key vouches for its connection, not for what the site has changed. */
static void whoever_has_a_key_is_judged_with_each_report(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);

    node.configured.s_addr = OTHER_ADDR; /* Reporters= was changed */
    assert_int_equal(say_again(b, fd, &key, 2), 'R');
    assert_int_equal(by_key(b, fd, &key, 3, SEEN_DOWN), 'R');
    assert_int_equal(b->n.count.refused_host, 2);
    assert_int_equal(heard(b), 1);
    node.configured.s_addr = NODE_ADDR;
    assert_int_equal(say_again(b, fd, &key, 4), 'A');
}

static void a_later_credential_brings_another_key(void **state)
{
    struct bed *b = *state;
    struct report_key key, next;
    int fd = dial_with_key(b, &key);

    assert_int_equal(by_credential(b, fd, 2, SEEN_UP, other_secret), 'K');
    report_key_set(&next, other_secret);
    assert_int_equal(say_again(b, fd, &next, 3), 'A');
    send_again(fd, &key, 4);
    expect_refused_key(b, fd, NOT_ITS_KEY);
}

/* ---- what is not ------------------------------------------------------- */

static void no_key_counts_that_no_accepted_credential_brought(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial(b);

    assert_int_equal(by_credential(b, fd, 1, SEEN_UP, NULL), 'A');
    report_key_set(&key, secret);
    send_again(fd, &key, 2);
    expect_refused_key(b, fd, NO_KEY);

    fd = dial(b); /* the report is refused, and its key with it */
    assert_int_equal(by_credential(b, fd, 1, SEEN_UP, secret), 'R');
    report_key_set(&key, secret);
    send_again(fd, &key, 2);
    expect_refused_key(b, fd, NO_KEY);
}

static void a_key_under_a_key_is_none(void **state)
{
    struct bed *b = *state;
    struct report_key key, other;
    int fd = dial_with_key(b, &key);
    char *text = long_text(2, SEEN_UP, other_secret, 0);

    send_keyed(fd, &key, text, strlen(text));
    free(text);
    assert_int_equal(answer(b, fd), 'A');
    assert_int_equal(say_again(b, fd, &key, 3), 'A');
    report_key_set(&other, other_secret);
    send_again(fd, &other, 4);
    expect_refused_key(b, fd, NOT_ITS_KEY);
}

static void the_key_of_another_connection_is_the_wrong_one(void **state)
{
    struct bed *b = *state;
    struct report_key key, other, borrowed;
    int one = dial_with_key(b, &key), two = dial(b);

    assert_int_equal(by_credential(b, two, 2, SEEN_UP, other_secret), 'K');
    report_key_set(&other, other_secret);
    borrowed = other;
    send_again(one, &borrowed, 3);
    expect_refused_key(b, one, NOT_ITS_KEY);
    assert_int_equal(say_again(b, two, &other, 3), 'A');
}

static void what_was_sent_before_costs_the_connection(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);
    uint8_t number[REPORT_AGAIN_SIZE], *body;

    be_store64(number, 2);
    body = tagged(&key, number, sizeof(number));
    send_frame(fd, REPORT_KEYED, body, sizeof(number) + REPORT_TAG_SIZE);
    assert_int_equal(answer(b, fd), 'A');
    send_frame(fd, REPORT_KEYED, body, sizeof(number) + REPORT_TAG_SIZE);
    expect_refused_key(b, fd, NOT_ITS_KEY);
    free(body);
}

static void what_is_left_out_or_exchanged_is_seen(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);
    uint8_t number[REPORT_AGAIN_SIZE], *first, *second;

    be_store64(number, 2);
    first = tagged(&key, number, sizeof(number));
    be_store64(number, 3);
    second = tagged(&key, number, sizeof(number));
    send_frame(fd, REPORT_KEYED, second, sizeof(number) + REPORT_TAG_SIZE);
    send_frame(fd, REPORT_KEYED, first, sizeof(number) + REPORT_TAG_SIZE);
    expect_refused_key(b, fd, NOT_ITS_KEY);
    free(first);
    free(second);
}

static void a_changed_byte_is_seen_wherever_it_is(void **state)
{
    struct bed *b = *state;
    size_t len = REPORT_AGAIN_SIZE + REPORT_TAG_SIZE;

    for (size_t i = 0; i < len; i++) {
        struct report_key key;
        int fd = dial(b);
        uint8_t number[REPORT_AGAIN_SIZE], *body;

        assert_int_equal(by_credential(b, fd, 2 * i + 1, SEEN_UP, secret), 'K');
        report_key_set(&key, secret);
        be_store64(number, 2 * i + 2);
        body = tagged(&key, number, sizeof(number));
        body[i] ^= 1;
        send_frame(fd, REPORT_KEYED, body, len);
        expect_refused_key(b, fd, NOT_ITS_KEY);
        free(body);
    }
}

static void less_than_a_tag_is_no_report(void **state)
{
    static const uint8_t nothing[REPORT_TAG_SIZE];
    struct bed *b = *state;
    struct report_key key;

    for (size_t len = 1; len <= sizeof(nothing); len++) {
        int fd = dial(b);

        assert_int_equal(by_credential(b, fd, len, SEEN_UP, secret), 'K');
        send_frame(fd, REPORT_KEYED, nothing, len);
        expect_refused_key(b, fd, NOT_ITS_KEY);
    }
    /* A tag of what is no report is one bad report. */
    int fd = dial(b);

    assert_int_equal(by_credential(b, fd, 99, SEEN_UP, secret), 'K');
    report_key_set(&key, secret);
    send_keyed(fd, &key, "x", 1);
    assert_int_equal(answer(b, fd), 'R');
    assert_int_equal(b->n.count.malformed, 1);
    assert_int_equal(say_again(b, fd, &key, 100), 'A');
}

static void a_key_serves_an_hour(void **state)
{
    struct bed *b = *state;
    struct report_key key;
    int fd = dial_with_key(b, &key);

    clock_now += HOUR;
    assert_int_equal(say_again(b, fd, &key, 2), 'A');
    clock_now++;
    send_again(fd, &key, 3);
    expect_refused_key(b, fd, NOT_ITS_KEY);
}

/* ---- who is left out ------------------------------------------------------
 */

/* All connections are reporters': another one is turned away, and the log says
 * which limit to raise. */
static void the_limit_is_named_that_leaves_a_reporter_out(void **state)
{
    struct bed *b = *state;
    struct report_key key;

    b->n.conns_max = 1;
    dial_with_key(b, &key);
    assert_string_equal(last_alarm, "");
    assert_int_equal(answer(b, dial(b)), '-');
    assert_non_null(strstr(last_alarm, "all 1 connections"));
    assert_non_null(strstr(last_alarm, "LimitNOFILE"));
    assert_int_equal(b->n.count.turned_away, 1);
}

/* A turn of the loop is as long as there are reporters: the more there are the
 * more come in by one. */
static void many_reporters_do_not_come_in_one_by_one(void **state)
{
    struct bed *b = *state;
    unsigned turns = 0;

    for (int i = 0; i < 60; i++)
        dial(b);
    for (; b->n.nconns < 60; turns++)
        ev_run(b->n.loop, EVRUN_NOWAIT);
    assert_in_range(turns, 1, 40);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, bed_up, bed_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_follows_a_key_needs_no_credential),
        TEST(each_has_its_answer_in_turn),
        TEST(a_refused_report_is_not_what_is_said_again),
        TEST(a_long_report_is_read_in_one_turn),
        TEST(a_report_that_is_too_long_is_not_kept),
        TEST(whoever_has_a_key_is_judged_with_each_report),
        TEST(a_later_credential_brings_another_key),
        TEST(no_key_counts_that_no_accepted_credential_brought),
        TEST(a_key_under_a_key_is_none),
        TEST(the_key_of_another_connection_is_the_wrong_one),
        TEST(what_was_sent_before_costs_the_connection),
        TEST(what_is_left_out_or_exchanged_is_seen),
        TEST(a_changed_byte_is_seen_wherever_it_is),
        TEST(less_than_a_tag_is_no_report),
        TEST(a_key_serves_an_hour),
        TEST(the_limit_is_named_that_leaves_a_reporter_out),
        TEST(many_reporters_do_not_come_in_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

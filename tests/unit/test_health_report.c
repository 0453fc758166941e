/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The codec of health reports, and the sender against a listener in the same
 * process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <ev.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/be.h"
#include "base/clerk.h"
#include "base/seal.h"
#include "health/report.h"
#include "health/report_key.h"
#include "health/sender.h"

static struct report_record records[] = {
    {.kind = REPORT_HOST,
     .seen = SEEN_DOWN,
     .rail = 1,
     .board = 0x60dd470010,
     .name = "n1",
     .peer = "x3:4",
     .count = 7,
     .answered = ANSWERED_NO,
     .turned = ANSWERED_YES,
     .asked = 2,
     .why = "mute"},
    {.kind = REPORT_LINK, .seen = SEEN_UP, .name = "x1:3", .peer = "x2:0"},
    {.kind = REPORT_XBAR, .seen = SEEN_DEGRADED, .name = "x1"},
};
static struct report_counter counters[] = {{0, "crc_errors", 12}};
static struct report_peer peers[] = {{1, 0x60dd470011, 100, 5}};

static struct report sample(void)
{
    return (struct report){
        .from = REPORT_MAPPERD,
        .node = "n0",
        .instance = 99,
        .seq = 4,
        .map = {true, true, true, 17, 1, 2, 1234, "n0", 3},
        .records = records,
        .counters = counters,
        .peers = peers,
        .nrecords = 3,
        .ncounters = 1,
        .npeers = 1,
    };
}

static void a_report_comes_back_as_it_went(void **state)
{
    struct report in = sample(), out;
    struct errbuf err;
    char *text = report_encode(&in, &err), *again;

    assert_non_null(text);
    assert_int_equal(report_decode(&out, text, strlen(text), &err), 0);
    assert_int_equal(out.nrecords, 3);
    assert_int_equal(out.records[0].board, 0x60dd470010);
    assert_string_equal(out.records[0].peer, "x3:4");
    assert_int_equal(out.records[0].answered, ANSWERED_NO);
    assert_int_equal(out.records[0].turned, ANSWERED_YES);
    assert_int_equal(out.records[0].asked, 2);
    assert_int_equal(out.records[1].turned, ANSWERED_NOT_SAID);
    assert_int_equal(out.map.version, 17);
    assert_int_equal(out.map.parts, 2);
    assert_int_equal(out.map.rail, 3);
    assert_int_equal(out.peers[0].lost, 5);
    again = report_encode(&out, &err);
    assert_string_equal(text, again);
    free(text);
    free(again);
    report_free(&out);
}

static void refused(const char *text, int code)
{
    struct report r;
    struct errbuf err;

    assert_int_equal(report_decode(&r, text, strlen(text), &err), -1);
    assert_int_equal(errno, code);
    assert_null(r.records);
}

#define HEAD "{\"v\":1,\"from\":\"hsnd\",\"node\":\"n0\""

static void malformed_reports_are_refused(void **state)
{
    refused("", EBADMSG);
    refused("{}", EBADMSG);
    refused("{\"v\":2}", EPROTO);
    refused("{\"v\":1,\"from\":\"me\",\"node\":\"n0\"}", EBADMSG);
    refused("{\"v\":1,\"from\":\"hsnd\"}", EBADMSG);
    refused("{\"v\":1,\"from\":\"hsnd\",\"node\":\"\"}", EBADMSG);
    refused("{\"v\":1,\"from\":\"hsnd\",\"node\":\"n 0\"}", EBADMSG);
    refused("{\"v\":1,\"from\":\"hsnd\",\"node\":\"n0;rm\"}", EBADMSG);
    refused(HEAD ",\"seq\":-1}", EBADMSG);
    refused(HEAD ",\"seq\":\"1\"}", EBADMSG);
    refused(HEAD ",\"key\":\"\"}", EBADMSG);
    refused(HEAD ",\"key\":\"00112233445566778899aabbccddeef\"}", EBADMSG);
    refused(HEAD ",\"key\":\"00112233445566778899aabbccddeefg\"}", EBADMSG);
    refused(HEAD ",\"key\":[]}", EBADMSG);
    refused(HEAD ",\"records\":{}}", EBADMSG);
    refused(HEAD ",\"records\":[1]}", EBADMSG);
    refused(HEAD ",\"records\":[{\"kind\":\"host\",\"seen\":\"up\"}]}",
            EBADMSG);
    refused(HEAD ",\"records\":[{\"kind\":\"host\",\"seen\":\"up\","
                 "\"name\":\"n1\",\"rail\":8}]}",
            EBADMSG);
    refused(HEAD ",\"records\":[{\"kind\":\"host\",\"seen\":\"up\","
                 "\"name\":\"n1\",\"turned\":1}]}",
            EBADMSG);
    refused(HEAD ",\"records\":[{\"kind\":\"link\",\"seen\":\"up\","
                 "\"name\":\"n1\"}]}",
            EBADMSG);
    refused(HEAD ",\"records\":[{\"kind\":\"xbar\",\"seen\":\"up\","
                 "\"name\":\"x1\",\"why\":\"a\\\"b\"}]}",
            EBADMSG);
    refused(HEAD ",\"counters\":[{\"name\":\"a-b\",\"value\":1}]}", EBADMSG);
    refused(HEAD ",\"counters\":[{\"name\":\"a\",\"value\":1},"
                 "{\"name\":\"a\",\"value\":1}]}",
            EBADMSG);
    refused(HEAD ",\"peers\":[{\"board\":\"12\",\"sent\":1,\"lost\":2}]}",
            EBADMSG);
    refused(HEAD ",\"map\":{\"leader\":true}} trailing", EBADMSG);
    refused(HEAD ",\"map\":{\"leader\":true,\"configured\":true,"
                 "\"parts\":2,\"part\":3}}",
            EBADMSG);
    refused(HEAD ",\"map\":{\"leader\":true,\"configured\":true,"
                 "\"parts\":2}}",
            EBADMSG);
}

static void the_least_report_is_understood(void **state)
{
    struct report r;
    struct errbuf err;

    assert_int_equal(
        report_decode(&r, HEAD ",\"later\":1}", strlen(HEAD) + 11, &err), 0);
    assert_string_equal(r.node, "n0");
    assert_false(r.map.present);
    report_free(&r);
}

static void too_many_records_are_refused_before_memory(void **state)
{
    size_t n = SF_REPORT_RECORDS_MAX + 1, at;
    char *text = malloc(n * 3 + 200);
    struct report r = sample();
    struct errbuf err;

    at = (size_t)sprintf(text, HEAD ",\"records\":[{}");
    for (size_t i = 1; i < n; i++)
        at += (size_t)sprintf(text + at, ",{}");
    strcpy(text + at, "]}");
    refused(text, EBADMSG);
    free(text);
    r.nrecords = n;
    assert_null(report_encode(&r, &err));
    assert_int_equal(errno, EINVAL);
}

/* A munged of this test's own. */
static struct {
    char dir[64], socket[96];
    pid_t pid;
} munge;

static void run_munged(void)
{
    char key[96], pid[96], seed[96], log[96];
    FILE *f;

    snprintf(key, sizeof(key), "%s/key", munge.dir);
    snprintf(pid, sizeof(pid), "%s/pid", munge.dir);
    snprintf(seed, sizeof(seed), "%s/seed", munge.dir);
    snprintf(log, sizeof(log), "%s/log", munge.dir);
    f = fopen(key, "w");
    fputs("0123456789012345678901234567890123456789", f);
    fclose(f);
    chmod(key, 0400);
    if (!freopen("/dev/null", "w", stderr))
        _exit(127);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execlp("munged", "munged", "-F", "--force", "-S", munge.socket,
           "--key-file", key, "--pid-file", pid, "--seed-file", seed,
           "--log-file", log, "--num-threads", "1", NULL);
    _exit(127);
}

static int munge_up(void **state)
{
    struct timespec pause = {0, 10000000};
    struct errbuf err;
    char *cred;

    strcpy(munge.dir, "/tmp/reportXXXXXX");
    assert_non_null(mkdtemp(munge.dir));
    chmod(munge.dir, 0755);
    snprintf(munge.socket, sizeof(munge.socket), "%s/socket", munge.dir);
    munge.pid = fork();
    if (munge.pid == 0)
        run_munged();
    for (int i = 0; i < 6000; i++, nanosleep(&pause, NULL)) {
        if (access(munge.socket, F_OK) == 0 &&
            seal_make(&cred, "x", 1, SEAL_ANY_UID, 0, munge.socket, &err) ==
                0) {
            free(cred);
            return 0;
        }
    }
    return -1;
}

static int munge_down(void **state)
{
    static const char *const files[] = {"key",    "pid", "seed",
                                        "socket", "log", "socket.lock"};
    char path[128];

    kill(munge.pid, SIGTERM);
    waitpid(munge.pid, NULL, 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", munge.dir, files[i]);
        unlink(path);
    }
    return rmdir(munge.dir);
}

struct listener {
    char path[64];
    int fd;
    struct ev_loop *loop;
};

static int open_listener(void **state)
{
    struct listener *l = calloc(1, sizeof(*l));
    struct sockaddr_un sa = {.sun_family = AF_UNIX};

    strcpy(l->path, "/tmp/reportXXXXXX");
    close(mkstemp(l->path));
    unlink(l->path);
    strcpy(sa.sun_path, l->path);
    l->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(l->fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    assert_int_equal(listen(l->fd, 4), 0);
    l->loop = ev_loop_new(0);
    *state = l;
    return 0;
}

static int close_listener(void **state)
{
    struct listener *l = *state;

    close(l->fd);
    unlink(l->path);
    ev_loop_destroy(l->loop);
    free(l);
    return 0;
}

static struct sender *make_sender(struct listener *l)
{
    struct sender_options o = {
        .to = l->path, .munge_socket = munge.socket, .reader = SEAL_ANY_UID};
    struct errbuf err;
    struct sender *s = sender_new(l->loop, &o, &err);

    assert_non_null(s);
    return s;
}

static void sender_drops_the_oldest_and_never_waits(void **state)
{
    struct listener *l = *state;
    struct report r = sample();
    struct sender_stats st;
    struct errbuf err;
    struct sender *s;

    close(l->fd);
    unlink(l->path); /* nobody listens */
    s = make_sender(l);
    for (int i = 0; i < SF_SENDER_QUEUE_MAX + 9; i++)
        assert_int_equal(sender_put(s, &r, &err), 0);
    sender_stats(s, &st);
    assert_int_equal(st.dropped, 9);
    assert_int_equal(st.queued, SF_SENDER_QUEUE_MAX);
    sender_free(s);
}

static unsigned nlost;

static void count_lost(const char *why)
{
    nlost += why[0] != '\0';
}

static void sender_says_when_munge_is_gone(void **state)
{
    struct listener *l = *state;
    struct sender_options o = {.to = l->path,
                               .munge_socket = "/nonexistent/m",
                               .reader = 0,
                               .lost = count_lost};
    struct report r = sample();
    struct errbuf err = {""};
    struct sender *s = sender_new(l->loop, &o, &err);
    struct sender_stats st;

    nlost = 0;
    assert_non_null(s);
    assert_int_equal(sender_put(s, &r, &err), 0);
    while (nlost == 0)
        ev_run(l->loop, EVRUN_ONCE);
    sender_stats(s, &st);
    assert_int_equal(st.dropped, 1);
    assert_int_equal(st.queued, 0);
    sender_free(s);
}

/* With munged, and without: put() asks nobody itself. */
static void sender_asks_munged_beside_the_loop(void **state)
{
    struct listener *l = *state;
    struct clerk *clerk = clerk_new(l->loop, 4);
    struct sender_options o = {.to = l->path,
                               .munge_socket = munge.socket,
                               .reader = SEAL_ANY_UID,
                               .clerk = clerk,
                               .lost = count_lost};
    struct report r = sample();
    struct sender_stats st;
    struct errbuf err;
    struct sender *with, *without;

    nlost = 0;
    with = sender_new(l->loop, &o, &err);
    o.munge_socket = "/nonexistent/m";
    without = sender_new(l->loop, &o, &err);
    assert_int_equal(sender_put(with, &r, &err), 0);
    assert_int_equal(sender_put(without, &r, &err), 0);
    do {
        ev_run(l->loop, EVRUN_ONCE);
        sender_stats(with, &st);
    } while (nlost == 0 || st.sent == 0);
    assert_int_equal(nlost, 1);
    sender_stats(without, &st);
    assert_int_equal(st.queued + st.sent, 0);
    assert_true(clerk_free(clerk));
    sender_free(with);
    sender_free(without);
}

static void sender_refuses_what_is_no_address(void **state)
{
    struct sender_options o = {.to = ":12"};
    struct errbuf err;

    assert_null(sender_new(NULL, &o, &err));
    assert_non_null(strstr(err.text, ":12"));
}

/* ---- switchmgrd's end ---- */

/* What the sender sends next, at most `size` bytes; *keyed: under a key. */
static size_t next_frame(struct listener *l, int fd, uint8_t *out, size_t size,
                         bool *keyed)
{
    uint8_t head[4];
    size_t len;

    while (recv(fd, head, 4, MSG_PEEK | MSG_DONTWAIT) != 4)
        ev_run(l->loop, EVRUN_ONCE);
    assert_int_equal(recv(fd, head, 4, MSG_WAITALL), 4);
    *keyed = be_load32(head) & REPORT_KEYED;
    len = be_load32(head) & ~REPORT_KEYED;
    assert_true(len < size);
    assert_int_equal(recv(fd, out, len, MSG_WAITALL), len);
    out[len] = '\0';
    return len;
}

/* A credential; its report, and the key that it brought. */
static void next_credential(struct listener *l, int fd, struct report *r,
                            struct report_key *key)
{
    static uint8_t cred[8192];
    struct seal_info info;
    struct errbuf err;
    bool keyed;
    void *text;
    size_t len;

    next_frame(l, fd, cred, sizeof(cred), &keyed);
    assert_false(keyed);
    assert_int_equal(
        seal_open(&text, &len, &info, (char *)cred, munge.socket, &err), 0);
    assert_int_equal(info.uid, getuid());
    assert_int_equal(report_decode(r, text, len, &err), 0);
    free(text);
    assert_true(r->has_key);
    report_key_set(key, r->key);
}

static void next_keyed(struct listener *l, int fd, struct report *r,
                       struct report_key *key)
{
    static uint8_t text[8192];
    struct errbuf err;
    bool keyed;
    size_t len = next_frame(l, fd, text, sizeof(text), &keyed);

    assert_true(keyed);
    assert_true(report_key_check(key, text, len));
    memset(r, 0, sizeof(*r));
    if (len == REPORT_AGAIN_SIZE + REPORT_TAG_SIZE) {
        r->seq = be_load64(text);
        return;
    }
    assert_int_equal(
        report_decode(r, (char *)text, len - REPORT_TAG_SIZE, &err), 0);
    assert_false(r->has_key);
}

static void put_seen(struct sender *s, uint64_t seq, enum report_seen seen)
{
    struct report r = sample();
    struct errbuf err;

    r.seq = seq;
    r.records[0].seen = seen;
    assert_int_equal(sender_put(s, &r, &err), 0);
}

static void put(struct sender *s, uint64_t seq)
{
    put_seen(s, seq, SEEN_UP);
}

static void put_other(struct sender *s, uint64_t seq)
{
    put_seen(s, seq, SEEN_DOWN);
}

static void answer(struct listener *l, int fd, struct sender *s, char how)
{
    struct sender_stats st;
    uint64_t before;

    sender_stats(s, &st);
    before = st.accepted + st.refused;
    assert_int_equal(send(fd, &how, 1, 0), 1);
    do {
        ev_run(l->loop, EVRUN_ONCE);
        sender_stats(s, &st);
    } while (st.accepted + st.refused == before);
}

static void expect_seq(struct report *r, uint64_t seq)
{
    assert_string_equal(r->node, "n0");
    assert_int_equal(r->seq, seq);
    report_free(r);
}

/* What was said before, but for its number. */
static void expect_again(const struct report *r, uint64_t seq)
{
    assert_string_equal(r->node, "");
    assert_int_equal(r->seq, seq);
}

static void sender_brings_a_key_and_uses_it(void **state)
{
    struct listener *l = *state;
    struct sender *s = make_sender(l);
    struct report_key key;
    struct sender_stats st;
    struct report r;
    int fd;

    put(s, 1);
    put(s, 2); /* waits for the answer */
    put(s, 3);
    fd = accept(l->fd, NULL, NULL);
    next_credential(l, fd, &r, &key);
    expect_seq(&r, 1);
    answer(l, fd, s, 'K');
    next_keyed(l, fd, &r, &key);
    expect_again(&r, 2);
    next_keyed(l, fd, &r, &key);
    expect_again(&r, 3);
    answer(l, fd, s, 'A');
    answer(l, fd, s, 'R');
    put(s, 4);
    next_keyed(l, fd, &r, &key);
    expect_seq(&r, 4); /* not the same as one that was refused */
    answer(l, fd, s, 'A');
    put(s, 5);
    next_keyed(l, fd, &r, &key);
    expect_again(&r, 5);
    answer(l, fd, s, 'A');
    put_other(s, 6);
    put_other(s, 7);
    next_keyed(l, fd, &r, &key);
    expect_seq(&r, 6);
    next_keyed(l, fd, &r, &key);
    expect_seq(&r, 7); /* whether 6 was accepted is not known yet */
    sender_stats(s, &st);
    assert_int_equal(st.accepted, 4);
    assert_int_equal(st.refused, 1);
    assert_int_equal(st.sent, 7);
    close(fd);
    sender_free(s);
}

/* One of before, which answers A: each report has a credential. */
static void sender_does_without_a_key_where_none_is_taken(void **state)
{
    struct listener *l = *state;
    struct sender *s = make_sender(l);
    struct report_key first, second;
    struct report r;
    int fd;

    put(s, 1);
    put(s, 2);
    fd = accept(l->fd, NULL, NULL);
    next_credential(l, fd, &r, &first);
    expect_seq(&r, 1);
    answer(l, fd, s, 'A');
    next_credential(l, fd, &r, &second);
    expect_seq(&r, 2);
    assert_memory_not_equal(&first.mac, &second.mac, sizeof(first.mac));
    close(fd);
    sender_free(s);
}

static void sender_takes_another_key_for_each_connection(void **state)
{
    struct listener *l = *state;
    struct sender *s = make_sender(l);
    struct report_key first, second;
    struct sender_stats st;
    struct report r;
    int fd;

    put(s, 1);
    fd = accept(l->fd, NULL, NULL);
    next_credential(l, fd, &r, &first);
    expect_seq(&r, 1);
    answer(l, fd, s, 'K');
    close(fd); /* switchmgrd starts anew */
    do {
        put(s, 2);
        ev_run(l->loop, EVRUN_ONCE);
        sender_stats(s, &st);
    } while (st.connects < 2);
    fd = accept(l->fd, NULL, NULL);
    next_credential(l, fd, &r, &second);
    expect_seq(&r, 2);
    assert_memory_not_equal(&first.mac, &second.mac, sizeof(first.mac));
    close(fd);
    sender_free(s);
}

static void reports_are_the_same_but_for_their_number(void **state)
{
    struct report r = sample();
    struct errbuf err;
    char *one, *two, *other;

    r.seq = 9;
    one = report_encode(&r, &err);
    r.seq = 1234567;
    two = report_encode(&r, &err);
    r.records[1].count++;
    other = report_encode(&r, &err);
    assert_true(report_same_text(one, two));
    assert_false(report_same_text(two, other));
    free(one);
    free(two);
    free(other);
    r.records[1].count--; /* sample()'s are static */
}

/* ---- reports under a key ---- */

static void a_changed_or_repeated_report_is_not_taken(void **state)
{
    uint8_t secret[SF_REPORT_KEY] = "sixteen bytes";
    struct report_key out, in, other;
    uint8_t one[5 + REPORT_TAG_SIZE] = "first";
    uint8_t two[6 + REPORT_TAG_SIZE] = "second";

    report_key_set(&out, secret);
    report_key_set(&in, secret);
    secret[3] ^= 1;
    report_key_set(&other, secret);
    report_key_sign(&out, one + 5, one, 5);
    report_key_sign(&out, two + 6, two, 6);
    assert_false(report_key_check(&other, one, sizeof(one)));
    assert_false(report_key_check(&in, two, sizeof(two))); /* out of order */
    for (size_t i = 0; i < sizeof(one); i++) {
        one[i] ^= 0x10;
        assert_false(report_key_check(&in, one, sizeof(one)));
        one[i] ^= 0x10;
    }
    for (size_t len = 0; len < sizeof(one); len++)
        assert_false(report_key_check(&in, one, len));
    assert_true(report_key_check(&in, one, sizeof(one)));
    assert_false(report_key_check(&in, one, sizeof(one))); /* again */
    assert_true(report_key_check(&in, two, sizeof(two)));
}

static void a_key_comes_to_an_end(void **state)
{
    struct report_key out = {.count = SF_REPORT_KEY_REPORTS_MAX}, in = out;
    uint8_t text[1 + REPORT_TAG_SIZE] = "x";

    report_key_sign(&out, text + 1, text, 1);
    assert_false(report_key_check(&in, text, sizeof(text)));
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_listener, close_listener)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_report_comes_back_as_it_went),
        cmocka_unit_test(malformed_reports_are_refused),
        cmocka_unit_test(the_least_report_is_understood),
        cmocka_unit_test(too_many_records_are_refused_before_memory),
        T(sender_drops_the_oldest_and_never_waits),
        T(sender_says_when_munge_is_gone),
        T(sender_asks_munged_beside_the_loop),
        T(sender_refuses_what_is_no_address),
        T(sender_brings_a_key_and_uses_it),
        T(sender_does_without_a_key_where_none_is_taken),
        T(sender_takes_another_key_for_each_connection),
        cmocka_unit_test(reports_are_the_same_but_for_their_number),
        cmocka_unit_test(a_changed_or_repeated_report_is_not_taken),
        cmocka_unit_test(a_key_comes_to_an_end),
    };

    return cmocka_run_group_tests(tests, munge_up, munge_down);
}

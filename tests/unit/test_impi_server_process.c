/* SPDX-License-Identifier: BSD-3-Clause
 * The program impi-server: its start and end, agents and their frames.
 */
#include <fcntl.h>
#include <signal.h>

#include "impi_server_process.h"

#include "base/netaddr.h"
#include "impi/presence.h"
#include "impid/server_proc.h"

static void server_ends_when_srun_goes(void **state)
{
    struct program s;

    start(&s, 1);
    stop(&s);
}

static void server_tells_agents_to_kill_when_srun_dies(void **state)
{
    struct player a[2];
    struct program s;

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    put(&a[0], "up", 0, 2, NULL, 0);
    put(&a[1], "up", 1, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct agent_msg m;

        assert_true(hear(&a[i], &m)); /* both are known to the server now */
    }
    stop(&s);
    for (int i = 0; i < 2; i++) {
        expect_kill(&a[i], 137);
        leave(&a[i]);
    }
}

static void bad_start_lines_are_answered_with_error(void **state)
{
    static const char *const lines[] = {
        "begin\n",
        "start job=1\n",
        "start secret=12 job=1 step=0 agents=1 tasks=1\n",
        "start secret=" SECRET " job=x step=0 agents=1 tasks=1\n",
        "start secret=" SECRET " job=1 step=0 agents=0 tasks=1\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 ports=9-3\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 bind=host\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 colour=red\n",
        "start secret=" SECRET " job=1 job=1 step=0 agents=1 tasks=1\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 lines=2\n",
        "start secret=" SECRET " job=1 step=0 agents=1 tasks=1 presence=5 "
        "lines=2049\n",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct program s;
        char answer[512];
        int status;

        spawn(&s, "A=");
        start_line(&s, lines[i], answer, sizeof(answer));
        assert_memory_equal(answer, "error ", 6);
        close(s.fd);
        waitpid(s.pid, &status, 0);
        assert_int_equal(WEXITSTATUS(status), 1);
    }
}

static void ports_come_from_the_range(void **state)
{
    struct program one, two;
    char range[64];
    unsigned lo;

    /* a range around a port that was free a moment ago */
    start(&one, 1);
    lo = one.port > 60000 ? one.port - 20 : one.port;
    snprintf(range, sizeof(range), "ports=%u-%u", lo, lo + 20);
    start_with(&two, 1, "A=", range);
    assert_in_range(two.port, lo, lo + 20);
    assert_int_not_equal(two.port, one.port);
    stop(&two);
    stop(&one);
}

static void rendezvous_spreads_blobs_in_index_order(void **state)
{
    static const char *const blobs[] = {"zero", "", "two"};
    struct player a[3];
    struct program s;

    start(&s, 3);
    for (uint32_t i = 0; i < 3; i++)
        join(&s, &a[i], i, 3);
    for (uint32_t i = 3; i-- > 0;)
        put(&a[i], "family", i, 3, blobs[i], (uint32_t)strlen(blobs[i]));
    for (int i = 0; i < 3; i++) {
        struct agent_blob blob;
        struct agent_msg m;
        struct be_reader r;

        assert_true(hear(&a[i], &m));
        assert_int_equal(m.type, AGENT_GOT);
        assert_string_equal(m.got.key, "family");
        agent_blobs_init(&r, &m.got);
        for (int k = 0; k < 3; k++) {
            assert_true(agent_blobs_next(&r, &blob));
            assert_int_equal(blob.len, strlen(blobs[k]));
            assert_memory_equal(blob.data, blobs[k], blob.len);
        }
    }
    for (int i = 0; i < 3; i++)
        bye(&a[i]);
    stop(&s);
}

static void strangers_are_dropped_and_harm_nobody(void **state)
{
    uint8_t wrong[32] = {1};
    struct player a;
    struct program s;
    struct agent_msg m;
    char junk[200];
    int idle[8], fd;

    start(&s, 1);
    for (int i = 0; i < 8; i++)
        idle[i] = dial(s.port);
    fd = dial(s.port);
    assert_true(open_channel(fd, wrong, 0) < 0);
    close(fd);
    fd = dial(s.port);
    memset(junk, 'G', sizeof(junk));
    assert_int_equal(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), 200);
    wait_readable(fd);
    assert_true(recv(fd, junk, sizeof(junk), 0) <= 0);
    close(fd);
    join(&s, &a, 0, 1);
    fd = dial(s.port);
    assert_true(open_channel(fd, s.secret, 0) != 0); /* agent 0 is here */
    close(fd);
    fd = dial(s.port);
    assert_true(open_channel(fd, s.secret, 9) != 0); /* no agent 9 */
    close(fd);
    put(&a, "k", 0, 1, "x", 1);
    assert_true(hear(&a, &m));
    assert_int_equal(m.type, AGENT_GOT);
    bye(&a);
    for (int i = 0; i < 8; i++)
        close(idle[i]);
    stop(&s);
}

static void first_abort_is_told_once_and_kills_all(void **state)
{
    struct agent_msg m = {.type = AGENT_ABORT,
                          .abort = {.code = 42,
                                    .rank = 3,
                                    .client = 1,
                                    .text = "MPI_Abort\nby rank 3"}};
    struct player a[2];
    struct program s;
    char line[1024];

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    put(&a[0], "up", 0, 2, NULL, 0);
    put(&a[1], "up", 1, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct agent_msg got;

        assert_true(hear(&a[i], &got));
    }
    say(&a[1], &m);
    for (int i = 0; i < 2; i++)
        expect_kill(&a[i], 42);
    m.abort.code = 9;
    say(&a[0], &m); /* a consequence, not a cause */
    bye(&a[0]);
    bye(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "abort code=42 rank=3 node=node1 client=1 "
                              "text=MPI_Abort by rank 3");
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=42");
    stop(&s);
}

static void lost_agent_aborts_and_is_named(void **state)
{
    struct player a[2];
    struct program s;
    char line[1024];

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    put(&a[0], "up", 0, 2, NULL, 0);
    put(&a[1], "up", 1, 2, NULL, 0);
    for (int i = 0; i < 2; i++) {
        struct agent_msg got;

        assert_true(hear(&a[i], &got));
    }
    leave(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "abort code=1 rank=-1 node=node1 client=-1 "
                              "text=SF-E221: lost impid on node node1: "
                              "it hung up");
    expect_kill(&a[0], 1);
    leave(&a[0]);
    stop(&s);
}

static void holds(struct player *p, const char *text)
{
    struct agent_msg m = {.type = AGENT_HOLDS};

    snprintf(m.text, sizeof(m.text), "%s", text);
    say(p, &m);
}

/* Only the node was told, though its agent knew whom it held. */
static void lost_agent_is_told_with_its_ranks_and_client(void **state)
{
    static const char what[] = "client 1 (ranks 2-3)";
    char line[1024], text[SF_AGENT_TEXT_MAX], want[SF_AGENT_HOLDS_MAX];
    struct player a;
    struct program s;

    start(&s, 1);
    join(&s, &a, 0, 1);
    holds(&a, "ranks 2-3");
    holds(&a, what); /* the last one counts */
    leave(&a);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "abort code=1 rank=-1 node=node0 client=-1 "
                              "text=SF-E221: lost impid on node node0 with "
                              "client 1 (ranks 2-3): it hung up");
    stop(&s);

    memset(text, 'x', sizeof(text) - 1); /* one that lies is cut */
    text[sizeof(text) - 1] = '\0';
    start(&s, 1);
    join(&s, &a, 0, 1);
    holds(&a, text);
    leave(&a);
    read_line(&s, line, sizeof(line));
    snprintf(want, sizeof(want), "%.*s", SF_AGENT_HOLDS_MAX - 1, text);
    assert_non_null(strstr(line, want));
    assert_null(strstr(strstr(line, want) + 1, want));
    assert_non_null(strstr(line, ": it hung up"));
    stop(&s);
}

/* An agent that goes leaves something unread, so that its connection is reset
 * behind its BYE; what the server writes then fails.  The server is stopped
 * meanwhile and finds both agents' frames at once, in the order asked. */
static void goodbye_before_write_error(bool goes_first)
{
    struct agent_msg got;
    struct player a[2];
    struct program s;
    char line[1024];
    int status;

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    put(&a[0], "up", 0, 2, "unread", 6);
    put(&a[1], "up", 1, 2, NULL, 0);
    assert_true(hear(&a[1], &got));
    wait_readable(a[0].fd);
    kill(s.pid, SIGSTOP);
    assert_int_equal(waitpid(s.pid, &status, WUNTRACED), s.pid);
    put(&a[0], "last", 0, 2, NULL, 0);
    if (goes_first)
        bye(&a[0]);
    put(&a[1], "last", 1, 2, NULL, 0);
    if (!goes_first)
        bye(&a[0]);
    kill(s.pid, SIGCONT);
    assert_true(hear(&a[1], &got));
    assert_int_equal(got.type, AGENT_GOT);
    bye(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=0");
    stop(&s);
}

static void agent_that_said_bye_is_not_lost_by_a_write_error(void **state)
{
    goodbye_before_write_error(true);
    goodbye_before_write_error(false);
}

static void end_carries_the_worst_exit_code(void **state)
{
    struct agent_msg m = {.type = AGENT_EXIT, .exit = {.count = 2}};
    struct bytebuf packed;
    struct player a[2];
    struct program s;
    char line[1024];

    start(&s, 2);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    bytebuf_init(&packed, 100);
    agent_exit_add(&packed, 0, 0);
    agent_exit_add(&packed, 1, 3 << 8);
    m.exit.packed.data = bytebuf_data(&packed);
    m.exit.packed.len = (uint32_t)bytebuf_len(&packed);
    say(&a[0], &m);
    say(&a[1], &(struct agent_msg){.type = AGENT_NOTE, .text = "hello"});
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "note hello");
    bye(&a[0]);
    bye(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=3");
    bytebuf_free(&packed);
    stop(&s);
}

static void protocol_errors_abort_and_name_the_node(void **state)
{
    static const struct {
        struct agent_msg msg;
        const char *want;
    } cases[] = {
        {{.type = AGENT_PUT, .put = {.key = "k", .index = 2, .expected = 2}},
         "key \"k\": index 2 of 2"},
        {{.type = AGENT_JOB, .job = {0, 2, 0, "x"}}, "JOB twice"},
        {{.type = AGENT_KILL}, "frame 7 is the server's to send"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct player a;
        struct program s;
        char line[1024], want[512];

        start(&s, 2);
        join(&s, &a, 0, 2);
        say(&a, &cases[i].msg);
        read_line(&s, line, sizeof(line));
        snprintf(want, sizeof(want),
                 "abort code=1 rank=-1 node=node0 client=-1 text=SF-E221: "
                 "lost impid on node node0: protocol error: %s",
                 cases[i].want);
        assert_string_equal(line, want);
        leave(&a);
        stop(&s);
    }
}

static void frames_before_job_are_refused(void **state)
{
    struct player a;
    struct program s;
    char line[1024];

    start(&s, 1);
    join_silent(&s, &a, 0);
    put(&a, "k", 0, 1, NULL, 0);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "frame 2 before JOB"));
    leave(&a);
    stop(&s);
}

/* 64 exchanges of 1 MB: far more than sockets hold. */
static void agent_that_does_not_read_blocks_nobody(void **state)
{
    enum { SIZE = 1 << 20, ROUNDS = 64 };
    uint8_t *blob = calloc(1, SIZE);
    struct player a[3];
    struct program s;
    struct agent_msg m;
    char key[16];

    start(&s, 3);
    for (uint32_t i = 0; i < 3; i++)
        join(&s, &a[i], i, 3);
    for (int round = 0; round < ROUNDS; round++) {
        snprintf(key, sizeof(key), "r%d", round);
        put(&a[0], key, 0, 3, NULL, 0); /* never reads */
        put(&a[1], key, 1, 3, blob, SIZE);
        put(&a[2], key, 2, 3, NULL, 0);
        assert_true(hear(&a[1], &m));
        assert_true(hear(&a[2], &m));
        assert_string_equal(m.got.key, key);
    }
    for (int i = 0; i < 3; i++)
        leave(&a[i]);
    free(blob);
    stop(&s);
}

/* ---- nodes whose agent has not started ---- */

static uint16_t start_with_presence(struct program *s, unsigned agents)
{
    struct in6_addr loopback;
    uint16_t port;
    int fd;

    netaddr_parse_ip(&loopback, "127.0.0.1");
    fd = netaddr_listen(&loopback, 0, 0, &port);
    presence_listener = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    assert_true(presence_listener >= 10);
    close(fd);
    start_with(s, agents, "A=", "ports=0-0 presence=5");
    close(presence_listener);
    presence_listener = -1;
    return port;
}

/* As the first task of a node does. */
static int be_present(const struct program *s, uint16_t port, uint32_t agent)
{
    struct impi_presence who = {.agent = agent, .rank = 2 * agent};
    uint8_t text[IMPI_PRESENCE_SIZE];
    int fd = dial(port);

    snprintf(who.node, sizeof(who.node), "node%u", agent);
    impi_presence_encode(text, &who, s->secret);
    assert_int_equal(send(fd, text, sizeof(text), 0), sizeof(text));
    return fd;
}

static void hear_wake(int fd)
{
    char c;

    wait_readable(fd);
    assert_int_equal(recv(fd, &c, 1, 0), 1);
}

static void idle_nodes_are_woken_and_not_missed_when_their_agent_came(void **st)
{
    struct player a[2];
    struct program s;
    char line[512];
    uint16_t port = start_with_presence(&s, 2);
    int fd = be_present(&s, port, 1);

    hear_wake(fd);
    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    bye(&a[1]);
    close(fd);
    bye(&a[0]);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=0");
    stop(&s);
}

static void node_that_goes_without_an_agent_is_missed(void **state)
{
    struct player a;
    struct program s;
    char line[512];
    uint16_t port = start_with_presence(&s, 2);
    int first = be_present(&s, port, 1), again;

    join(&s, &a, 0, 2);
    hear_wake(first);
    again = be_present(&s, port, 1); /* who copied what it said */
    hear_wake(again);
    assert_int_equal(send(again, "", 1, 0), 1);
    close(again);
    assert_int_equal(send(first, "", 1, 0), 1);
    close(first);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "SF-E312: rank 2 on node node1 ended"));
    expect_kill(&a, 1);
    bye(&a);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=1");
    stop(&s);
}

static void node_that_goes_without_a_goodbye_is_lost(void **state)
{
    struct player a;
    struct program s;
    char line[512];
    uint16_t port = start_with_presence(&s, 2);
    int fd = be_present(&s, port, 1);

    join(&s, &a, 0, 2);
    hear_wake(fd);
    close(fd);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "SF-E316: lost slurmstepd on node node1"));
    expect_kill(&a, 1);
    bye(&a);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=1");
    stop(&s);
}

/* As srun has accepted them. */
static void lines_are_handed_over_as_they_are(void **state)
{
    const char *top = getenv("SF_TOP_BUILDDIR");
    static struct server_lines lines;
    char path[4096], address[SERVER_ADDRESS_MAX], line[512], secret[65];
    struct server_options o = {.path = path,
                               .secret = secret,
                               .job = 7,
                               .step = 1,
                               .agents = 9,
                               .tasks = 18,
                               .bind = "127.0.0.1",
                               .advertise = "127.0.0.1",
                               .munge = ""};
    struct program s = {.pid = -1};
    int listener, presence, agent, node[9];
    struct impi_presence lost;
    struct errbuf err;

    snprintf(path, sizeof(path), "%s/src/impid/impi-server", top ? top : ".");
    for (int i = 0; i < 32; i++)
        snprintf(secret + 2 * i, 3, "%02x", s.secret[i] = (uint8_t)i);
    memcpy(lines.secret, s.secret, sizeof(lines.secret));
    listener = server_listen(&o, address, &err);
    lines.listener = presence = server_listen(&o, address, &err);
    agent = dial(netaddr_port(listener));
    for (uint32_t i = 0; i < 9; i++)
        node[i] = be_present(&s, netaddr_port(presence), i);
    for (int i = 0; i < 7; i++) /* two stay in the listener */
        assert_true(server_lines_wait(&lines, listener, &lost));
    assert_int_equal(lines.n, 7);
    s.fd = server_spawn(&o, listener, presence, &lines, &err);
    assert_true(s.fd >= 0);
    server_lines_close(&lines);
    close(listener);
    close(presence);
    read_line(&s, line, sizeof(line));
    assert_int_equal(strncmp(line, "ready ", 6), 0);
    for (int i = 0; i < 9; i++)
        hear_wake(node[i]);
    close(node[4]);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "SF-E316: lost slurmstepd on node node4"));
    for (int i = 0; i < 9; i++)
        if (i != 4)
            close(node[i]);
    close(agent);
    close(s.fd);
}

static void strangers_on_the_line_of_idle_nodes_are_nobody(void **state)
{
    struct program s;
    struct player a;
    char line[512], c;
    uint16_t port = start_with_presence(&s, 2);
    int fd;

    s.secret[0] ^= 1;
    fd = be_present(&s, port, 1);
    hear_wake(fd);
    wait_readable(fd);
    assert_true(recv(fd, &c, 1, 0) <= 0);
    close(fd);
    s.secret[0] ^= 1;
    close(dial(port));
    fd = be_present(&s, port, 7); /* there is no such node */
    hear_wake(fd);
    wait_readable(fd);
    assert_true(recv(fd, &c, 1, 0) <= 0);
    close(fd);
    for (uint32_t i = 0; i < 2; i++) {
        join(&s, &a, i, 2);
        bye(&a);
    }
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=0");
    stop(&s);
}

/* A stranger had it started, and the step is over. */
static void server_that_nobody_needed_says_so_when_asked(void **state)
{
    struct program s;
    struct player a;
    char line[512];

    start(&s, 2);
    assert_int_equal(write(s.fd, "", 1), 1);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=0");
    stop(&s);
    start(&s, 2); /* one node came, one never will */
    join(&s, &a, 0, 2);
    assert_int_equal(write(s.fd, "", 1), 1);
    bye(&a);
    read_line(&s, line, sizeof(line));
    assert_string_equal(line, "end code=0");
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_ends_when_srun_goes),
        cmocka_unit_test(server_tells_agents_to_kill_when_srun_dies),
        cmocka_unit_test(bad_start_lines_are_answered_with_error),
        cmocka_unit_test(ports_come_from_the_range),
        cmocka_unit_test(rendezvous_spreads_blobs_in_index_order),
        cmocka_unit_test(strangers_are_dropped_and_harm_nobody),
        cmocka_unit_test(first_abort_is_told_once_and_kills_all),
        cmocka_unit_test(lost_agent_aborts_and_is_named),
        cmocka_unit_test(lost_agent_is_told_with_its_ranks_and_client),
        cmocka_unit_test(agent_that_said_bye_is_not_lost_by_a_write_error),
        cmocka_unit_test(end_carries_the_worst_exit_code),
        cmocka_unit_test(protocol_errors_abort_and_name_the_node),
        cmocka_unit_test(frames_before_job_are_refused),
        cmocka_unit_test(agent_that_does_not_read_blocks_nobody),
        cmocka_unit_test(
            idle_nodes_are_woken_and_not_missed_when_their_agent_came),
        cmocka_unit_test(node_that_goes_without_an_agent_is_missed),
        cmocka_unit_test(node_that_goes_without_a_goodbye_is_lost),
        cmocka_unit_test(lines_are_handed_over_as_they_are),
        cmocka_unit_test(strangers_on_the_line_of_idle_nodes_are_nobody),
        cmocka_unit_test(server_that_nobody_needed_says_so_when_asked),
    };

    return cmocka_run_group_tests_name("impi_server_process", tests, NULL,
                                       NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * The program impi-server: what a step's processes end with: aborts, lost
 * agents, exit codes.
 */
#include <signal.h>

#include "impi_server_process.h"

static void server_tells_agents_to_kill_when_srun_dies(void **state)
{
    struct player a[2];
    struct program s;

    start_joined(&s, a, 2);
    all_are_known(a, 2);
    stop(&s);
    for (int i = 0; i < 2; i++) {
        expect_kill(&a[i], 137);
        leave(&a[i]);
    }
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

    start_joined(&s, a, 2);
    all_are_known(a, 2);
    say(&a[1], &m);
    for (int i = 0; i < 2; i++)
        expect_kill(&a[i], 42);
    m.abort.code = 9;
    say(&a[0], &m); /* a consequence, not a cause */
    bye(&a[0]);
    bye(&a[1]);
    expect_line(&s, "abort code=42 rank=3 node=node1 client=1 "
                    "text=MPI_Abort by rank 3");
    expect_line(&s, "end code=42");
    stop(&s);
}

static void lost_agent_aborts_and_is_named(void **state)
{
    struct player a[2];
    struct program s;

    start_joined(&s, a, 2);
    all_are_known(a, 2);
    leave(&a[1]);
    expect_line(&s, "abort code=1 rank=-1 node=node1 client=-1 lost=1 "
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
    expect_line(&s, "abort code=1 rank=-1 node=node0 client=-1 lost=1 "
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
    int status;

    start_joined(&s, a, 2);
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
    expect_line(&s, "end code=0");
    stop(&s);
}

static void agent_that_said_bye_is_not_lost_by_a_write_error(void **state)
{
    goodbye_before_write_error(true);
    goodbye_before_write_error(false);
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
                 "abort code=1 rank=-1 node=node0 client=-1 lost=1 "
                 "text=SF-E221: lost impid on node node0: protocol error: %s",
                 cases[i].want);
        assert_string_equal(line, want);
        leave(&a);
        stop(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_tells_agents_to_kill_when_srun_dies),
        cmocka_unit_test(first_abort_is_told_once_and_kills_all),
        cmocka_unit_test(lost_agent_aborts_and_is_named),
        cmocka_unit_test(lost_agent_is_told_with_its_ranks_and_client),
        cmocka_unit_test(agent_that_said_bye_is_not_lost_by_a_write_error),
        cmocka_unit_test(protocol_errors_abort_and_name_the_node),
    };

    return cmocka_run_group_tests_name("impi_server_end", tests, NULL, NULL);
}

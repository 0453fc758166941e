/* SPDX-License-Identifier: BSD-3-Clause
 * The program impi-server: its start and end, agents and their frames.
 */
#include "impi_server_process.h"

static void server_ends_when_srun_goes(void **state)
{
    struct program s;

    start(&s, 1);
    stop(&s);
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

    start_joined(&s, a, 3);
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

static unsigned lines_of(int fd)
{
    char text[65536];
    ssize_t len = pread(fd, text, sizeof(text), 0);
    unsigned n = 0;

    for (ssize_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

/* One line, and one more each time that they are ten times as many. */
static void strangers_do_not_fill_the_log(void **state)
{
    FILE *log = tmpfile();
    char junk[200] = "";
    struct program s;

    assert_non_null(log);
    log_of_server = fileno(log);
    start(&s, 1);
    log_of_server = -1;
    for (int i = 0; i < 200; i++) {
        int fd = dial(s.port);

        assert_int_equal(send(fd, junk, sizeof(junk), MSG_NOSIGNAL), 200);
        wait_readable(fd);
        close(fd);
    }
    stop(&s);
    assert_int_equal(lines_of(fileno(log)), 3);
    fclose(log);
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

    start_joined(&s, a, 3);
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

/* A stranger had it started, and the step is over. */
static void server_that_nobody_needed_says_so_when_asked(void **state)
{
    struct program s;
    struct player a;

    start(&s, 2);
    assert_int_equal(write(s.fd, "", 1), 1);
    expect_line(&s, "end code=0");
    stop(&s);
    start(&s, 2); /* one node came, one never will */
    join(&s, &a, 0, 2);
    assert_int_equal(write(s.fd, "", 1), 1);
    bye(&a);
    expect_line(&s, "end code=0");
    stop(&s);
}

/* Whom the user lets in without proof, as often as they like to come. */
static void warnings_of_strangers_come_to_an_end(void **state)
{
    static const char auth[] = "AUTH\0\0\0\4\0\0\0\1";
    enum { CALLS = 100, CLIENTS = 2, MORE = 8 };
    struct program s;
    struct pollfd p;
    char line[1024], answer[8];
    unsigned n = 0;

    start_with(&s, 1, "IMPI_AUTH_NONE=", "ports=0-0 world=2");
    for (int i = 0; i < CALLS; i++) {
        int fd = dial(s.port);

        assert_int_equal(send(fd, auth, sizeof(auth) - 1, 0), 12);
        assert_int_equal(recv(fd, answer, 8, MSG_WAITALL), 8);
        close(fd);
    }
    p = (struct pollfd){.fd = s.fd, .events = POLLIN};
    while (poll(&p, 1, 0) == 1) { /* said before the answers */
        read_line(&s, line, sizeof(line));
        n += strstr(line, "SF-E200: warning: 127.0.0.1:") != NULL;
    }
    assert_int_equal(n, CLIENTS + MORE);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_ends_when_srun_goes),
        cmocka_unit_test(bad_start_lines_are_answered_with_error),
        cmocka_unit_test(ports_come_from_the_range),
        cmocka_unit_test(rendezvous_spreads_blobs_in_index_order),
        cmocka_unit_test(strangers_are_dropped_and_harm_nobody),
        cmocka_unit_test(strangers_do_not_fill_the_log),
        cmocka_unit_test(frames_before_job_are_refused),
        cmocka_unit_test(agent_that_does_not_read_blocks_nobody),
        cmocka_unit_test(warnings_of_strangers_come_to_an_end),
        cmocka_unit_test(server_that_nobody_needed_says_so_when_asked),
    };

    return cmocka_run_group_tests_name("impi_server_process", tests, NULL,
                                       NULL);
}

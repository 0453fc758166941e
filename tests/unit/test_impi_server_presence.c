/* SPDX-License-Identifier: BSD-3-Clause
 * The program impi-server: nodes whose agent has not started.
 */
#include <fcntl.h>

#include "impi_server_process.h"

#include "base/netaddr.h"
#include "impi/presence.h"
#include "impid/server_proc.h"

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
    uint16_t port = start_with_presence(&s, 2);
    int fd = be_present(&s, port, 1);

    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    hear_wake(fd);
    bye(&a[1]);
    assert_int_equal(send(fd, "", 1, 0), 1);
    close(fd);
    bye(&a[0]);
    expect_line(&s, "end code=0");
    stop(&s);
}

/* Its agent has said goodbye, the tasks' ends may never come. */
static void killed_slurmstepd_is_lost_after_its_agent_left(void **state)
{
    struct player a[2];
    struct program s;
    char line[512];
    uint16_t port = start_with_presence(&s, 2);
    int fd = be_present(&s, port, 1);

    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    hear_wake(fd);
    bye(&a[1]);
    close(fd);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "lost=1 text=SF-E316: lost slurmstepd on "
                                 "node node1"));
    expect_kill(&a[0], 1);
    bye(&a[0]);
    expect_line(&s, "end code=1");
    stop(&s);
}

static void killed_slurmstepd_is_lost_when_its_agent_leaves_later(void **state)
{
    struct player a[2];
    struct program s;
    char line[512];
    uint16_t port = start_with_presence(&s, 2);
    int fd = be_present(&s, port, 1), other;

    for (uint32_t i = 0; i < 2; i++)
        join(&s, &a[i], i, 2);
    hear_wake(fd);
    close(fd);
    other = be_present(&s, port, 0); /* so that the end has been seen */
    hear_wake(other);
    bye(&a[1]);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "lost=1 text=SF-E316: lost slurmstepd on "
                                 "node node1"));
    expect_kill(&a[0], 1);
    bye(&a[0]);
    expect_line(&s, "end code=1");
    close(other);
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
    assert_int_equal(send(again, "\5", 1, 0), 1);
    close(again);
    assert_int_equal(send(first, "\5", 1, 0), 1);
    close(first);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "SF-E312: rank 2 on node node1 ended"));
    expect_kill(&a, 5);
    bye(&a);
    expect_line(&s, "end code=5");
    stop(&s);
}

/* A stranger had the server started: nobody has called MPI, and nobody waits.
 * When somebody has, he does. */
static void nobody_is_woken_or_missed_before_an_agent_came(void **state)
{
    struct player a;
    struct program s;
    char line[512];
    uint16_t port = start_with_presence(&s, 2);
    int over = be_present(&s, port, 1), there = be_present(&s, port, 0), none;
    struct pollfd p = {.fd = there, .events = POLLIN};

    none = dial(s.port);
    assert_int_equal(send(over, "", 1, 0), 1);
    close(over);
    s.secret[0] ^= 1; /* by its end the server has seen those before */
    over = be_present(&s, port, 0);
    wait_readable(over);
    assert_true(recv(over, line, 1, 0) <= 0);
    close(over);
    s.secret[0] ^= 1;
    assert_int_equal(poll(&p, 1, 0), 0);
    p.fd = s.fd;
    assert_int_equal(poll(&p, 1, 0), 0);
    join(&s, &a, 0, 2);
    hear_wake(there);
    read_line(&s, line, sizeof(line));
    assert_non_null(strstr(line, "SF-E312: rank 2 on node node1 ended"));
    expect_kill(&a, 1);
    bye(&a);
    expect_line(&s, "end code=1");
    close(there);
    close(none);
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
    expect_line(&s, "end code=1");
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
    for (uint32_t i = 0; i < 7; i++)
        node[i] = be_present(&s, netaddr_port(presence), i);
    assert_true(server_lines_wait(&lines, listener, &lost));
    assert_int_equal(lines.n, 7);
    for (uint32_t i = 7; i < 9; i++) /* they stay in the listener */
        node[i] = be_present(&s, netaddr_port(presence), i);
    s.fd = server_spawn(&o, listener, presence, &lines, &err);
    assert_true(s.fd >= 0);
    server_lines_close(&lines);
    close(listener);
    close(presence);
    read_line(&s, line, sizeof(line));
    assert_int_equal(strncmp(line, "ready ", 6), 0);
    assert_int_equal(open_channel(agent, s.secret, 0), 0);
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
    char c;
    uint16_t port = start_with_presence(&s, 2);
    int fd;

    s.secret[0] ^= 1;
    fd = be_present(&s, port, 1);
    wait_readable(fd);
    assert_true(recv(fd, &c, 1, 0) <= 0);
    close(fd);
    s.secret[0] ^= 1;
    close(dial(port));
    fd = be_present(&s, port, 7); /* there is no such node */
    wait_readable(fd);
    assert_true(recv(fd, &c, 1, 0) <= 0);
    close(fd);
    for (uint32_t i = 0; i < 2; i++) {
        join(&s, &a, i, 2);
        bye(&a);
    }
    expect_line(&s, "end code=0");
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_slurmstepd_is_lost_after_its_agent_left),
        cmocka_unit_test(killed_slurmstepd_is_lost_when_its_agent_leaves_later),
        cmocka_unit_test(
            idle_nodes_are_woken_and_not_missed_when_their_agent_came),
        cmocka_unit_test(node_that_goes_without_an_agent_is_missed),
        cmocka_unit_test(nobody_is_woken_or_missed_before_an_agent_came),
        cmocka_unit_test(node_that_goes_without_a_goodbye_is_lost),
        cmocka_unit_test(lines_are_handed_over_as_they_are),
        cmocka_unit_test(strangers_on_the_line_of_idle_nodes_are_nobody),
    };

    return cmocka_run_group_tests_name("impi_server_presence", tests, NULL,
                                       NULL);
}

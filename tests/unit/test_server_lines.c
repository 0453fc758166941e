/* SPDX-License-Identifier: BSD-3-Clause
 * Lines of nodes in srun, over real connections.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/netaddr.h"
#include "impid/server_lines.h"

static struct server_lines lines;
static int agents;
static uint16_t port, agents_port;

static int listen_here(uint16_t *at)
{
    struct in6_addr loopback;
    int fd;

    netaddr_parse_ip(&loopback, "127.0.0.1");
    fd = netaddr_listen(&loopback, 0, 0, at);
    assert_true(fd >= 0);
    return fd;
}

static int setup(void **state)
{
    memset(&lines, 0, sizeof(lines));
    lines.listener = listen_here(&port);
    agents = listen_here(&agents_port);
    memset(lines.secret, 7, sizeof(lines.secret));
    return 0;
}

static int teardown(void **state)
{
    server_lines_close(&lines);
    if (lines.listener >= 0)
        close(lines.listener);
    close(agents);
    return 0;
}

static int dial(uint16_t at)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(at),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(connect(fd, (void *)&to, sizeof(to)), 0);
    return fd;
}

static int line_of(uint32_t agent)
{
    struct impi_presence who = {.agent = agent, .rank = agent};
    uint8_t text[IMPI_PRESENCE_SIZE];
    int fd = dial(port);

    snprintf(who.node, sizeof(who.node), "n%u", agent);
    impi_presence_encode(text, &who, lines.secret);
    assert_int_equal(send(fd, text, sizeof(text), 0), sizeof(text));
    return fd;
}

static void lost_node_is_named(void **state)
{
    struct impi_presence lost;
    int a = line_of(0), b = line_of(1), c = line_of(2);

    close(b);
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n1");
    /* once */
    close(c);
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n2");
    close(a);
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n0");
    assert_int_equal(lines.n, 3); /* the server is to have them, too */
}

static void goodbye_is_no_loss(void **state)
{
    struct impi_presence lost;
    int a = line_of(0), b = line_of(1), c;

    assert_int_equal(send(a, "", 1, 0), 1);
    close(a);
    close(b);
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n1");
    c = dial(agents_port);
    assert_true(server_lines_wait(&lines, agents, &lost));
    close(c);
}

static void copy_of_what_a_node_said_ends_nothing(void **state)
{
    struct impi_presence lost;
    int node = line_of(3), copy = line_of(3), agent;

    close(copy);
    agent = dial(agents_port);
    for (int i = 0; i < 6; i++)
        assert_true(server_lines_wait(&lines, agents, &lost));
    assert_int_equal(lines.n, 2);
    assert_true(lines.line[0].over || lines.line[1].over);
    close(node);
    while (server_lines_wait(&lines, agents, &lost))
        ;
    assert_string_equal(lost.node, "n3");
    close(agent);
}

static void strangers_are_dropped(void **state)
{
    struct impi_presence lost;
    int silent = dial(port), liar = line_of(0), node;

    lines.secret[0] ^= 1;
    node = line_of(4);
    close(silent);
    close(liar);
    close(node);
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n4");
}

/* Whoever reaches the port took descriptors of srun, and at last the places of
 * the nodes. */
static void strangers_do_not_take_the_places_of_nodes(void **state)
{
    struct impi_presence lost;
    int stranger[200], early, late;

    lines.nodes = 2;
    early = line_of(0);
    for (int i = 0; i < 200; i++)
        stranger[i] = dial(port);
    late = line_of(1);
    close(late);
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n1");
    assert_true(lines.n <= 2 * 2 + SF_IMPI_PENDING_MAX);
    close(early);
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n0");
    for (int i = 0; i < 200; i++)
        close(stranger[i]);
}

static void short_step_does_not_pay(void **state)
{
    struct impi_presence lost;
    int a = line_of(0), b = dial(agents_port);

    close(a);
    lines.rest_ms = 60000;
    assert_true(server_lines_wait(&lines, agents, &lost));
    assert_int_equal(lines.n, 0); /* nothing was accepted */
    close(b);
}

/* server_proc.c moves them down in this order. */
static void lines_stay_in_the_order_of_their_numbers(void **state)
{
    struct impi_presence lost;
    int fd[20], hole[5], b;

    for (int i = 0; i < 5; i++)
        hole[i] = fcntl(agents, F_DUPFD, 10 + 2 * i);
    for (int i = 0; i < 20; i++)
        fd[i] = line_of((uint32_t)i);
    for (int i = 0; i < 5; i++)
        close(hole[i]);
    b = dial(agents_port);
    for (int i = 0; i < 20; i++)
        assert_true(server_lines_wait(&lines, agents, &lost));
    assert_int_equal(lines.n, 20);
    for (size_t i = 0; i < lines.n; i++) {
        assert_true(lines.line[i].fd >= 10);
        assert_true(i == 0 || lines.line[i].fd > lines.line[i - 1].fd);
    }
    for (int i = 0; i < 20; i++)
        close(fd[i]);
    close(b);
}

static void large_step_has_a_line_of_each_node(void **state)
{
    enum { NODES = 3000 };
    struct rlimit r = {0};
    struct impi_presence lost;
    int ready[2], fd = -1;
    pid_t child;

    getrlimit(RLIMIT_NOFILE, &r);
    r.rlim_cur = r.rlim_max;
    if (r.rlim_max < 2 * NODES || setrlimit(RLIMIT_NOFILE, &r) < 0)
        skip();
    lines.nodes = NODES;
    assert_int_equal(pipe(ready), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char c;

        close(ready[1]);
        for (uint32_t i = 0; i < NODES; i++)
            fd = line_of(i);
        close(fd);
        _exit(read(ready[0], &c, 1) != 0); /* the others end with us */
    }
    assert_false(server_lines_wait(&lines, agents, &lost));
    assert_string_equal(lost.node, "n2999");
    assert_int_equal(lines.n, NODES);
    close(ready[0]);
    close(ready[1]);
    waitpid(child, NULL, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(lost_node_is_named),
        TEST(goodbye_is_no_loss),
        TEST(copy_of_what_a_node_said_ends_nothing),
        TEST(strangers_are_dropped),
        TEST(strangers_do_not_take_the_places_of_nodes),
        TEST(short_step_does_not_pay),
        TEST(lines_stay_in_the_order_of_their_numbers),
        TEST(large_step_has_a_line_of_each_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * The program impi-server: an IMPI server for each generation.
 */
#include "impi_server_process.h"

#include <sys/wait.h>

#define NOBODY 65534

static unsigned ask_world(struct player *p, uint32_t generation,
                          uint32_t nclients)
{
    struct agent_msg m = {.type = AGENT_WORLD, .world = {generation, nclients}};

    say(p, &m);
    assert_true(hear(p, &m));
    if (m.type == AGENT_ERROR) {
        assert_string_equal(m.text, "SF-E207: 33 clients: IMPI allows 1 to 32");
        return 0;
    }
    assert_int_equal(m.type, AGENT_WORLD_AT);
    assert_int_equal(m.world_at.generation, generation);
    return m.world_at.port;
}

static struct impi_join *make_join(uint32_t client, uint32_t nclients,
                                   struct impi_auth_method *key)
{
    static const uint8_t ipv4[4] = {127, 0, 0, 1};
    struct impi_join_host host = {.nprocs = 1};
    struct impi_join_proc proc = {.pid = 100 + client, .rank = client};
    struct impi_join_options o;
    struct impi_join *j;

    *key = impi_auth_key(5678);
    impi_hostid_set_ipv4(host.addr, ipv4);
    memcpy(proc.hostid, host.addr, 16);
    impi_join_defaults(&o);
    o.client = client;
    o.nclients = nclients;
    o.methods = key;
    o.nmethods = 1;
    o.hosts = &host;
    o.nhosts = 1;
    o.procs = &proc;
    o.nprocs = 1;
    j = impi_join_create(&o, NULL);
    assert_non_null(j);
    return j;
}

static void join_flush(struct impi_join *j, int fd)
{
    const uint8_t *data;
    size_t n = impi_join_output(j, &data);

    if (n == 0)
        return;
    assert_int_equal(send(fd, data, n, MSG_NOSIGNAL), n);
    impi_join_sent(j, n);
}

static void join_read(struct impi_join *j, int fd)
{
    struct errbuf err;
    uint8_t buf[4096];
    ssize_t n = recv(fd, buf, sizeof(buf), 0);

    assert_true(n > 0);
    assert_int_equal(impi_join_input(j, buf, (size_t)n, &err), 0);
    join_flush(j, fd);
}

/* Both clients, until both are done. */
static void drive(struct impi_join **j, const int *fd)
{
    struct pollfd p[2] = {{.fd = fd[0], .events = POLLIN},
                          {.fd = fd[1], .events = POLLIN}};

    join_flush(j[0], fd[0]);
    join_flush(j[1], fd[1]);
    while (!impi_join_done(j[0]) || !impi_join_done(j[1])) {
        assert_true(poll(p, 2, PATIENCE_MS) > 0);
        for (int i = 0; i < 2; i++)
            if (p[i].revents)
                join_read(j[i], fd[i]);
    }
}

static void two_generations_join_over_tcp(void **state)
{
    struct impi_auth_method key;
    struct player a[2];
    struct program s;

    start_joined(&s, a, 2);
    assert_int_equal(ask_world(&a[0], 9, 33), 0);
    for (uint32_t g = 0; g < 2; g++) {
        unsigned port = ask_world(&a[0], g, 2);
        struct impi_join *j[2];
        uint8_t byte;
        int fd[2];

        assert_int_equal(ask_world(&a[1], g, 2), port);
        for (uint32_t c = 0; c < 2; c++) {
            j[c] = make_join(c, 2, &key);
            fd[c] = dial(port);
        }
        drive(j, fd);
        for (int c = 0; c < 2; c++) {
            struct impi_world w;

            impi_join_take_world(j[c], &w);
            assert_int_equal(w.nprocs, 2);
            assert_true(w.flags & IMPI_WORLD_EXTENDED);
            impi_world_free(&w);
            impi_join_fini(j[c]);
            join_flush(j[c], fd[c]);
            wait_readable(fd[c]);
            assert_int_equal(recv(fd[c], &byte, 1, 0), 0);
            close(fd[c]);
            impi_join_destroy(j[c]);
        }
    }
    bye(&a[0]);
    bye(&a[1]);
    expect_line(&s, "end code=0");
    stop(&s);
}

static void client_lost_before_fini_aborts(void **state)
{
    struct impi_auth_method key;
    struct impi_join *j[2];
    struct player a;
    struct program s;
    char line[1024];
    unsigned port;
    int fd[2];

    start(&s, 1);
    join(&s, &a, 0, 1);
    port = ask_world(&a, 0, 2);
    for (uint32_t c = 0; c < 2; c++) {
        j[c] = make_join(c, 2, &key);
        fd[c] = dial(port);
    }
    drive(j, fd);
    close(fd[1]);
    read_line(&s, line, sizeof(line));
    assert_memory_equal(line,
                        "abort code=1 rank=-1 node=- client=1 text="
                        "SF-E205: client 1 (127.0.0.1:",
                        66);
    expect_kill(&a, 1);
    leave(&a);
    close(fd[0]);
    impi_join_destroy(j[0]);
    impi_join_destroy(j[1]);
    stop(&s);
}

static void wrong_key_over_tcp(void **state)
{
    struct impi_auth_method key;
    struct impi_join *j;
    struct errbuf err;
    struct player a;
    struct program s;
    uint8_t buf[64];
    ssize_t n = 1;
    int fd;

    start(&s, 1);
    join(&s, &a, 0, 1);
    j = make_join(0, 1, &key);
    key = impi_auth_key(1234);
    fd = dial(ask_world(&a, 0, 1));
    while (n > 0) {
        join_flush(j, fd);
        wait_readable(fd);
        n = recv(fd, buf, sizeof(buf), 0);
        if (n > 0)
            assert_int_equal(impi_join_input(j, buf, (size_t)n, &err), 0);
    }
    assert_int_equal(impi_join_eof(j, &err), -1);
    assert_string_equal(err.text, "SF-E210: Server disconnected (wrong "
                                  "authentication key?)");
    close(fd);
    impi_join_destroy(j);
    bye(&a);
    stop(&s);
}

/* As another user, hold silent connections; a byte to `told` once more of them
 * were sent away than there are places.  Ends with its parent's end of
 * `told`. */
static void flood(unsigned port, int told)
{
    int fd[3 * SF_IMPI_PENDING_MAX];
    char byte;

    if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
        _exit(1);
    for (size_t i = 0; i < 3 * SF_IMPI_PENDING_MAX; i++)
        fd[i] = dial(port);
    for (size_t gone = 0; gone <= SF_IMPI_PENDING_MAX; gone++) {
        wait_readable(fd[gone]);
        if (recv(fd[gone], &byte, 1, 0) > 0)
            _exit(1);
    }
    _exit(send(told, "", 1, 0) == 1 && recv(told, &byte, 1, 0) == 0 ? 0 : 1);
}

static void strangers_go_before_clients_that_came_first(void **state)
{
    struct impi_auth_method key;
    struct impi_join *j[2];
    struct player a[2];
    struct program s;
    int fd[2], told[2], status;
    unsigned port;
    char byte;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    start_joined(&s, a, 2);
    port = ask_world(&a[0], 0, 2);
    for (uint32_t c = 0; c < 2; c++) {
        j[c] = make_join(c, 2, &key);
        fd[c] = dial(port);
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, told), 0);
    pid = fork();
    if (pid == 0) {
        close(told[0]);
        flood(port, told[1]);
    }
    close(told[1]);
    assert_int_equal(recv(told[0], &byte, 1, 0), 1);
    drive(j, fd);
    close(told[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    for (int c = 0; c < 2; c++) {
        impi_join_fini(j[c]);
        join_flush(j[c], fd[c]);
        wait_readable(fd[c]);
        close(fd[c]);
        impi_join_destroy(j[c]);
    }
    bye(&a[0]);
    bye(&a[1]);
    stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_generations_join_over_tcp),
        cmocka_unit_test(client_lost_before_fini_aborts),
        cmocka_unit_test(wrong_key_over_tcp),
        cmocka_unit_test(strangers_go_before_clients_that_came_first),
    };

    return cmocka_run_group_tests_name("impi_server_worlds", tests, NULL, NULL);
}

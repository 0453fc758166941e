/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of the back ends that know nothing of MPI: the process's end of
 * its connection to impid, and socket addresses.  The answers lie ready in
 * the socket before they are asked for, so nothing here waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/fd_pass.h"
#include "libimpi/agent.h"
#include "impi/hostaddr.h"
#include "libimpi/tolerate.h"

/* ---- a kernel that takes a part ---- */

static size_t part; /* of the next frame; 0: all of each */

/* The rest is taken from who waits for room only. */
ssize_t send(int fd, const void *buf, size_t len, int flags)
{
    static bool rest;

    if (rest && (flags & MSG_DONTWAIT)) {
        errno = EAGAIN;
        return -1;
    }
    rest = part > 0 && part < len;
    len = rest ? part : len;
    part = 0;
    return sendto(fd, buf, len, flags, NULL, 0);
}

/* ---- a socket with an impid behind it ---- */

struct fixture {
    char dir[64];
    char path[96];
    int listener;
    int peer;
    struct agent_conn agent;
};

static void set_up(struct fixture *f)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    struct errbuf err;

    strcpy(f->dir, "/tmp/test_libimpi.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof(f->path), "%s/agent", f->dir);
    strcpy(sun.sun_path, f->path);
    f->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&sun, sizeof(sun)),
                     0);
    assert_int_equal(listen(f->listener, 1), 0);
    assert_int_equal(agent_connect(&f->agent, f->path, &err), 0);
    f->peer = accept(f->listener, NULL, NULL);
    assert_true(f->peer >= 0);
}

static void tear_down(struct fixture *f)
{
    agent_close(&f->agent);
    close(f->peer);
    close(f->listener);
    unlink(f->path);
    rmdir(f->dir);
}

static void answer(struct fixture *f, const void *buf, ssize_t len)
{
    assert_true(len > 0);
    assert_int_equal(write(f->peer, buf, (size_t)len), len);
}

static void send_env_with_fd(struct fixture *f, int fd)
{
    char *vars[] = {"A=1", "B=two words", NULL};
    struct task_env e = {.nclients = 3,
                         .client = 1,
                         .native_size = 2,
                         .world_size = 5,
                         .nenv = 2,
                         .env = vars};
    uint8_t buf[1024];
    ssize_t len = task_env_encode(buf, sizeof(buf), &e);

    assert_int_equal(fd_pass_send(f->peer, buf, (size_t)len, &fd, 1, 0), len);
}

static const struct task_hello hello = {
    .version = TASK_WIRE_VERSION, .family = TASK_FAMILY_MPICH, .rank = 4};

static void hello_gets_environment_and_descriptor(void **state)
{
    struct fixture f;
    struct task_env env;
    struct task_hello seen;
    struct task_frame frame;
    struct errbuf err;
    uint8_t buf[2048];
    int pipefd[2], fd = -1;
    ssize_t n;

    set_up(&f);
    assert_int_equal(pipe(pipefd), 0);
    send_env_with_fd(&f, pipefd[1]);
    assert_int_equal(agent_hello(&f.agent, &hello, &env, &fd, &err), 0);
    assert_int_equal(env.nclients, 3);
    assert_string_equal(env.env[1], "B=two words");
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x", 1), 1);
    assert_int_equal(read(pipefd[0], buf, 1), 1);
    n = read(f.peer, buf, sizeof(buf));
    assert_int_equal(
        task_frame_parse(&frame, buf, (size_t)n, SF_TASK_REQUEST_MAX), n);
    assert_int_equal(task_hello_decode(&seen, frame.payload, frame.len), 0);
    assert_int_equal(seen.rank, 4);
    task_env_clear(&env);
    close(fd);
    close(pipefd[0]);
    close(pipefd[1]);
    tear_down(&f);
}

static int try_hello(struct fixture *f, struct errbuf *err)
{
    struct task_env env;
    int fd;

    return agent_hello(&f->agent, &hello, &env, &fd, err);
}

static void refusal_is_passed_on_in_impids_words(void **state)
{
    struct fixture f;
    struct errbuf err;
    uint8_t buf[256];

    set_up(&f);
    answer(&f, buf, task_error_encode(buf, sizeof(buf), "too many clients"));
    assert_int_equal(try_hello(&f, &err), -1);
    assert_string_equal(err.text, "too many clients");
    tear_down(&f);
}

static void wrong_or_broken_answers_are_errors(void **state)
{
    static const uint8_t huge[8] = {0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff};
    static const uint8_t cut[12] = {0, 0, 0, 2, 0, 0, 0, 4, 1, 2, 3, 4};
    struct fixture f;
    struct errbuf err;
    uint8_t buf[64];

    set_up(&f);
    answer(&f, buf,
           task_frame_encode(buf, sizeof(buf), TASK_FINISHED, NULL, 0));
    assert_int_equal(try_hello(&f, &err), -1);
    tear_down(&f);
    set_up(&f);
    answer(&f, huge, sizeof(huge));
    assert_int_equal(try_hello(&f, &err), -1);
    assert_string_equal(err.text, "impid sent nonsense");
    tear_down(&f);
    set_up(&f);
    answer(&f, cut, sizeof(cut));
    assert_int_equal(try_hello(&f, &err), -1);
    tear_down(&f);
}

static void lost_impid_is_an_error_not_a_wait(void **state)
{
    struct fixture f;
    struct errbuf err;
    struct agent_conn a;

    set_up(&f);
    shutdown(f.peer, SHUT_WR);
    assert_int_equal(try_hello(&f, &err), -1);
    assert_string_equal(err.text, "impid closed the connection");
    tear_down(&f);
    assert_int_equal(agent_connect(&a, "/nonexistent/agent", &err), -1);
    assert_int_equal(a.fd, -1);
    agent_abort(&a, 1, "nobody hears it");
}

static struct fixture *joining;
static int calls;

/* Impid's answers, as long as those of others wait for what this does. */
static void help_others(void)
{
    struct impi_world w = {.nclients = 1,
                           .nhosts = 1,
                           .nprocs = 1,
                           .ackmark = 1,
                           .hiwater = 1,
                           .maxdatalen = 1,
                           .tagub = SF_IMPI_TAGUB_MIN};
    uint8_t head[IMPI_WORLD_HEAD_SIZE], buf[TASK_HEADER_SIZE + sizeof(head)];
    int fd = joining->listener; /* any descriptor */
    ssize_t n;

    calls++;
    impi_world_encode_head(&w, head);
    if (calls == 2)
        n = task_frame_encode(buf, sizeof(buf), TASK_RELAY, NULL, 0);
    else if (calls == 4)
        n = task_frame_encode(buf, sizeof(buf), TASK_WORLD, head, sizeof(head));
    else
        return;
    assert_int_equal(fd_pass_send(joining->peer, buf, (size_t)n, &fd, 1, 0), n);
}

/* An MPICH over libfabric sends what others in MPI_Init wait for only when it
 * is called again. */
static void the_library_is_called_until_the_world_is_here(void **state)
{
    struct task_join join = {.pid = 1};
    struct impi_world world;
    struct fixture f;
    struct errbuf err;
    int relay, table;

    set_up(&f);
    joining = &f;
    calls = 0;
    assert_int_equal(
        agent_join(&f.agent, &join, help_others, &world, &relay, &table, &err),
        0);
    assert_int_equal(calls, 4);
    assert_int_equal(world.nclients, 1);
    assert_true(relay >= 0 && table >= 0);
    close(relay);
    close(table);
    tear_down(&f);
}

static void send_frame_with(struct fixture *f, uint32_t type, int fd)
{
    uint8_t buf[TASK_HEADER_SIZE];
    ssize_t n = task_frame_encode(buf, sizeof(buf), type, NULL, 0);

    assert_int_equal(fd_pass_send(f->peer, buf, (size_t)n, &fd, fd >= 0, 0), n);
}

/* Or it is refused, or impid is gone, which is no matter. */
static void claimed_memory_comes_with_its_answer(void **state)
{
    struct task_claim c = {.kind = MEMORY_AREA, .pid = 7, .fd = 8}, seen;
    struct task_frame frame;
    struct fixture f;
    uint8_t buf[256];
    int fd;
    ssize_t n;

    set_up(&f);
    send_frame_with(&f, TASK_SPAWNED, -1); /* of something else */
    send_frame_with(&f, TASK_CLAIMED, f.listener);
    fd = agent_claim(&f.agent, &c);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    n = read(f.peer, buf, sizeof(buf));
    assert_int_equal(
        task_frame_parse(&frame, buf, (size_t)n, SF_TASK_REQUEST_MAX), n);
    assert_int_equal(task_claim_decode(&seen, frame.payload, frame.len), 0);
    assert_int_equal(seen.pid, 7);
    send_frame_with(&f, TASK_CLAIMED, -1);
    assert_int_equal(agent_claim(&f.agent, &c), -1);
    send_frame_with(&f, TASK_FINISHED, f.listener); /* not what was asked */
    assert_int_equal(agent_claim(&f.agent, &c), -1);
    close(f.peer);
    f.peer = -1;
    assert_int_equal(agent_claim(&f.agent, &c), -1);
    tear_down(&f);
}

static void finish_waits_for_its_answer(void **state)
{
    struct fixture f;
    struct errbuf err;
    uint8_t buf[64];

    set_up(&f);
    answer(&f, buf,
           task_frame_encode(buf, sizeof(buf), TASK_FINISHED, NULL, 0));
    assert_int_equal(agent_finish(&f.agent, &err), 0);
    tear_down(&f);
}

/* ---- addresses ---- */

/* impid takes what follows half a frame for its other half. */
static void a_frame_that_has_begun_is_sent_whole(void **state)
{
    uint8_t whole[64], heard[sizeof(whole)];
    struct task_stage stage = {.stage = 1};
    ssize_t len = task_stage_encode(whole, sizeof(whole), &stage);
    struct fixture f;

    set_up(&f);
    part = 3;
    agent_stage(&f.agent, stage.stage);
    assert_int_equal(recv(f.peer, heard, sizeof(heard), MSG_DONTWAIT), len);
    assert_memory_equal(heard, whole, (size_t)len);
    tear_down(&f);
}

static void addresses_are_of_the_internet(void **state)
{
    static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, 10, 1, 2, 3};
    static const uint8_t compatible[16] = {[12] = 10, 1, 2, 3};
    static const uint8_t six[16] = {0xfe, 0x80, [15] = 1};
    struct netaddr a = impi_hostaddr(mapped, 4711);
    char text[NETADDR_TEXT_MAX];
    uint8_t id[16];

    netaddr_print(text, &a);
    assert_string_equal(text, "10.1.2.3:4711");
    impi_hostaddr_put(id, &a.ip);
    assert_memory_equal(id, compatible, sizeof(id));
    a = impi_hostaddr(compatible, 1);
    netaddr_print(text, &a);
    assert_string_equal(text, "10.1.2.3:1");
    a = impi_hostaddr(six, 65535);
    netaddr_print(text, &a);
    assert_string_equal(text, "[fe80::1]:65535");
    impi_hostaddr_put(id, &a.ip);
    assert_memory_equal(id, six, sizeof(id));
}

/* ---- habits of peers ---- */

static void list_of_habits_to_tolerate(void **state)
{
    struct tolerated t;
    struct errbuf err;

    assert_int_equal(tolerate_parse(&t, NULL, &err), 0);
    assert_false(t.long8 || t.native_order || t.reduce_p2p);
    assert_int_equal(tolerate_parse(&t, " long8,, reduce-p2p ", &err), 0);
    assert_true(t.long8 && t.reduce_p2p && !t.native_order);
    assert_int_equal(tolerate_parse(&t, "linear-below", &err), 0);
    assert_true(t.linear_below && !t.long8);
    assert_int_equal(tolerate_parse(&t, "native-order", &err), 0);
    assert_true(t.native_order && !t.long8 && !t.reduce_p2p);
    assert_int_equal(tolerate_parse(&t, "long8 long", &err), -1);
    assert_non_null(strstr(err.text, "unknown word 'long';"));
    assert_int_equal(tolerate_parse(&t, "long88", &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_gets_environment_and_descriptor),
        cmocka_unit_test(refusal_is_passed_on_in_impids_words),
        cmocka_unit_test(wrong_or_broken_answers_are_errors),
        cmocka_unit_test(lost_impid_is_an_error_not_a_wait),
        cmocka_unit_test(the_library_is_called_until_the_world_is_here),
        cmocka_unit_test(claimed_memory_comes_with_its_answer),
        cmocka_unit_test(finish_waits_for_its_answer),
        cmocka_unit_test(a_frame_that_has_begun_is_sent_whole),
        cmocka_unit_test(addresses_are_of_the_internet),
        cmocka_unit_test(list_of_habits_to_tolerate),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

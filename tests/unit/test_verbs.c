/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Events of RDMA devices: from a device that is a pair of sockets, opened by a
 * hook; which devices are listened to, by a tree such as sysfs has.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "many_fds.h"
#include "nicd/verbs.h"

/* What the kernel calls them (enum ib_event_type). */
#define QP_FATAL 1
#define DEVICE_FATAL 8
#define PORT_ACTIVE 9
#define PORT_ERR 10

struct event {
    uint64_t element;
    uint32_t type, reserved;
};

/* The world of one device: who opens it, and what it is behind. */
struct world {
    struct ev_loop *loop;
    struct verbs *verbs;
    bool cannot;           /* the program cannot be started */
    unsigned opened, told; /* times */
    int answers;           /* the other end of the last socket */
    int device, events;    /* of what was handed over */
    char text[VERBS_EVENT_TEXT];
};

static const struct sysfs_rdma mlx = {"mlx5_0", "uverbs0"};

static int open_it(const char *device, void *arg)
{
    struct world *w = arg;
    int pair[2];

    assert_string_equal(device, "mlx5_0");
    w->opened++;
    if (w->cannot) {
        errno = ENOENT;
        return -1;
    }
    assert_return_code(socketpair(AF_UNIX,
                                  SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                  0, pair),
                       errno);
    w->answers = pair[1];
    return pair[0];
}

static void told(const char *device, const char *what, void *arg)
{
    struct world *w = arg;

    assert_string_equal(device, "mlx5_0");
    w->told++;
    snprintf(w->text, sizeof(w->text), "%s", what);
}

static int up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct verbs_options o = {.open = open_it, .event = told, .arg = w};

    assert_non_null(w);
    w->loop = o.loop = ev_loop_new(EVFLAG_AUTO);
    w->verbs = verbs_new(&o);
    assert_non_null(w->verbs);
    w->answers = w->device = w->events = -1;
    *state = w;
    return 0;
}

static void put_away(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int down(void **state)
{
    struct world *w = *state;

    verbs_free(w->verbs);
    ev_loop_destroy(w->loop);
    put_away(&w->answers);
    put_away(&w->device);
    put_away(&w->events);
    free(w);
    return 0;
}

static void turn(struct world *w)
{
    ev_run(w->loop, EVRUN_NOWAIT);
}

static void send_answer(int to, const char *text, const int *fds, size_t n)
{
    assert_return_code(send_many_fds(to, text, strlen(text) + 1, fds, n),
                       errno);
}

/* The program answers with both descriptors; their other ends stay here. */
static void answer(struct world *w)
{
    int device[2], events[2];

    put_away(&w->device);
    put_away(&w->events);
    assert_return_code(pipe2(device, O_CLOEXEC), errno);
    assert_return_code(socketpair(AF_UNIX,
                                  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                                  events),
                       errno);
    send_answer(w->answers, "", (int[]){device[0], events[0]}, 2);
    close(device[0]);
    close(events[0]);
    w->device = device[1];
    w->events = events[1];
    put_away(&w->answers);
    turn(w);
}

static void refuse(struct world *w, const char *why)
{
    send_answer(w->answers, why, NULL, 0);
    put_away(&w->answers);
    turn(w);
}

static void happens(struct world *w, uint32_t type, uint64_t element)
{
    struct event e = {element, type, 0};

    assert_int_equal(write(w->events, &e, sizeof(e)), sizeof(e));
    turn(w);
}

static void lists(struct world *w, unsigned times)
{
    while (times-- > 0)
        verbs_devices(w->verbs, &mlx, 1);
}

/* Is there nobody who would read? */
static bool is_closed(int fd)
{
    return write(fd, "", 1) < 0 && errno == EPIPE;
}

static void an_event_of_a_port_is_told_at_once(void **state)
{
    struct world *w = *state;

    lists(w, 1);
    answer(w);
    assert_int_equal(w->told, 0);
    happens(w, PORT_ERR, 1);
    assert_int_equal(w->told, 1);
    assert_string_equal(w->text, "port 1: error");
    verbs_listen(w->verbs);
    happens(w, PORT_ACTIVE, 2);
    assert_string_equal(w->text, "port 2: active");
    verbs_listen(w->verbs);
    happens(w, DEVICE_FATAL, 0);
    assert_string_equal(w->text, "fatal error");
    assert_int_equal(w->told, 3);
    lists(w, 100);
    assert_int_equal(w->opened, 1);
}

/* Of queues, and of types that are not known yet. */
static void other_events_are_nothing(void **state)
{
    struct world *w = *state;

    lists(w, 1);
    answer(w);
    happens(w, QP_FATAL, 1);
    happens(w, 4711, 1);
    assert_int_equal(w->told, 0);
    happens(w, PORT_ERR, 1);
    assert_int_equal(w->told, 1);
}

static void a_storm_of_events_is_one_until_it_is_looked_at(void **state)
{
    struct world *w = *state;

    lists(w, 1);
    answer(w);
    for (int i = 0; i < 100; i++)
        happens(w, PORT_ERR, 1);
    assert_int_equal(w->told, 1);
    verbs_listen(w->verbs);
    turn(w);
    assert_int_equal(w->told, 2);
}

/* With an unloaded driver reads fail or end. */
static void a_device_taken_away_is_told_and_opened_again(void **state)
{
    struct world *w = *state;

    lists(w, 10);
    answer(w);
    put_away(&w->events);
    turn(w);
    assert_int_equal(w->told, 1);
    assert_true(is_closed(w->device));
    lists(w, 1);
    assert_int_equal(w->opened, 2);
    answer(w);
    happens(w, PORT_ACTIVE, 1);
    assert_int_equal(w->told, 2);
}

/* Nor does one that comes and goes cost a process each time. */
static void who_refuses_is_asked_more_and_more_rarely(void **state)
{
    struct world *w = *state;

    lists(w, 1);
    for (unsigned wait = 1; wait < 512; wait *= 2) {
        unsigned before = w->opened;

        if (wait % 3 == 0) {
            refuse(w, "Permission denied");
        } else {
            answer(w);
            put_away(&w->events);
            turn(w);
        }
        lists(w, wait - 1);
        assert_int_equal(w->opened, before);
        lists(w, 1);
        assert_int_equal(w->opened, before + 1);
    }
    refuse(w, "Permission denied");
    lists(w, 100000);
    answer(w);
    happens(w, PORT_ERR, 1);
    assert_string_equal(w->text, "port 1: error");
}

static void without_the_program_nothing_is_heard(void **state)
{
    struct world *w = *state;

    w->cannot = true;
    lists(w, 2);
    assert_int_equal(w->opened, 2);
    turn(w);
    verbs_listen(w->verbs);
    w->cannot = false;
    lists(w, 2);
    answer(w);
    happens(w, PORT_ERR, 1);
    assert_int_equal(w->told, 1);
}

static void a_program_that_ends_or_hangs_holds_up_nothing(void **state)
{
    struct world *w = *state;

    lists(w, 100);
    assert_int_equal(w->opened, 1); /* hangs */
    put_away(&w->answers);          /* ends */
    turn(w);
    lists(w, 1);
    assert_int_equal(w->opened, 2);
}

static void a_wrong_answer_leaves_no_descriptors(void **state)
{
    struct world *w = *state;
    unsigned before = count_fds();
    int some[2];

    assert_return_code(pipe2(some, O_CLOEXEC), errno);
    for (size_t n = 0; n < 2; n++) {
        lists(w, 1 + (unsigned)n);
        send_answer(w->answers, "\001\377 no", some, n);
        put_away(&w->answers);
        turn(w);
    }
    close(some[0]);
    close(some[1]);
    assert_int_equal(count_fds(), before);
    assert_int_equal(w->opened, 2);
}

static void more_descriptors_than_two_are_closed(void **state)
{
    struct world *w = *state;
    unsigned before;
    int some[2], all[MANY_FDS];

    assert_return_code(pipe2(some, O_CLOEXEC | O_NONBLOCK), errno);
    for (int i = 0; i < MANY_FDS; i++)
        all[i] = some[0];
    before = count_fds();
    lists(w, 1);
    send_answer(w->answers, "", all, MANY_FDS);
    put_away(&w->answers);
    turn(w);
    assert_in_range(count_fds(), before, before + 2);
    verbs_devices(w->verbs, NULL, 0);
    assert_int_equal(count_fds(), before);
    close(some[0]);
    close(some[1]);
}

static void who_is_gone_is_closed(void **state)
{
    struct world *w = *state;

    lists(w, 1);
    answer(w);
    verbs_devices(w->verbs, NULL, 0);
    assert_true(is_closed(w->device));
    assert_true(is_closed(w->events));
    lists(w, 1);
    assert_int_equal(w->opened, 2);
}

static void bytes_behind_the_last_event_are_none(void **state)
{
    char text[VERBS_EVENT_TEXT] = "as it was";
    struct event e[2] = {{1, PORT_ERR, 0}, {2, PORT_ERR, 0}};

    (void)state;
    for (size_t len = 0; len < 16; len++)
        assert_false(verbs_event_text(text, e, len));
    assert_string_equal(text, "as it was");
    assert_true(verbs_event_text(text, e, 31));
    assert_string_equal(text, "port 1: error");
    assert_true(verbs_event_text(text, e, 32));
    assert_string_equal(text, "port 2: error");
    e[1].element = UINT64_MAX;
    assert_true(verbs_event_text(text, e, 32));
    assert_string_equal(text, "port 4294967295: error");
}

/* ---- which devices ------------------------------------------------------- */

static void put(const char *dir, const char *path, const char *text)
{
    char full[256], *slash;
    FILE *f;

    snprintf(full, sizeof(full), "%s/%s", dir, path);
    for (slash = full + strlen(dir) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void put_device(const char *dir, const char *device, unsigned number,
                       const char *driver)
{
    char path[200], to[80];

    snprintf(path, sizeof(path), "sys/class/infiniband/%s/ports/1/state",
             device);
    put(dir, path, "4: ACTIVE\n");
    snprintf(path, sizeof(path), "sys/class/infiniband_verbs/uverbs%u/ibdev",
             number);
    put(dir, path, device);
    snprintf(path, sizeof(path), "dev/infiniband/uverbs%u", number);
    put(dir, path, "");
    if (!driver)
        return;
    snprintf(path, sizeof(path), "sys/class/infiniband/%s/device/vendor",
             device);
    put(dir, path, "0x15b3\n");
    snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/device/driver",
             dir, device);
    snprintf(to, sizeof(to), "../../../../bus/pci/drivers/%s", driver);
    assert_return_code(symlink(to, path), errno);
}

/* The names of the devices that are listened to. */
static void listened_to(const char *dir, const char *drivers,
                        const char *expect)
{
    struct sysfs_options o = {
        .root = dir, .ignore = "mlx5_9", .drivers = drivers};
    static struct nic_port ports[SF_NIC_PORTS_MAX];
    const struct sysfs_rdma *rdma;
    char names[200] = "";
    struct errbuf err;
    struct sysfs *s = sysfs_open(&o, &err);
    size_t n = 0;

    assert_non_null(s);
    assert_null(sysfs_rdma(s, &n));
    sysfs_look(s, ports);
    rdma = sysfs_rdma(s, &n);
    assert_non_null(rdma);
    for (size_t i = 0; i < n; i++) {
        strcat(strcat(names, i ? " " : ""), rdma[i].device);
        strcat(strcat(names, ":"), rdma[i].verbs);
    }
    assert_string_equal(names, expect);
    assert_null(sysfs_rdma(s, &n));
    for (unsigned i = 0; i < SYSFS_LIST; i++)
        sysfs_look(s, ports);
    assert_non_null(sysfs_rdma(s, &n));
    sysfs_close(s);
}

/* A driver that keeps its contexts could not be unloaded while one is open. */
static void devices_of_named_drivers_are_listened_to(void **state)
{
    char dir[] = "/tmp/verbsXXXXXX", command[80];

    (void)state;
    assert_non_null(mkdtemp(dir));
    put_device(dir, "efa_0", 3, "efa");
    put_device(dir, "mlx5_0", 7, "mlx5_core");
    put_device(dir, "mlx5_9", 8, "mlx5_core"); /* is not watched */
    put_device(dir, "rxe0", 1, NULL);
    listened_to(dir, "mlx4_core,mlx5_core", "mlx5_0:uverbs7");
    listened_to(dir, "*", "efa_0:uverbs3 mlx5_0:uverbs7 rxe0:uverbs1");
    listened_to(dir, "virtual", "rxe0:uverbs1");
    listened_to(dir, "none", "");
    snprintf(command, sizeof(command), "rm -r '%s'", dir);
    assert_int_equal(system(command), 0);
}

#define WITH_DEVICE(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_DEVICE(an_event_of_a_port_is_told_at_once),
        WITH_DEVICE(other_events_are_nothing),
        WITH_DEVICE(a_storm_of_events_is_one_until_it_is_looked_at),
        WITH_DEVICE(a_device_taken_away_is_told_and_opened_again),
        WITH_DEVICE(who_refuses_is_asked_more_and_more_rarely),
        WITH_DEVICE(without_the_program_nothing_is_heard),
        WITH_DEVICE(a_program_that_ends_or_hangs_holds_up_nothing),
        WITH_DEVICE(a_wrong_answer_leaves_no_descriptors),
        WITH_DEVICE(more_descriptors_than_two_are_closed),
        WITH_DEVICE(who_is_gone_is_closed),
        cmocka_unit_test(bytes_behind_the_last_event_are_none),
        cmocka_unit_test(devices_of_named_drivers_are_listened_to),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

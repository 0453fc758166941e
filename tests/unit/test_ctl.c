/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Control sockets: a server in a child process, clients here.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <ev.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ctl_priv.h"
#include "base/jsonx.h"
#include "base/limits.h"

#define NOBODY 65534

struct fixture {
    char dir[64], path[96];
    pid_t child;
    struct ev_loop *loop; /* runs in the child */
    struct ctl_server *server;
};

static int say_status(const struct ctl_request *q, struct errbuf *err)
{
    jsonx_add_int(q->out, "uid", q->peer->uid);
    jsonx_add_str(q->out, "state", q->arg);
    return 0;
}

static int do_change(const struct ctl_request *q, struct errbuf *err)
{
    int64_t to;

    if (!jsonx_int(q->in, "to", 0, 9, &to))
        return errprintf(err, "\"to\" must be 0 to 9");
    jsonx_add_int(q->out, "changed", to);
    return 0;
}

static int say_much(const struct ctl_request *q, struct errbuf *err)
{
    char *text = malloc(8000001);

    memset(text, 'x', 8000000);
    text[8000000] = '\0';
    jsonx_add_str(q->out, "text", text);
    free(text);
    return 0;
}

/* A verb whose answer waits for another verb. */
static struct {
    struct ctl_later *later;
    struct json_object *out;
} waits;

static int wait_for_other(const struct ctl_request *q, struct errbuf *err)
{
    bool fail = false;

    if (waits.later)
        return errprintf(err, "one waits already");
    waits.later = ctl_later_new(q, &waits.out);
    jsonx_bool(q->in, "fail", &fail);
    if (!fail)
        return 0;
    ctl_later_cancel(waits.later);
    waits.later = NULL;
    return errprintf(err, "it could not begin");
}

static int end_other(const struct ctl_request *q, struct errbuf *err)
{
    struct ctl_later *later = waits.later;
    bool fail = false;

    if (!later)
        return errprintf(err, "nobody waits");
    jsonx_bool(q->in, "fail", &fail);
    jsonx_add_str(waits.out, "done", "at last");
    waits.later = NULL;
    ctl_later_end(later, fail ? "it went wrong" : NULL);
    return 0;
}

static const struct ctl_verb verbs[] = {
    {"status", CTL_READ, say_status, "how it is"},
    {"change", CTL_WRITE, do_change, "change something"},
    {"much", CTL_READ, say_much, "a long answer"},
    {"wait", CTL_READ, wait_for_other, "wait for end"},
    {"end", CTL_READ, end_other, "end wait"},
};

static void serve(struct ev_loop *loop)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ev_loop_fork(loop);
    ev_run(loop, 0);
    _exit(0);
}

static int up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct ev_loop *loop = ev_loop_new(0);
    struct errbuf err;
    struct ctl_options o = {
        .path = f->path, .verbs = verbs, .nverbs = 5, .arg = "well"};

    strcpy(f->dir, "/tmp/ctlXXXXXX");
    assert_non_null(mkdtemp(f->dir));
    assert_int_equal(chmod(f->dir, 0755), 0);
    snprintf(f->path, sizeof(f->path), "%s/sock", f->dir);
    f->loop = loop;
    f->server = ctl_server_new(loop, &o, &err);
    assert_non_null(f->server);
    f->child = fork();
    if (f->child == 0)
        serve(loop);
    *state = f;
    return 0;
}

static int down(void **state)
{
    struct fixture *f = *state;

    kill(f->child, SIGKILL);
    waitpid(f->child, NULL, 0);
    ctl_server_free(f->server);
    ev_loop_destroy(f->loop);
    unlink(f->path);
    rmdir(f->dir);
    free(f);
    return 0;
}

static int dial(const struct fixture *f)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    strcpy(sa.sun_path, f->path);
    assert_int_equal(connect(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
    return fd;
}

/* What comes back until the server hangs up or a line is whole. */
static size_t get_line(int fd, char *buf, size_t size)
{
    size_t have = 0;

    while (have < size - 1) {
        ssize_t n = read(fd, buf + have, 1);

        if (n <= 0 || buf[have++] == '\n')
            break;
    }
    buf[have] = '\0';
    return have;
}

static void ask(const struct fixture *f, const char *text, char *buf,
                size_t size)
{
    int fd = dial(f);

    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
    get_line(fd, buf, size);
    close(fd);
}

static void a_verb_answers(void **state)
{
    const struct fixture *f = *state;
    struct json_object *reply;
    struct errbuf err;
    int64_t uid;

    assert_int_equal(ctl_ask(f->path, "status", &reply, 60000, &err), 0);
    assert_string_equal(jsonx_str(reply, "state", 16), "well");
    assert_true(jsonx_int(reply, "uid", 0, 1 << 30, &uid));
    assert_int_equal(uid, getuid());
    json_object_put(reply);
    assert_int_equal(ctl_ask(f->path, "help", &reply, 60000, &err), 0);
    assert_string_equal(jsonx_str(jsonx_object(reply, "verbs"), "change", 32),
                        "change something");
    json_object_put(reply);
}

static void unknown_verbs_and_wrong_arguments_are_told(void **state)
{
    const struct fixture *f = *state;
    struct json_object *reply;
    struct errbuf err;

    assert_int_equal(ctl_ask(f->path, "fly", &reply, 60000, &err), -1);
    assert_int_equal(errno, EREMOTEIO);
    assert_string_equal(err.text, "no verb \"fly\" here; try \"help\"");
    assert_int_equal(ctl_ask(f->path, "change", &reply, 60000, &err), -1);
    assert_string_equal(err.text, "\"to\" must be 0 to 9");
}

static int as_nobody(const struct fixture *f, const char *verb)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct json_object *reply;
        struct errbuf err;

        if (setgroups(0, NULL) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
            _exit(99);
        _exit(ctl_ask(f->path, verb, &reply, 60000, &err) == 0 ? 0 : errno);
    }
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

static void only_the_privileged_write(void **state)
{
    const struct fixture *f = *state;

    if (getuid() != 0)
        return; /* cannot become another user */
    assert_int_equal(as_nobody(f, "status"), 0);
    assert_int_equal(as_nobody(f, "change"), EACCES);
}

static void who_may_write(void **state)
{
    const gid_t groups[] = {4, 20, 30};

    assert_true(ctl_may_write(0, 5, 20, false, groups, 3));
    assert_true(ctl_may_write(5, 5, 20, false, groups, 0));
    assert_true(ctl_may_write(6, 5, 20, true, groups, 3));
    assert_true(ctl_may_write(6, 5, 4, true, groups, 1));
    assert_true(ctl_may_write(6, 5, 30, true, groups, 3));
    assert_false(ctl_may_write(6, 5, 4, true, groups, 0));
    assert_false(ctl_may_write(6, 5, 20, true, groups, 1));
    assert_false(ctl_may_write(6, 5, 20, false, groups, 3));
    assert_false(ctl_may_write(6, 5, 0, false, groups, 3));
}

static void answer_is(const struct fixture *f, const char *ask_text,
                      const char *want)
{
    char line[256];

    ask(f, ask_text, line, sizeof(line));
    assert_string_equal(line, want);
}

#define OK "{\"ok\":true}\n"
#define WHAT(text) "{\"ok\":false,\"error\":\"" text "\"}\n"

/* Once the server has begun the verb. */
static void until_one_waits(const struct fixture *f)
{
    char line[256];

    do
        ask(f, "{\"verb\":\"wait\",\"fail\":true}\n", line, sizeof(line));
    while (strcmp(line, WHAT("it could not begin")) == 0);
    assert_string_equal(line, WHAT("one waits already"));
}

static void a_verb_may_answer_later(void **state)
{
    static const char two[] = "{\"verb\":\"wait\"}\n{\"verb\":\"change\","
                              "\"to\":3}\n{\"verb\":\"end\"}\n";
    const struct fixture *f = *state;
    char line[256];
    int fd = dial(f);

    assert_int_equal(send(fd, two, strlen(two), MSG_NOSIGNAL), strlen(two));
    until_one_waits(f);
    /* What came behind it waits, and who else asks does not. */
    answer_is(f, "{\"verb\":\"end\"}\n", OK);
    get_line(fd, line, sizeof(line));
    assert_string_equal(line, "{\"ok\":true,\"done\":\"at last\"}\n");
    get_line(fd, line, sizeof(line));
    assert_string_equal(line, "{\"ok\":true,\"changed\":3}\n");
    get_line(fd, line, sizeof(line));
    assert_string_equal(line, WHAT("nobody waits"));
    close(fd);
}

static void an_answer_that_comes_later_may_be_an_error(void **state)
{
    const struct fixture *f = *state;
    char line[256];
    int fd = dial(f);

    assert_int_equal(send(fd, "{\"verb\":\"wait\"}\n", 16, MSG_NOSIGNAL), 16);
    until_one_waits(f);
    answer_is(f, "{\"verb\":\"end\",\"fail\":true}\n", OK);
    get_line(fd, line, sizeof(line));
    assert_string_equal(line, WHAT("it went wrong"));
    close(fd);
}

static void who_waited_may_be_gone(void **state)
{
    const struct fixture *f = *state;
    int fd = dial(f);

    assert_int_equal(send(fd, "{\"verb\":\"wait\"}\n", 16, MSG_NOSIGNAL), 16);
    until_one_waits(f);
    close(fd);
    answer_is(f, "{\"verb\":\"end\"}\n", OK);
    answer_is(f, "{\"verb\":\"end\"}\n", WHAT("nobody waits"));
}

static void hostile_lines_get_an_error_and_no_more(void **state)
{
    static const char *const lines[] = {
        "\n",
        "[]\n",
        "{\"verb\":1}\n",
        "{\"verb\"\n",
        "{} {}\n",
        "\"status\"\n",
        "{\"verb\":\"\xff\xfe\"}\n",
        "{\"verb\":\"status\"} x\n",
        "nonsense\n",
        "{'verb':'status'}\n",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n",
    };
    const struct fixture *f = *state;
    char buf[1024];

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        ask(f, lines[i], buf, sizeof(buf));
        assert_non_null(strstr(buf, "\"ok\":false"));
    }
    a_verb_answers(state);
}

static void a_line_without_end_is_cut_off(void **state)
{
    const struct fixture *f = *state;
    static char block[65536];
    char buf[256];
    int fd = dial(f);
    size_t sent = 0;

    memset(block, ' ', sizeof(block));
    while (sent <= SF_CTL_REQUEST_MAX + sizeof(block)) {
        if (send(fd, block, sizeof(block), MSG_NOSIGNAL) < 0)
            break;
        sent += sizeof(block);
    }
    get_line(fd, buf, sizeof(buf));
    assert_true(buf[0] == '\0' || strstr(buf, "too long"));
    close(fd);
    a_verb_answers(state);
}

static void many_requests_in_one_write(void **state)
{
    const struct fixture *f = *state;
    char buf[256];
    int fd = dial(f);
    const char *two = "{\"verb\":\"status\"}\n{\"verb\":\"status\"}\n{\"ve";

    assert_true(send(fd, two, strlen(two), 0) > 0);
    assert_true(get_line(fd, buf, sizeof(buf)) > 0);
    assert_true(get_line(fd, buf, sizeof(buf)) > 0);
    assert_non_null(strstr(buf, "well"));
    assert_true(send(fd, "rb\":\"fly\"}\n", 11, 0) > 0);
    assert_true(get_line(fd, buf, sizeof(buf)) > 0);
    assert_non_null(strstr(buf, "no verb"));
    close(fd);
}

/* It asks for 8 MB, ten times, and reads nothing: others are served. */
static void who_does_not_read_slows_nobody(void **state)
{
    const struct fixture *f = *state;
    int fd = dial(f);

    for (int i = 0; i < 10; i++)
        assert_true(send(fd, "{\"verb\":\"much\"}\n", 16, 0) > 0);
    for (int i = 0; i < 20; i++)
        a_verb_answers(state);
    close(fd);
}

static void long_answers_arrive_whole(void **state)
{
    const struct fixture *f = *state;
    struct json_object *reply;
    struct errbuf err;

    assert_int_equal(ctl_ask(f->path, "much", &reply, 20000, &err), 0);
    assert_int_equal(
        json_object_get_string_len(json_object_object_get(reply, "text")),
        8000000);
    json_object_put(reply);
}

static void silent_connections_do_not_shut_others_out(void **state)
{
    const struct fixture *f = *state;
    int fds[SF_CTL_CLIENTS_MAX + 20];
    size_t n = sizeof(fds) / sizeof(fds[0]);

    for (size_t i = 0; i < n; i++)
        fds[i] = dial(f);
    a_verb_answers(state);
    for (size_t i = 0; i < n; i++)
        close(fds[i]);
}

/* A turn of the loop that took longer than a connection may be idle: its time
 * is over, and its client has acted meanwhile. */
static void a_long_turn(struct ctl_server *s)
{
    struct ctl_conn *c = LIST_FIRST(&s->conns);

    assert_non_null(c);
    ev_timer_stop(s->loop, &c->timer);
    ev_timer_set(&c->timer, -1., c->timer.repeat);
    ev_timer_start(s->loop, &c->timer);
    ev_run(s->loop, EVRUN_ONCE);
}

static void a_long_turn_is_not_held_against_who_asked(void **state)
{
    const struct fixture *f = *state; /* the server here, not the child's */
    char buf[256];
    int fd;

    kill(f->child, SIGSTOP);
    assert_int_equal(waitpid(f->child, NULL, WUNTRACED), f->child);
    fd = dial(f);
    ev_run(f->loop, EVRUN_ONCE);
    assert_int_equal(send(fd, "{\"verb\":\"status\"}\n", 18, 0), 18);
    a_long_turn(f->server);
    assert_true(get_line(fd, buf, sizeof(buf)) > 0);
    assert_non_null(strstr(buf, "well"));
    close(fd);
}

static void a_long_turn_is_not_held_against_who_reads(void **state)
{
    const struct fixture *f = *state;
    static char some[1 << 20];
    size_t have = 0;
    ssize_t n;
    int fd;

    kill(f->child, SIGSTOP);
    assert_int_equal(waitpid(f->child, NULL, WUNTRACED), f->child);
    fd = dial(f);
    ev_run(f->loop, EVRUN_ONCE);
    assert_int_equal(send(fd, "{\"verb\":\"much\"}\n", 16, 0), 16);
    ev_run(f->loop, EVRUN_ONCE);
    while (have < 8000000) {
        n = recv(fd, some, sizeof(some), 0);
        assert_true(n > 0);
        have += (size_t)n;
        if (have < 8000000)
            a_long_turn(f->server);
    }
    close(fd);
}

static void no_daemon_is_told_at_once(void **state)
{
    struct json_object *reply;
    struct errbuf err;

    assert_int_equal(ctl_ask("/nonexistent/s", "status", &reply, 60000, &err),
                     -1);
    assert_int_equal(errno, ENOENT);
}

/* A server that accepts and says nothing. */
static void a_silent_daemon_times_out(void **state)
{
    const struct fixture *f = *state;
    struct json_object *reply;
    struct errbuf err;

    kill(f->child, SIGSTOP);
    assert_int_equal(ctl_ask(f->path, "status", &reply, 50, &err), -1);
    assert_int_equal(errno, ETIMEDOUT);
    kill(f->child, SIGCONT);
    a_verb_answers(state);
}

static void a_socket_left_behind_is_replaced(void **state)
{
    const struct fixture *f = *state;
    struct ev_loop *loop = ev_loop_new(0);
    struct ctl_options o = {.path = f->path, .verbs = verbs, .nverbs = 5};
    struct stat st;
    struct errbuf err;
    struct ctl_server *s = ctl_server_new(loop, &o, &err);

    assert_non_null(s);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0666);
    ctl_server_free(s);
    assert_int_equal(stat(f->path, &st), -1);
    o.group = "no-such-group-here";
    assert_null(ctl_server_new(loop, &o, &err));
    assert_non_null(strstr(err.text, "no group"));
    ev_loop_destroy(loop);
}

static void members_are_of_their_type(void **state)
{
    const char *text = "{\"s\":\"a\\u0001\",\"n\":7,\"h\":\"0060DD\","
                       "\"a\":[1,2],\"b\":true,\"long\":\"12345678\"}";
    struct errbuf err;
    struct json_object *o = jsonx_parse(text, strlen(text), &err);
    int64_t n = 3;
    uint64_t h;
    size_t len;
    bool b = false;

    assert_non_null(o);
    assert_null(jsonx_str(o, "s", 16));
    assert_null(jsonx_str(o, "long", 8));
    assert_non_null(jsonx_str(o, "long", 9));
    assert_false(jsonx_int(o, "n", 8, 9, &n));
    assert_false(jsonx_int(o, "h", 0, 9, &n));
    assert_int_equal(n, 3);
    assert_true(jsonx_int(o, "n", 0, 9, &n));
    assert_true(jsonx_hex(o, "h", &h));
    assert_int_equal(h, 0x60dd);
    assert_false(jsonx_hex(o, "long9", &h));
    assert_non_null(jsonx_array(o, "a", &len));
    assert_int_equal(len, 2);
    assert_true(jsonx_bool(o, "b", &b) && b);
    assert_null(jsonx_object(o, "b"));
    json_object_put(o);
    assert_null(jsonx_parse("{}\0", 3, &err));
    assert_int_equal(errno, EBADMSG);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_verb_answers),
        T(unknown_verbs_and_wrong_arguments_are_told),
        T(only_the_privileged_write),
        cmocka_unit_test(who_may_write),
        T(a_verb_may_answer_later),
        T(an_answer_that_comes_later_may_be_an_error),
        T(who_waited_may_be_gone),
        T(hostile_lines_get_an_error_and_no_more),
        T(a_line_without_end_is_cut_off),
        T(many_requests_in_one_write),
        T(who_does_not_read_slows_nobody),
        T(long_answers_arrive_whole),
        T(silent_connections_do_not_shut_others_out),
        T(a_long_turn_is_not_held_against_who_asked),
        T(a_long_turn_is_not_held_against_who_reads),
        cmocka_unit_test(no_daemon_is_told_at_once),
        T(a_silent_daemon_times_out),
        T(a_socket_left_behind_is_replaced),
        cmocka_unit_test(members_are_of_their_type),
    };

    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

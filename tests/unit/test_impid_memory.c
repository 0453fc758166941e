/* SPDX-License-Identifier: BSD-3-Clause
 * impid passes memory to who may not open it: what it passes, and to whom.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd_pass.h"
#include "base/memory.h"
#include "impid/impid.h"

static const uint8_t token[MEMORY_TOKEN_SIZE] = "the token of this test";

/* In place of the stream's: without the loop. */
void impid_stream_write(struct impid_stream *s, const void *data, size_t len)
{
    bytebuf_add(&s->out, data, len);
    while (bytebuf_len(&s->out) > 0) {
        ssize_t n = send(s->fd, bytebuf_data(&s->out), bytebuf_len(&s->out),
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n <= 0)
            return;
        bytebuf_consume(&s->out, (size_t)n);
    }
}

struct fixture {
    struct impid_proc proc;
    struct impid_task task;
    int peer, area;
};

static void set_up(struct fixture *f)
{
    int fds[2];

    memset(f, 0, sizeof(*f));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds),
                     0);
    f->proc.task = &f->task;
    f->proc.stream.fd = fds[0];
    bytebuf_init(&f->proc.stream.out, 1 << 20);
    f->peer = fds[1];
    f->area = memfd_create(MEMORY_AREA_NAME, MFD_CLOEXEC);
    assert_int_equal(write(f->area, token, sizeof(token)), sizeof(token));
}

static void tear_down(struct fixture *f)
{
    close(f->proc.stream.fd);
    close(f->peer);
    close(f->area);
    bytebuf_free(&f->proc.stream.out);
}

static struct task_claim claim_of(const struct fixture *f)
{
    struct task_claim c = {.kind = MEMORY_AREA,
                           .pid = (uint32_t)getpid(),
                           .fd = (uint32_t)f->area};

    memcpy(c.token, token, sizeof(c.token));
    return c;
}

static int ask(struct fixture *f, const struct task_claim *c)
{
    uint8_t buf[128];
    struct task_frame frame;
    ssize_t n = task_claim_encode(buf, sizeof(buf), c);

    assert_int_equal(task_frame_parse(&frame, buf, (size_t)n, sizeof(buf)), n);
    return impid_memory_claim(&f->proc, &frame);
}

/* The descriptor that came with an answer, -1: none; -2: no answer came. */
static int answer(struct fixture *f)
{
    uint8_t buf[TASK_HEADER_SIZE];
    struct task_frame frame;
    int fd;
    ssize_t n =
        fd_pass_receive(f->peer, buf, sizeof(buf), &fd, 1, NULL, MSG_DONTWAIT);

    if (n < 0)
        return -2;
    assert_int_equal(task_frame_parse(&frame, buf, (size_t)n, sizeof(buf)), n);
    assert_int_equal(frame.type, TASK_CLAIMED);
    assert_int_equal(frame.len, 0);
    return fd;
}

static int descriptors(void)
{
    int fd = dup(0);

    assert_true(fd >= 0);
    close(fd);
    return fd;
}

static void claims_are_judged_by_kind_and_token(void **state)
{
    struct fixture f;
    struct task_claim c;
    int fd, before;

    (void)state;
    set_up(&f);
    before = descriptors();
    c = claim_of(&f);
    assert_int_equal(ask(&f, &c), 0);
    fd = answer(&f);
    assert_true(fd >= 0 && memory_has(fd, MEMORY_AREA, token));
    close(fd);
    c.token[31] ^= 1;
    assert_int_equal(ask(&f, &c), 0);
    assert_int_equal(answer(&f), -1);
    c = claim_of(&f);
    c.kind = MEMORY_RING;
    assert_int_equal(ask(&f, &c), 0);
    assert_int_equal(answer(&f), -1);
    c = claim_of(&f);
    c.fd = (uint32_t)f.peer; /* no memory */
    assert_int_equal(ask(&f, &c), 0);
    assert_int_equal(answer(&f), -1);
    c = claim_of(&f);
    c.pid = INT32_MAX;
    assert_int_equal(ask(&f, &c), 0);
    assert_int_equal(answer(&f), -1);
    assert_int_equal(answer(&f), -2);
    assert_int_equal(descriptors(), before); /* none is kept */
    tear_down(&f);
}

static void malformed_claims_break_the_rules(void **state)
{
    static const uint8_t junk[64] = {0};
    struct task_frame frame = {.type = TASK_CLAIM, .payload = junk};
    struct fixture f;

    (void)state;
    set_up(&f);
    for (frame.len = 0; frame.len < sizeof(junk); frame.len++)
        assert_int_equal(impid_memory_claim(&f.proc, &frame), -1);
    assert_int_equal(answer(&f), -2);
    tear_down(&f);
}

/* It is answered as long as the socket has room, but few descriptors are on
 * their way; and it is passed memory again when it has read. */
static void who_does_not_read_is_passed_little(void **state)
{
    struct fixture f;
    struct task_claim c;
    int fd, passed = 0, answers = 0;

    (void)state;
    set_up(&f);
    c = claim_of(&f);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ask(&f, &c), 0);
    while ((fd = answer(&f)) != -2) {
        answers++;
        passed += fd >= 0;
        if (fd >= 0)
            close(fd);
    }
    assert_true(answers >= 100);
    assert_true(passed >= 1 && passed <= 32);
    impid_stream_write(&f.proc.stream, "", 0);
    while ((fd = answer(&f)) != -2)
        assert_int_equal(fd, -1);
    while (bytebuf_len(&f.proc.stream.out) > 0) {
        impid_stream_write(&f.proc.stream, "", 0);
        while (answer(&f) != -2)
            ;
    }
    assert_int_equal(ask(&f, &c), 0);
    fd = answer(&f);
    assert_true(fd >= 0);
    close(fd);
    tear_down(&f);
}

static void who_is_gone_is_not_answered(void **state)
{
    struct fixture f;
    struct task_claim c;

    (void)state;
    set_up(&f);
    c = claim_of(&f);
    f.proc.lost = true;
    assert_int_equal(ask(&f, &c), 0);
    assert_int_equal(answer(&f), -2);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_are_judged_by_kind_and_token),
        cmocka_unit_test(malformed_claims_break_the_rules),
        cmocka_unit_test(who_does_not_read_is_passed_little),
        cmocka_unit_test(who_is_gone_is_not_answered),
    };

    return cmocka_run_group_tests_name("impid_memory", tests, NULL, NULL);
}

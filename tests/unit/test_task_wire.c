/* SPDX-License-Identifier: BSD-3-Clause
 * Frames between impid and its processes.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "impi/presence.h"
#include "impi/task_wire.h"

static uint8_t buf[8192];

/* Parse the one frame in buf[0..len) and check its type. */
static struct task_frame parse(ssize_t len, uint32_t type)
{
    struct task_frame f;

    assert_true(len > 0);
    assert_int_equal(
        task_frame_parse(&f, buf, (size_t)len, SF_TASK_REQUEST_MAX), len);
    assert_int_equal(f.type, type);
    return f;
}

static void hello_golden_bytes(void **state)
{
    static const uint8_t want[] = {0, 0, 0, 1, 0,   0,   0, 42, 0, 0, 0, 1, 0,
                                   0, 0, 2, 0, 0,   0,   3, 0,  0, 1, 0, 0, 0,
                                   0, 5, 0, 2, 'v', '4', 0, 0,  0, 0, 0, 0, 0,
                                   0, 1, 7, 0, 0,   0,   0, 0,  0, 0, 8};
    struct task_hello h = {.version = 1,
                           .family = TASK_FAMILY_OPENMPI,
                           .rank = 3,
                           .pid = 256,
                           .build = 5,
                           .library = "v4",
                           .memory = 0x107,
                           .users = 8};
    struct task_hello got;
    struct task_frame f;
    ssize_t n = task_hello_encode(buf, sizeof(buf), &h);

    assert_int_equal(n, sizeof(want));
    assert_memory_equal(buf, want, sizeof(want));
    f = parse(n, TASK_HELLO);
    assert_int_equal(task_hello_decode(&got, f.payload, f.len), 0);
    assert_int_equal(got.rank, 3);
    assert_int_equal(got.pid, 256);
    assert_int_equal(got.build, 5);
    assert_string_equal(got.library, "v4");
    assert_string_equal(got.dir, "");
    assert_int_equal(got.memory, 0x107);
    assert_int_equal(got.users, 8);
}

/* Paths are made of it. */
static void hello_dir_is_a_descriptor(void **state)
{
    static const char *const wrong[] = {"/tmp", "/proc/self/fd/",
                                        "/proc/self/fd/3x",
                                        "/proc/self/fd/3/..", "proc/self/fd/3"};
    struct task_hello h = {.version = 1, .dir = "/proc/self/fd/300"}, got;
    struct task_frame f =
        parse(task_hello_encode(buf, sizeof(buf), &h), TASK_HELLO);

    assert_int_equal(task_hello_decode(&got, f.payload, f.len), 0);
    assert_string_equal(got.dir, "/proc/self/fd/300");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        snprintf(h.dir, sizeof(h.dir), "%s", wrong[i]);
        f = parse(task_hello_encode(buf, sizeof(buf), &h), TASK_HELLO);
        assert_int_equal(task_hello_decode(&got, f.payload, f.len), -1);
    }
}

static void hello_long_library_text_is_cut(void **state)
{
    struct task_hello h = {.version = 1};
    struct task_hello got;
    struct task_frame f;

    memset(h.library, 'x', sizeof(h.library));
    f = parse(task_hello_encode(buf, sizeof(buf), &h), TASK_HELLO);
    assert_int_equal(task_hello_decode(&got, f.payload, f.len), 0);
    assert_int_equal(strlen(got.library), SF_TASK_TEXT_MAX - 1);
}

static void env_round_trip(void **state)
{
    char *vars[] = {"PMI_RANK=1", "PMI_SIZE=2", "EMPTY=", NULL};
    struct task_env e = {.generation = 1,
                         .nclients = 2,
                         .client = 1,
                         .native_rank = 1,
                         .native_size = 2,
                         .world_size = 4,
                         .host_addr = {[10] = 0xff, 0xff, 127, 0, 0, 10},
                         .port_lo = 4000,
                         .port_hi = 4100,
                         .pid = 77,
                         .machine = UINT64_C(0x123456789abcdef0),
                         .nenv = 3,
                         .env = vars};
    struct task_env got;
    struct task_frame f;
    ssize_t n = task_env_encode(buf, sizeof(buf), &e);

    assert_int_equal(n, task_env_size(&e));
    f = parse(n, TASK_ENV);
    assert_int_equal(task_env_decode(&got, f.payload, f.len), 0);
    assert_int_equal(got.generation, 1);
    assert_int_equal(got.native_rank, 1);
    assert_int_equal(got.world_size, 4);
    assert_memory_equal(got.host_addr, e.host_addr, 16);
    assert_int_equal(got.port_hi, 4100);
    assert_int_equal(got.pid, 77);
    assert_true(got.machine == e.machine);
    assert_int_equal(got.nenv, 3);
    assert_string_equal(got.env[1], "PMI_SIZE=2");
    assert_string_equal(got.env[2], "EMPTY=");
    assert_null(got.env[3]);
    task_env_clear(&got);
}

static void env_refuses_what_setenv_cannot_take(void **state)
{
    char *bad[] = {"=x", "", "novalue"};
    struct task_env got;

    for (size_t i = 0; i < 3; i++) {
        struct task_env e = {.nenv = 1, .env = &bad[i]};
        struct task_frame f =
            parse(task_env_encode(buf, sizeof(buf), &e), TASK_ENV);

        assert_int_equal(task_env_decode(&got, f.payload, f.len), -1);
        assert_int_equal(errno, EPROTO);
        assert_null(got.env);
    }
}

static void env_count_is_checked_before_it_allocates(void **state)
{
    struct task_env e = {0};
    struct task_env got;
    ssize_t n = task_env_encode(buf, sizeof(buf), &e);
    struct task_frame f = parse(n, TASK_ENV);

    memset(buf + n - 4, 0xff, 4);
    assert_int_equal(task_env_decode(&got, f.payload, f.len), -1);
    assert_int_equal(errno, EPROTO);
}

static void claims_round_trip(void **state)
{
    struct task_claim c = {
        .kind = MEMORY_AREA, .pid = 7, .fd = 8, .token = {1, 2, [31] = 3}};
    struct task_claim got;
    struct task_frame f =
        parse(task_claim_encode(buf, sizeof(buf), &c), TASK_CLAIM);

    assert_int_equal(task_claim_decode(&got, f.payload, f.len), 0);
    assert_memory_equal(&got, &c, sizeof(c));
    for (size_t i = 0; i < f.len; i++) {
        assert_int_equal(task_claim_decode(&got, f.payload, i), -1);
        assert_int_equal(errno, EPROTO);
    }
    c.kind = MEMORY_AREA + 1;
    f = parse(task_claim_encode(buf, sizeof(buf), &c), TASK_CLAIM);
    assert_int_equal(task_claim_decode(&got, f.payload, f.len), -1);
    assert_int_equal(errno, EPROTO);
}

static void proofs_round_trip(void **state)
{
    static struct task_proof p = {.about = {1, 2},
                                  .credential = "MUNGE:abc",
                                  .text = "why"},
                             got;
    struct task_frame f =
        parse(task_proof_encode(buf, sizeof(buf), TASK_CHECK, &p), TASK_CHECK);

    assert_int_equal(task_proof_decode(&got, f.payload, f.len), 0);
    assert_memory_equal(got.about, p.about, sizeof(p.about));
    assert_string_equal(got.credential, p.credential);
    assert_string_equal(got.text, p.text);
    assert_int_equal(task_proof_decode(&got, f.payload, f.len - 1), -1);
    memset(p.credential, 'x', sizeof(p.credential) - 1);
    f = parse(task_proof_encode(buf, sizeof(buf), TASK_PROOF, &p), TASK_PROOF);
    assert_int_equal(task_proof_decode(&got, f.payload, f.len), 0);
    assert_string_equal(got.credential, p.credential);
}

static void small_frames_round_trip(void **state)
{
    struct task_join j = {.pid = 7,
                          .addr = {1, 2},
                          .port = 0x1234,
                          .cpus = 0x5678},
                     gj;
    struct task_abort a = {.code = -42, .text = "why"}, ga;
    struct task_register r = {.rank = 9, .local = 1}, gr;
    struct task_exiting x = {.code = 7}, gx;
    struct task_stage s = {.stage = TASK_STAGE_READY}, gs;
    struct task_text t;
    struct task_frame f;

    f = parse(task_join_encode(buf, sizeof(buf), &j), TASK_JOIN);
    assert_int_equal(task_join_decode(&gj, f.payload, f.len), 0);
    assert_int_equal(gj.pid, 7);
    assert_memory_equal(gj.addr, j.addr, sizeof(j.addr));
    assert_int_equal(gj.port, 0x1234);
    assert_int_equal(gj.cpus, 0x5678);
    f = parse(task_abort_encode(buf, sizeof(buf), &a), TASK_ABORT);
    assert_int_equal(task_abort_decode(&ga, f.payload, f.len), 0);
    assert_int_equal(ga.code, -42);
    assert_string_equal(ga.text, "why");
    f = parse(task_register_encode(buf, sizeof(buf), &r), TASK_REGISTER);
    assert_int_equal(task_register_decode(&gr, f.payload, f.len), 0);
    assert_memory_equal(&gr, &r, sizeof(r));
    f = parse(task_exiting_encode(buf, sizeof(buf), &x), TASK_EXITING);
    assert_int_equal(task_exiting_decode(&gx, f.payload, f.len), 0);
    assert_int_equal(gx.code, 7);
    f = parse(task_stage_encode(buf, sizeof(buf), &s), TASK_STAGE);
    assert_int_equal(task_stage_decode(&gs, f.payload, f.len), 0);
    assert_int_equal(gs.stage, TASK_STAGE_READY);
    f = parse(task_error_encode(buf, sizeof(buf), "no"), TASK_ERROR);
    assert_int_equal(task_error_decode(&t, f.payload, f.len), 0);
    assert_string_equal(t.text, "no");
    f = parse(task_frame_encode(buf, sizeof(buf), TASK_FINISH, NULL, 0),
              TASK_FINISH);
    assert_int_equal(f.len, 0);
}

static void every_truncation_and_excess_is_refused(void **state)
{
    struct task_hello h = {.version = 1, .library = "abc"}, got;
    ssize_t n = task_hello_encode(buf, sizeof(buf), &h);
    struct task_frame f = parse(n, TASK_HELLO);

    for (uint32_t len = 0; len < f.len; len++)
        assert_int_equal(task_hello_decode(&got, f.payload, len), -1);
    assert_int_equal(task_hello_decode(&got, f.payload, f.len + 1), -1);
    for (size_t len = 0; len < (size_t)n; len++) {
        assert_int_equal(task_frame_parse(&f, buf, len, 64), -1);
        assert_int_equal(errno, EAGAIN);
    }
}

static void frame_longer_than_the_limit_is_refused_by_its_header(void **state)
{
    struct task_frame f;

    task_frame_encode(buf, sizeof(buf), TASK_ABORT, NULL, 0);
    memset(buf + 4, 0xff, 4);
    assert_int_equal(task_frame_parse(&f, buf, 8, SF_TASK_REPLY_MAX), -1);
    assert_int_equal(errno, EMSGSIZE);
}

static void encoder_without_room_fails(void **state)
{
    struct task_join j = {0};

    for (size_t size = 0; size < 8 + 24; size++) {
        assert_int_equal(task_join_encode(buf, size, &j), -1);
        assert_int_equal(errno, EMSGSIZE);
    }
    assert_int_equal(task_join_encode(buf, 8 + 24, &j), 8 + 24);
}

static void presence_is_believed_with_the_secret_only(void **state)
{
    struct impi_presence p = {.agent = 3, .rank = 17, .node = "n3"}, got;
    uint8_t text[IMPI_PRESENCE_SIZE], secret[IMPI_PRESENCE_SECRET] = {1};

    memset(p.node, 'x', IMPI_PRESENCE_NODE); /* the longest */
    impi_presence_encode(text, &p, secret);
    assert_int_equal(impi_presence_decode(&got, text, secret), 0);
    assert_int_equal(got.agent, 3);
    assert_int_equal(got.rank, 17);
    assert_string_equal(got.node, p.node);
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] ^= 0x20;
        assert_int_equal(impi_presence_decode(&got, text, secret), -1);
        assert_int_equal(errno, i < 4 ? EPROTO : EACCES);
        text[i] ^= 0x20;
    }
    secret[31] = 1;
    assert_int_equal(impi_presence_decode(&got, text, secret), -1);
}

static void families_have_names(void **state)
{
    assert_string_equal(task_family_name(TASK_FAMILY_MPICH), "MPICH");
    assert_string_equal(task_family_name(TASK_FAMILY_OPENMPI), "Open MPI");
    assert_string_equal(task_family_name(TASK_FAMILY_MPICH_PMIX), "MPICH");
    assert_string_equal(task_family_name(77), "no MPI");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hello_golden_bytes),
        cmocka_unit_test(hello_dir_is_a_descriptor),
        cmocka_unit_test(hello_long_library_text_is_cut),
        cmocka_unit_test(env_round_trip),
        cmocka_unit_test(env_refuses_what_setenv_cannot_take),
        cmocka_unit_test(env_count_is_checked_before_it_allocates),
        cmocka_unit_test(small_frames_round_trip),
        cmocka_unit_test(claims_round_trip),
        cmocka_unit_test(proofs_round_trip),
        cmocka_unit_test(every_truncation_and_excess_is_refused),
        cmocka_unit_test(frame_longer_than_the_limit_is_refused_by_its_header),
        cmocka_unit_test(encoder_without_room_fails),
        cmocka_unit_test(presence_is_believed_with_the_secret_only),
        cmocka_unit_test(families_have_names),
    };

    return cmocka_run_group_tests_name("task_wire", tests, NULL, NULL);
}

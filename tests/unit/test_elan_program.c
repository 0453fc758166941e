/* SPDX-License-Identifier: BSD-3-Clause
 * Program descriptions as far as they need no cgroup: capabilities, contexts,
 * who may ask what, what is said on the socket, the kernel's texts.
 */
#include "elan/capability.h"
#include "elan/program_proc.h"
#include "elan/program_serve.h"
#include "elan/program_wire.h"
#include "elan_util.h"

#define OWNER 1000

static struct elan_capability capability(void)
{
    struct elan_layout l = even_layout(2, 4, 3, false);
    struct elan_capability_spec spec = {&l, 0, 0x400, 3, {{1, 2, 3, 4}}, false};
    struct elan_capability cap;

    assert_int_equal(elan_capability_build(&cap, &spec, NULL), 0);
    elan_layout_free(&l);
    return cap;
}

static struct program program(void)
{
    struct program p;
    struct elan_capability cap = capability();

    program_init(&p, 17, OWNER);
    assert_int_equal(program_add_cap(&p, 0, &cap), 0);
    return p;
}

static void capabilities_are_added_in_order(void **state)
{
    struct program p = program();
    struct elan_capability cap = capability();

    assert_int_equal(program_add_cap(&p, 0, &cap), EEXIST);
    assert_int_equal(program_add_cap(&p, 2, &cap), EINVAL);
    assert_int_equal(program_add_cap(&p, -1, &cap), EINVAL);
    assert_int_equal(program_add_cap(&p, SF_PROGRAM_CAPS_MAX, &cap), E2BIG);
    assert_int_equal(program_add_cap(&p, 1, &cap), 0);
    cap.HighContext = ELAN_MAX_CONTEXTS;
    assert_int_equal(program_add_cap(&p, 2, &cap), EINVAL);
    elan3_nullcap(&cap);
    assert_int_equal(program_add_cap(&p, 2, &cap), EINVAL);
    assert_int_equal(p.ncaps, 2);
    program_clear(&p);
    assert_int_equal(p.ncaps, 0);
}

static void a_context_belongs_to_one_process(void **state)
{
    struct program p = program();
    struct program_process a = {100, 1}, b = {101, 1}, again = {100, 2};
    struct program_process holder;

    assert_int_equal(program_set_cap(&p, &a, 0, 0, &holder), 0);
    assert_int_equal(program_set_cap(&p, &a, 0, 0, &holder), 0);
    assert_int_equal(program_set_cap(&p, &b, 0, 0, &holder), EBUSY);
    assert_int_equal(holder.pid, 100);
    /* A pid that is used again is another process. */
    assert_int_equal(program_set_cap(&p, &again, 0, 0, &holder), EBUSY);
    assert_int_equal(program_set_cap(&p, &b, 0, 3, &holder), EINVAL);
    assert_int_equal(program_set_cap(&p, &b, 0, -1, &holder), EINVAL);
    assert_int_equal(program_set_cap(&p, &b, 1, 0, &holder), EINVAL);
    assert_int_equal(program_set_cap(&p, &b, 0, 2, &holder), 0);
    program_forget(&p, &a);
    assert_int_equal(program_set_cap(&p, &again, 0, 0, &holder), 0);
    program_clear(&p);
}

static void another_context_gives_the_first_back(void **state)
{
    struct program p = program();
    struct program_process a = {100, 1}, b = {101, 1}, holder;

    assert_int_equal(program_set_cap(&p, &a, 0, 0, &holder), 0);
    assert_int_equal(program_set_cap(&p, &a, 0, 1, &holder), 0);
    assert_int_equal(program_set_cap(&p, &b, 0, 0, &holder), 0);
    assert_int_equal(p.ncontexts, 2);
    program_clear(&p);
}

static void own_context_is_low_plus_index(void **state)
{
    struct program p = program();
    struct program_process chain[] = {{300, 9}, {200, 5}, {100, 1}}, holder;
    struct elan_capability cap;

    assert_int_equal(program_get_cap(&p, chain, 3, 0, &cap), 0);
    assert_int_equal(cap.MyContext, ELAN_CAP_UNINITIALISED);
    assert_int_equal(program_set_cap(&p, &chain[2], 0, 2, &holder), 0);
    /* A descendant of the task has the task's context ... */
    assert_int_equal(program_get_cap(&p, chain, 3, 0, &cap), 0);
    assert_int_equal(cap.MyContext, 0x402);
    assert_int_equal(cap.UserKey.Values[3], 4);
    /* ... until a nearer one took its own. */
    assert_int_equal(program_set_cap(&p, &chain[1], 0, 1, &holder), 0);
    assert_int_equal(program_get_cap(&p, chain, 3, 0, &cap), 0);
    assert_int_equal(cap.MyContext, 0x401);
    assert_int_equal(program_get_cap(&p, chain, 3, 1, &cap), EINVAL);
    assert_int_equal(program_get_cap(&p, chain, 3, -1, &cap), EINVAL);
    program_clear(&p);
}

/* ---- who may ask what ------------------------------------------------------
 */

static int ask(struct program_held *held, const struct program_peer *peer,
               struct program_request request, struct be_reader *answer)
{
    static uint8_t buf[PROGRAM_REPLY_MAX], asked[PROGRAM_REQUEST_MAX];
    size_t len = program_request_put(asked, &request);
    struct be_writer reply;

    assert_true(len > 0);
    program_serve(held, peer, asked, len, &reply, buf, sizeof(buf));
    assert_false(reply.bad);
    return program_reply_open(answer, buf, reply.len);
}

static struct program_held held(void)
{
    return (struct program_held){.program = program(),
                                 .group = PROGRAM_CGROUP_NONE};
}

static void held_free(struct program_held *h)
{
    program_account_free(&h->account);
    program_clear(&h->program);
}

static void members_get_the_capability_strangers_nothing(void **state)
{
    struct program_held h = held();
    struct program_peer member = {OWNER, true, {{100, 1}}, 1};
    struct program_peer stranger = {OWNER, false, {{101, 1}}, 1};
    struct program_peer other = {OWNER + 1, true, {{102, 1}}, 1};
    struct program_peer root = {0, false, {{1, 1}}, 1};
    struct program_request get = {.verb = PROGRAM_GETCAP};
    struct elan_capability cap;
    struct be_reader r;

    assert_int_equal(ask(&h, &member, get, &r), 0);
    assert_int_equal(elan_capability_get(&r, &cap, NULL), 0);
    assert_true(be_reader_done(&r));
    assert_int_equal(cap.UserKey.Values[0], 1);
    assert_int_equal(ask(&h, &stranger, get, &r), EPERM);
    assert_true(be_reader_done(&r));
    assert_int_equal(ask(&h, &other, get, &r), EPERM);
    assert_int_equal(ask(&h, &root, get, &r), EPERM);
    get.a = 1;
    assert_int_equal(ask(&h, &member, get, &r), EINVAL);
    held_free(&h);
}

static void two_members_see_the_same(void **state)
{
    struct program_held h = held();
    struct program_peer a = {OWNER, true, {{100, 1}}, 1};
    struct program_peer b = {OWNER, true, {{101, 1}}, 1};
    struct program_request n = {.verb = PROGRAM_NCAPS};
    struct program_request set = {.verb = PROGRAM_SETCAP, .b = 1};
    struct be_reader r;

    assert_int_equal(ask(&h, &a, n, &r), 0);
    assert_int_equal(be_get32(&r), 1);
    assert_int_equal(ask(&h, &b, n, &r), 0);
    assert_int_equal(be_get32(&r), 1);
    assert_int_equal(ask(&h, &a, set, &r), 0);
    set.b = 9;
    assert_int_equal(ask(&h, &b, set, &r), EINVAL);
    held_free(&h);
}

static void only_root_changes_a_program(void **state)
{
    struct program_held h = held();
    struct program_peer member = {OWNER, true, {{100, 1}}, 1};
    struct program_peer root = {0, false, {{1, 1}}, 1};
    struct elan_capability cap = capability();
    struct program_request add = {PROGRAM_ADDCAP, 1, 0, &cap};
    struct program_request destroy = {.verb = PROGRAM_DESTROY};
    struct be_reader r;

    assert_int_equal(ask(&h, &member, add, &r), EPERM);
    assert_int_equal(ask(&h, &member, destroy, &r), EPERM);
    assert_false(h.done);
    assert_int_equal(ask(&h, &root, add, &r), 0);
    assert_int_equal(h.program.ncaps, 2);
    held_free(&h);
}

static void another_user_neither_signals_nor_looks(void **state)
{
    struct program_held h = held();
    struct program_peer other = {OWNER + 1, false, {{100, 1}}, 1};
    struct program_request q = {.a = 9};
    struct be_reader r;

    for (uint32_t verb = 0; verb < PROGRAM_VERBS; verb++) {
        if (verb == PROGRAM_ADDCAP)
            continue;
        q.verb = verb;
        assert_int_equal(ask(&h, &other, q, &r), EPERM);
    }
    held_free(&h);
}

static void malformed_requests_are_answered_with_eproto(void **state)
{
    struct program_held h = held();
    struct program_peer member = {OWNER, true, {{100, 1}}, 1};
    struct program_request get = {.verb = PROGRAM_GETCAP};
    uint8_t asked[PROGRAM_REQUEST_MAX], buf[256];
    struct be_writer reply;
    struct be_reader r;
    size_t len = program_request_put(asked, &get);

    for (size_t cut = 0; cut < len; cut++) {
        program_serve(&h, &member, asked, cut, &reply, buf, sizeof(buf));
        assert_int_equal(program_reply_open(&r, buf, reply.len), EPROTO);
    }
    program_serve(&h, &member, asked, len + 1, &reply, buf, sizeof(buf));
    assert_int_equal(program_reply_open(&r, buf, reply.len), EPROTO);
    asked[7] = PROGRAM_VERBS;
    program_serve(&h, &member, asked, len, &reply, buf, sizeof(buf));
    assert_int_equal(program_reply_open(&r, buf, reply.len), EPROTO);
    held_free(&h);
}

static void answer_that_does_not_fit_says_so(void **state)
{
    struct program_held h = held();
    struct program_peer member = {OWNER, true, {{100, 1}}, 1};
    struct program_request get = {.verb = PROGRAM_GETCAP};
    uint8_t asked[PROGRAM_REQUEST_MAX], buf[32];
    struct be_writer reply;
    struct be_reader r;
    size_t len = program_request_put(asked, &get);

    program_serve(&h, &member, asked, len, &reply, buf, sizeof(buf));
    assert_int_equal(program_reply_open(&r, buf, reply.len), EMSGSIZE);
    held_free(&h);
}

static void stats_round_trip(void **state)
{
    const struct program_stats s = {1, 2, 3, 4, 5, 6, 7, 1};
    struct program_stats got;
    uint8_t buf[64];
    struct be_writer w;
    struct be_reader r;

    be_writer_init(&w, buf, sizeof(buf));
    program_stats_put(&w, &s);
    be_reader_init(&r, buf, w.len);
    program_stats_get(&r, &got);
    assert_true(be_reader_done(&r));
    assert_memory_equal(&got, &s, sizeof(s));
}

/* ---- the kernel's texts ----------------------------------------------------
 */

static void stat_of_a_process_with_a_nasty_name(void **state)
{
    const char *text = "42 (a) R 7 (b) S 9 1 1 0 -1 4194560 1 0 0 0 5 6 7 8 "
                       "20 0 1 0 123456 1 1";
    pid_t ppid;
    uint64_t start;

    assert_int_equal(proc_parse_stat(text, &ppid, &start), 0);
    assert_int_equal(ppid, 9);
    assert_int_equal(start, 123456);
    assert_int_equal(proc_parse_stat("", &ppid, &start), -1);
    assert_int_equal(proc_parse_stat("42 (a)", &ppid, &start), -1);
    assert_int_equal(proc_parse_stat("42 (a) S 9 1 1", &ppid, &start), -1);
}

static void status_and_flat_values(void **state)
{
    assert_int_equal(
        proc_parse_status_kb("Name:\tx\nVmHWM:\t  123 kB\n", "VmHWM"), 123);
    assert_int_equal(proc_parse_status_kb("Name:\tx\n", "VmHWM"), 0);
    assert_int_equal(
        proc_parse_flat("user_usec_x 1\nuser_usec 7\n", "user_usec"), 7);
    assert_int_equal(proc_parse_flat("user_usec", "user_usec"), 0);
    assert_int_equal(proc_parse_flat("", "user_usec"), 0);
}

static void cgroup_lines(void **state)
{
    char path[32];

    assert_int_equal(
        proc_parse_cgroup2("3:freezer:/a\n0::/b/c\n", path, sizeof(path)), 0);
    assert_string_equal(path, "/b/c");
    assert_int_equal(proc_parse_cgroup2("3:freezer:/a\n", path, 32), -1);
    assert_int_equal(proc_parse_cgroup2("0::/b/c\n", path, 4), -1);
    assert_int_equal(proc_parse_cgroup2("0::relative\n", path, 32), -1);
}

static void cgroup_mounts(void **state)
{
    const char *info =
        "25 1 0:22 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "26 25 0:23 / /sys/fs/cgroup/frz rw - cgroup cgroup rw,freezer\n"
        "27 25 0:24 /sub /mnt/part rw - cgroup2 cgroup2 rw\n"
        "28 25 0:24 / /mnt/with\\040space rw - cgroup2 cgroup2 rw\n";
    char path[64];

    assert_int_equal(proc_find_cgroup_mount(info, NULL, path, 64), 0);
    assert_string_equal(path, "/mnt/with space");
    assert_int_equal(proc_find_cgroup_mount(info, "freezer", path, 64), 0);
    assert_string_equal(path, "/sys/fs/cgroup/frz");
    assert_int_equal(proc_find_cgroup_mount(info, "free", path, 64), -1);
    assert_int_equal(proc_find_cgroup_mount("", NULL, path, 64), -1);
}

static void slurms_own_groups_are_recognised(void **state)
{
    char user[64];

    assert_true(proc_slurm_step_group("/system.slice/x/job_7/step_0/slurm",
                                      user, sizeof(user)));
    assert_string_equal(user, "/system.slice/x/job_7/step_0/user");
    assert_false(proc_slurm_step_group("/job_7/step_0/user", user, 64));
    assert_false(proc_slurm_step_group("/job_x/step_0/slurm", user, 64));
    assert_false(proc_slurm_step_group("/slurm", user, 64));
    assert_false(proc_slurm_step_group("/job_7/step_0/slurm", user, 10));
    assert_true(proc_in_slurm_job("/slurm/uid_1/job_12/step_0"));
    assert_false(proc_in_slurm_job("/slurm/jobs/job_"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capabilities_are_added_in_order),
        cmocka_unit_test(a_context_belongs_to_one_process),
        cmocka_unit_test(another_context_gives_the_first_back),
        cmocka_unit_test(own_context_is_low_plus_index),
        cmocka_unit_test(members_get_the_capability_strangers_nothing),
        cmocka_unit_test(two_members_see_the_same),
        cmocka_unit_test(only_root_changes_a_program),
        cmocka_unit_test(another_user_neither_signals_nor_looks),
        cmocka_unit_test(malformed_requests_are_answered_with_eproto),
        cmocka_unit_test(answer_that_does_not_fit_says_so),
        cmocka_unit_test(stats_round_trip),
        cmocka_unit_test(stat_of_a_process_with_a_nasty_name),
        cmocka_unit_test(status_and_flat_values),
        cmocka_unit_test(cgroup_lines),
        cmocka_unit_test(cgroup_mounts),
        cmocka_unit_test(slurms_own_groups_are_recognised),
    };

    return cmocka_run_group_tests_name("elan_program", tests, NULL, NULL);
}

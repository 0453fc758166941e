/* SPDX-License-Identifier: BSD-3-Clause
 * Program descriptions: capabilities and contexts, the words on the socket,
 * and the readers of the kernel's texts.
 */
#include "elan_util.h"

#include "elan/capability.h"
#include "elan/program.h"
#include "elan/program_proc.h"
#include "elan/program_wire.h"

static struct elan_capability cap_of(uint32_t rail)
{
    struct elan_layout l = even_layout(2, 4, 3, false);
    struct elan_capability cap;
    struct elan_capability_spec spec = {
        .layout = &l,
        .rail = 0,
        .low_context = 100,
        .ncontexts = 3,
        .key = {{1, 2, 3, 4 + rail}},
    };

    assert_int_equal(elan_capability_build(&cap, &spec, NULL), 0);
    elan_layout_free(&l);
    return cap;
}

static const struct program_process a = {100, 7}, b = {200, 8}, c = {300, 9};

static void capabilities_come_in_order_and_once(void **state)
{
    struct elan_capability cap = cap_of(0), broken = cap;
    struct program p;

    program_init(&p, 5, 1000);
    broken.HighContext = broken.LowContext - 1;
    assert_int_equal(program_add_cap(&p, 0, &broken), EINVAL);
    assert_int_equal(program_add_cap(&p, 1, &cap), EINVAL);
    assert_int_equal(program_add_cap(&p, -1, &cap), EINVAL);
    assert_int_equal(program_add_cap(&p, 0, &cap), 0);
    assert_int_equal(program_add_cap(&p, 0, &cap), EEXIST);
    for (int i = 1; i < SF_PROGRAM_CAPS_MAX; i++)
        assert_int_equal(program_add_cap(&p, i, &cap), 0);
    assert_int_equal(program_add_cap(&p, SF_PROGRAM_CAPS_MAX, &cap), E2BIG);
    program_clear(&p);
    assert_int_equal(p.ncaps, 0);
}

static void a_context_has_one_process(void **state)
{
    struct elan_capability cap = cap_of(0);
    struct program_process holder;
    struct program p;

    program_init(&p, 5, 1000);
    program_add_cap(&p, 0, &cap);
    program_add_cap(&p, 1, &cap);
    assert_int_equal(program_set_cap(&p, &a, 0, 3, &holder), EINVAL);
    assert_int_equal(program_set_cap(&p, &a, 0, -1, &holder), EINVAL);
    assert_int_equal(program_set_cap(&p, &a, 2, 0, &holder), EINVAL);
    assert_int_equal(program_set_cap(&p, &a, 0, 0, &holder), 0);
    assert_int_equal(program_set_cap(&p, &a, 0, 0, &holder), 0);
    assert_int_equal(program_set_cap(&p, &a, 1, 0, &holder), 0);
    assert_int_equal(program_set_cap(&p, &b, 0, 0, &holder), EBUSY);
    assert_int_equal(holder.pid, a.pid);
    assert_int_equal(program_set_cap(&p, &a, 0, 1, &holder), 0); /* moves */
    assert_int_equal(program_set_cap(&p, &b, 0, 0, &holder), 0);
    program_forget(&p, &a);
    assert_int_equal(program_set_cap(&p, &c, 0, 1, &holder), 0);
    assert_int_equal(p.ncontexts, 2);
    program_clear(&p);
}

static void descendants_have_their_tasks_context(void **state)
{
    const struct program_process chain[] = {c, b, a}, other[] = {{400, 1}};
    struct elan_capability cap = cap_of(0), got;
    struct program_process holder;
    struct program p;

    program_init(&p, 5, 1000);
    assert_int_equal(program_get_cap(&p, chain, 3, 0, &got), EINVAL);
    program_add_cap(&p, 0, &cap);
    program_set_cap(&p, &a, 0, 2, &holder);
    assert_int_equal(program_get_cap(&p, chain, 3, 0, &got), 0);
    assert_int_equal(got.MyContext, 102);
    program_set_cap(&p, &b, 0, 1, &holder); /* nearer */
    assert_int_equal(program_get_cap(&p, chain, 3, 0, &got), 0);
    assert_int_equal(got.MyContext, 101);
    assert_int_equal(program_get_cap(&p, other, 1, 0, &got), 0);
    assert_int_equal(got.MyContext, ELAN_CAP_UNINITIALISED);
    assert_memory_equal(&got.UserKey, &cap.UserKey, sizeof(cap.UserKey));
    program_clear(&p);
}

static void same_pid_with_another_start_is_another_process(void **state)
{
    const struct program_process again = {a.pid, a.start + 1};
    struct elan_capability cap = cap_of(0), got;
    struct program_process holder;
    struct program p;

    program_init(&p, 5, 1000);
    program_add_cap(&p, 0, &cap);
    program_set_cap(&p, &a, 0, 0, &holder);
    program_get_cap(&p, &again, 1, 0, &got);
    assert_int_equal(got.MyContext, ELAN_CAP_UNINITIALISED);
    assert_int_equal(program_set_cap(&p, &again, 0, 0, &holder), EBUSY);
    program_clear(&p);
}

static void requests_survive_the_wire(void **state)
{
    struct elan_capability cap = cap_of(3), got;
    struct program_request r = {PROGRAM_ADDCAP, 1, -2, &cap},
                           in = {.cap = &got};
    uint8_t buf[PROGRAM_REQUEST_MAX];
    size_t len = program_request_put(buf, &r);

    assert_true(len > 0);
    assert_int_equal(program_request_get(&in, buf, len), 0);
    assert_int_equal(in.verb, PROGRAM_ADDCAP);
    assert_int_equal(in.a, 1);
    assert_int_equal(in.b, -2);
    assert_true(elan_capability_equal(&cap, &got));
    for (size_t n = 0; n < len; n++)
        assert_int_equal(program_request_get(&in, buf, n), -1);
    r = (struct program_request){.verb = PROGRAM_NCAPS};
    len = program_request_put(buf, &r);
    buf[len] = 0;
    assert_int_equal(program_request_get(&in, buf, len + 1), -1);
    buf[7] = PROGRAM_VERBS;
    assert_int_equal(program_request_get(&in, buf, len), -1);
}

static void replies_carry_errno_or_an_answer(void **state)
{
    struct program_stats s = {1, 2, 3, 4, 5, 6, 7, 1}, got;
    uint8_t buf[256];
    struct be_writer w;
    struct be_reader r;

    program_reply_begin(&w, buf, sizeof(buf), EPERM);
    assert_int_equal(program_reply_open(&r, buf, w.len), EPERM);
    program_reply_begin(&w, buf, sizeof(buf), 0);
    program_stats_put(&w, &s);
    assert_int_equal(program_reply_open(&r, buf, w.len), 0);
    program_stats_get(&r, &got);
    assert_true(be_reader_done(&r));
    assert_memory_equal(&s, &got, sizeof(s));
    assert_int_equal(program_reply_open(&r, buf, 7), EPROTO);
    buf[0] ^= 1;
    assert_int_equal(program_reply_open(&r, buf, w.len), EPROTO);
}

static void rights_are_for_members_owners_and_root(void **state)
{
    assert_int_equal(program_verb_right(PROGRAM_GETCAP), PROGRAM_MEMBER);
    assert_int_equal(program_verb_right(PROGRAM_SETCAP), PROGRAM_MEMBER);
    assert_int_equal(program_verb_right(PROGRAM_NCAPS), PROGRAM_MEMBER);
    assert_int_equal(program_verb_right(PROGRAM_SIGNAL), PROGRAM_OWNER);
    assert_int_equal(program_verb_right(PROGRAM_ADDCAP), PROGRAM_ROOT);
    assert_int_equal(program_verb_right(PROGRAM_DESTROY), PROGRAM_ROOT);
    assert_int_equal(program_verb_right(PROGRAM_VERBS), PROGRAM_ROOT);
}

static void stat_survives_a_hostile_command_name(void **state)
{
    uint64_t start = 0;
    pid_t ppid = 0;

    assert_int_equal(
        proc_parse_stat("12 (a) S 1 (x) 7) S 42 12 12 0 -1 4194560 1 2 3 4 5 "
                        "6 7 8 20 0 1 0 98765 1 2\n",
                        &ppid, &start),
        0);
    assert_int_equal(ppid, 42);
    assert_int_equal(start, 98765);
    assert_int_equal(proc_parse_stat("12 (sh", &ppid, &start), -1);
    assert_int_equal(proc_parse_stat("12 (sh) S 1 2 3", &ppid, &start), -1);
    assert_int_equal(proc_parse_stat("", &ppid, &start), -1);
}

static void cgroup2_line_is_found_among_others(void **state)
{
    char path[64];

    assert_int_equal(proc_parse_cgroup2("5:freezer:/a\n1:name=systemd:/b\n"
                                        "0::/system.slice/x:y\n",
                                        path, sizeof(path)),
                     0);
    assert_string_equal(path, "/system.slice/x:y");
    assert_int_equal(proc_parse_cgroup2("5:freezer:/a\n", path, 64), -1);
    assert_int_equal(proc_parse_cgroup2("0::/a/long/path\n", path, 8), -1);
    assert_int_equal(proc_parse_cgroup2("garbage", path, 64), -1);
}

static const char mountinfo[] =
    "30 1 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n"
    "31 30 0:27 /.. /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    "32 30 0:28 / /sys/fs/cgroup/freezer rw - cgroup cgroup rw,freezer\n"
    "33 30 0:29 / /sys/fs/cgroup/cpu\\040acct rw - cgroup none rw,cpu,cpuacct\n"
    "34 30 0:27 / /mnt/two shared:9 - cgroup2 cgroup2 rw\n";

static void mounts_are_found_whole_ones_first(void **state)
{
    char path[64];

    assert_int_equal(proc_find_cgroup_mount(mountinfo, NULL, path, 64), 0);
    assert_string_equal(path, "/mnt/two");
    assert_int_equal(proc_find_cgroup_mount(mountinfo, "freezer", path, 64), 0);
    assert_string_equal(path, "/sys/fs/cgroup/freezer");
    assert_int_equal(proc_find_cgroup_mount(mountinfo, "cpuacct", path, 64), 0);
    assert_string_equal(path, "/sys/fs/cgroup/cpu acct");
    assert_int_equal(proc_find_cgroup_mount(mountinfo, "memory", path, 64), -1);
    assert_int_equal(proc_find_cgroup_mount("", NULL, path, 64), -1);
}

static void flat_files_and_status_are_read_by_key(void **state)
{
    const char *stat = "usage_usec 30\nuser_usec 20\nsystem_usec 10\n";
    const char *status = "Name:\tVmHWM\nVmHWM:\t    1234 kB\nVmRSS:\t  99 kB\n";

    assert_int_equal(proc_parse_flat(stat, "user_usec"), 20);
    assert_int_equal(proc_parse_flat(stat, "system_usec"), 10);
    assert_int_equal(
        proc_parse_flat("populated_x 3\npopulated 1\n", "populated"), 1);
    assert_int_equal(proc_parse_flat(stat, "user"), 0);
    assert_int_equal(proc_parse_status_kb(status, "VmHWM"), 1234);
    assert_int_equal(proc_parse_status_kb(status, "VmRSS"), 99);
    assert_int_equal(proc_parse_status_kb(status, "VmSwap"), 0);
}

static void slurms_own_groups_are_recognised(void **state)
{
    char user[128];

    assert_true(proc_slurm_step_group(
        "/system.slice/n0_slurmstepd.scope/job_7/step_0/slurm", user, 128));
    assert_string_equal(user,
                        "/system.slice/n0_slurmstepd.scope/job_7/step_0/user");
    assert_false(proc_slurm_step_group("/job_7/step_0/slurm", user, 8));
    assert_false(proc_slurm_step_group("/job_7/step_0/user", user, 128));
    assert_false(proc_slurm_step_group("/x/step_0/slurm", user, 128));
    assert_false(proc_slurm_step_group("/job_x/step_0/slurm", user, 128));
    assert_false(proc_slurm_step_group("/slurm", user, 128));
    assert_false(proc_slurm_step_group("/", user, 128));
    assert_true(proc_in_slurm_job("/slurm_n0/uid_1000/job_12"));
    assert_true(proc_in_slurm_job("/x/job_12/step_0/slurm"));
    assert_false(proc_in_slurm_job("/system.slice/slurmd.service"));
    assert_false(proc_in_slurm_job("/my_job_12"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capabilities_come_in_order_and_once),
        cmocka_unit_test(a_context_has_one_process),
        cmocka_unit_test(descendants_have_their_tasks_context),
        cmocka_unit_test(same_pid_with_another_start_is_another_process),
        cmocka_unit_test(requests_survive_the_wire),
        cmocka_unit_test(replies_carry_errno_or_an_answer),
        cmocka_unit_test(rights_are_for_members_owners_and_root),
        cmocka_unit_test(stat_survives_a_hostile_command_name),
        cmocka_unit_test(cgroup2_line_is_found_among_others),
        cmocka_unit_test(mounts_are_found_whole_ones_first),
        cmocka_unit_test(flat_files_and_status_are_read_by_key),
        cmocka_unit_test(slurms_own_groups_are_recognised),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * The order of the calls on a node, with a stand-in for the calls.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elan_util.h"

#include "plugins/switch_elan/node_program.h"
#include "plugins/switch_elan/state_file.h"

static char calls[512];
static int fail_create, fail_addcap, fail_ready, fail_setcap;

static int note(const char *call, int error)
{
    strncat(calls, call, sizeof(calls) - strlen(calls) - 1);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

static int sham_create(struct program_handle *h,
                       const struct program_spec *spec, struct errbuf *err)
{
    *h = PROGRAM_HANDLE_NONE;
    assert_int_equal(spec->ncaps, 2);
    return note("create ", fail_create);
}

static int sham_addcap(const struct program_handle *h, int index,
                       const struct elan_capability *cap)
{
    return note(index == 0 ? "addcap0 " : "addcap1 ",
                index == 1 ? fail_addcap : 0);
}

static int sham_ready(struct program_handle *h, struct errbuf *err)
{
    errprintf(err, "sham");
    return note("ready ", fail_ready);
}

static void sham_release(struct program_handle *h)
{
    note("release ", 0);
}

static int sham_destroy(struct program_handle *h, struct program_stats *stats,
                        struct errbuf *err)
{
    return note("destroy ", 0);
}

static int sham_suspend(const struct program_handle *h, bool stop)
{
    return note(stop ? "suspend " : "resume ", 0);
}

static int sham_setcap(const struct program_handle *h, int index, int ctx)
{
    return note(index == 0 ? "setcap0 " : "setcap1 ", fail_setcap);
}

static const struct node_rms sham = {
    sham_create,  sham_addcap,  sham_ready,  sham_release,
    sham_destroy, sham_suspend, sham_setcap,
};

static const struct program_spec spec = {.number = 9, .uid = 1000};

static void make_payload(struct elan_payload *p, struct elan_capability caps[2])
{
    memset(caps, 0x55, 2 * sizeof(*caps));
    *p = (struct elan_payload){.prognum = 9, .ncaps = 2, .caps = caps};
}

static bool keys_are_wiped(const struct elan_capability caps[2])
{
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < ELAN_USERKEY_ENTRIES; j++)
            if (caps[i].UserKey.Values[j] != 0)
                return false;
    return true;
}

static int setup(void **state)
{
    calls[0] = '\0';
    fail_create = fail_addcap = fail_ready = fail_setcap = 0;
    return 0;
}

static void program_then_capabilities_then_members(void **state)
{
    struct elan_capability caps[2];
    struct elan_payload payload;
    struct node_program p;
    struct program_stats stats;

    make_payload(&payload, caps);
    assert_int_equal(node_program_begin(&p, &sham, &spec, &payload, NULL), 0);
    assert_true(keys_are_wiped(caps));
    assert_int_equal(node_program_ready(&p, NULL), 0);
    assert_int_equal(node_program_ready(&p, NULL), 0);
    assert_int_equal(node_program_enter(&p, 3, NULL), 0);
    assert_int_equal(node_program_end(&p, &stats, NULL), 0);
    assert_string_equal(
        calls, "create addcap0 addcap1 ready setcap0 setcap1 destroy ");
}

static void destroyed_once(void **state)
{
    struct elan_capability caps[2];
    struct elan_payload payload;
    struct node_program p = {0};
    struct program_stats stats;

    assert_int_equal(node_program_end(&p, &stats, NULL), 0); /* never begun */
    make_payload(&payload, caps);
    node_program_begin(&p, &sham, &spec, &payload, NULL);
    node_program_end(&p, &stats, NULL);
    node_program_end(&p, &stats, NULL);
    node_program_suspend(&p, true, NULL);
    assert_string_equal(calls, "create addcap0 addcap1 ready destroy ");
    assert_int_equal(node_program_enter(&p, 0, NULL), -1);
}

static void each_failure_names_call_and_errno(void **state)
{
    static const int errors[] = {EPERM, ENOMEM, EEXIST, EAGAIN, EINVAL, ENODEV};
    struct elan_capability caps[2];
    struct elan_payload payload;
    struct node_program p;
    struct program_stats stats;
    struct errbuf err;

    for (uint32_t i = 0; i < N_OF(errors); i++) {
        setup(state);
        fail_create = errors[i];
        make_payload(&payload, caps);
        assert_int_equal(node_program_begin(&p, &sham, &spec, &payload, &err),
                         -1);
        assert_int_equal(errno, errors[i]);
        assert_non_null(strstr(err.text, "rms_prgcreate(9): "));
        assert_non_null(strstr(err.text, strerror(errors[i])));
        assert_true(keys_are_wiped(caps));
        assert_string_equal(calls, "create ");

        setup(state);
        fail_addcap = errors[i];
        make_payload(&payload, caps);
        assert_int_equal(node_program_begin(&p, &sham, &spec, &payload, &err),
                         -1);
        assert_int_equal(errno, errors[i]);
        assert_non_null(strstr(err.text, "rms_prgaddcap(9, 1): "));
        assert_non_null(strstr(err.text, strerror(errors[i])));
        assert_true(keys_are_wiped(caps));
        assert_string_equal(calls, "create addcap0 addcap1 release ");

        setup(state);
        fail_ready = errors[i];
        make_payload(&payload, caps);
        assert_int_equal(node_program_begin(&p, &sham, &spec, &payload, &err),
                         0);
        assert_int_equal(node_program_ready(&p, &err), -1);
        assert_int_equal(errno, errors[i]);
        assert_non_null(strstr(err.text, "rms_prgcreate(9): "));
        assert_non_null(strstr(err.text, strerror(errors[i])));
        assert_int_equal(node_program_end(&p, &stats, &err), 0);
        assert_string_equal(calls, "create addcap0 addcap1 ready ");
    }
}

static void failing_setcap_is_named(void **state)
{
    struct elan_capability caps[2];
    struct elan_payload payload;
    struct node_program p;
    struct errbuf err;

    make_payload(&payload, caps);
    node_program_begin(&p, &sham, &spec, &payload, NULL);
    assert_int_equal(node_program_enter(&p, 2, &err), -1);
    assert_int_equal(errno, ENOENT); /* not yet */
    node_program_ready(&p, NULL);
    fail_setcap = EBUSY;
    assert_int_equal(node_program_enter(&p, 2, &err), -1);
    assert_non_null(strstr(err.text, "rms_setcap(0, 2): "));
}

/* A child that ends on SIGTERM, or does not. */
/* Who keeps the agent answers for it; one that is gone kept none. */
static void agent_is_ended_by_who_keeps_it(void **state)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(send(pair[1], "0", 1, 0), 1);
    assert_int_equal(node_stop_agent(pair[0], 5000), 0);
    assert_int_equal(send(pair[1], "1", 1, 0), 1);
    assert_int_equal(node_stop_agent(pair[0], 5000), -1);
    assert_int_equal(errno, ETIME);
    errno = 0;
    assert_int_equal(node_stop_agent(pair[0], 1), -1); /* no answer */
    assert_int_equal(errno, ETIME);
    close(pair[1]);
    assert_int_equal(node_stop_agent(pair[0], 5000), 0);
    close(pair[0]);
    assert_int_equal(node_stop_agent(-1, 5000), 0);
}

static void state_file_is_private_and_replaced_whole(void **state)
{
    char dir[] = "/tmp/sf-state-XXXXXX", path[128], *text;
    struct errbuf err;
    struct stat st;

    assert_non_null(mkdtemp(dir));
    assert_int_equal(state_file_read(dir, &text, &err), 0);
    assert_null(text);
    assert_int_equal(state_file_write(dir, "one\n", &err), 0);
    assert_int_equal(state_file_write(dir, "two\n", &err), 0);
    assert_int_equal(state_file_read(dir, &text, &err), 0);
    assert_string_equal(text, "two\n");
    free(text);
    snprintf(path, sizeof(path), "%s/" STATE_FILE_NAME, dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    unlink(path);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_int_equal(state_file_read(dir, &text, &err), -1);
    unlink(path);
    rmdir(dir);
    assert_int_equal(state_file_write(dir, "x", &err), -1);
    assert_non_null(strstr(err.text, dir));
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(program_then_capabilities_then_members),
        TEST(destroyed_once),
        TEST(each_failure_names_call_and_errno),
        TEST(failing_setcap_is_named),
        TEST(agent_is_ended_by_who_keeps_it),
        TEST(state_file_is_private_and_replaced_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

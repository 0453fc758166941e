/* SPDX-License-Identifier: BSD-3-Clause
 * The order of the calls on a node, with a stand-in for the calls, and the
 * file that survives slurmctld.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "elan/capability.h"
#include "elan/state.h"
#include "elan_util.h"
#include "plugins/switch_elan/node_program.h"
#include "plugins/switch_elan/state_file.h"

/* What the stand-in was asked, and which call is to fail with what. */
static struct {
    char trace[512];
    const char *failing;
    int code;
    bool key_seen;
} standin;

static int called(const char *name, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static int called(const char *name, const char *fmt, ...)
{
    size_t len = strlen(standin.trace);
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(standin.trace + len, sizeof(standin.trace) - len, fmt, ap);
    va_end(ap);
    if (!standin.failing || strcmp(standin.failing, name) != 0)
        return 0;
    errno = standin.code;
    return -1;
}

static int in_create(struct program_handle *h, const struct program_spec *spec,
                     struct errbuf *err)
{
    *h = PROGRAM_HANDLE_NONE;
    if (called("create", "create(%d,%u) ", spec->number, spec->uid) == 0)
        return 0;
    return errprintf(err, "stand-in");
}

static int in_addcap(const struct program_handle *h, int index,
                     const struct elan_capability *cap)
{
    standin.key_seen = cap->UserKey.Values[0] == 1;
    return called("addcap", "addcap(%d) ", index);
}

static int in_ready(struct program_handle *h, struct errbuf *err)
{
    errprintf(err, "stand-in");
    return called("ready", "ready ");
}

static void in_release(struct program_handle *h)
{
    called("release", "release ");
}

static int in_destroy(struct program_handle *h, struct program_stats *stats,
                      struct errbuf *err)
{
    stats->seen = 3;
    return called("destroy", "destroy ");
}

static int in_suspend(const struct program_handle *h, bool stop)
{
    return called("suspend", stop ? "suspend " : "resume ");
}

static int in_setcap(const struct program_handle *h, int index, int ctx)
{
    return called("setcap", "setcap(%d,%d) ", index, ctx);
}

static const struct node_rms rms = {in_create,  in_addcap,  in_ready,
                                    in_release, in_destroy, in_suspend,
                                    in_setcap};

static const struct program_spec spec = {.number = 17, .uid = 1000};

static struct elan_payload payload(void)
{
    struct elan_payload p = {.prognum = 17, .ncaps = 2};

    p.layout = even_layout(1, 0, 2, false);
    p.caps = calloc(2, sizeof(*p.caps));
    for (uint32_t i = 0; i < 2; i++) {
        struct elan_capability_spec cap = {&p.layout,      0,    0x400, 2,
                                           {{1, 2, 3, 4}}, false};

        assert_int_equal(elan_capability_build(&p.caps[i], &cap, NULL), 0);
    }
    return p;
}

/* Begin with one call failing (NULL: none); returns what begin returned. */
static int begin(struct node_program *p, const char *failing, int code,
                 struct errbuf *err)
{
    struct elan_payload pay = payload();
    const struct elan_userkey wiped = {{0}};
    int rc, saved;

    memset(&standin, 0, sizeof(standin));
    standin.failing = failing;
    standin.code = code;
    errno = 0;
    rc = node_program_begin(p, &rms, &spec, &pay, err);
    saved = errno;
    assert_memory_equal(&pay.caps[0].UserKey, &wiped, sizeof(wiped));
    assert_memory_equal(&pay.caps[1].UserKey, &wiped, sizeof(wiped));
    elan_payload_free(&pay);
    errno = saved;
    return rc;
}

static void program_and_capabilities_before_members(void **state)
{
    struct node_program p;
    struct program_stats stats;

    assert_int_equal(begin(&p, NULL, 0, NULL), 0);
    assert_true(standin.key_seen);
    assert_int_equal(node_program_ready(&p, NULL), 0);
    assert_int_equal(node_program_enter(&p, 1, NULL), 0);
    assert_int_equal(node_program_suspend(&p, true, NULL), 0);
    assert_int_equal(node_program_suspend(&p, false, NULL), 0);
    assert_int_equal(node_program_end(&p, &stats, NULL), 0);
    assert_int_equal(stats.seen, 3);
    assert_string_equal(standin.trace,
                        "create(17,1000) addcap(0) addcap(1) ready setcap(0,1) "
                        "setcap(1,1) suspend resume destroy ");
}

static void program_is_destroyed_once(void **state)
{
    struct node_program p;
    struct program_stats stats;

    assert_int_equal(begin(&p, NULL, 0, NULL), 0);
    assert_int_equal(node_program_end(&p, &stats, NULL), 0);
    standin.trace[0] = '\0';
    assert_int_equal(node_program_end(&p, &stats, NULL), 0);
    assert_int_equal(node_program_suspend(&p, true, NULL), 0);
    assert_int_equal(node_program_enter(&p, 0, NULL), -1);
    assert_int_equal(errno, ENOENT);
    assert_string_equal(standin.trace, "");
}

static const int codes[] = {EPERM,  ENOENT, EAGAIN, ENOMEM, EACCES,
                            EEXIST, EINVAL, ENOSPC, EPROTO, ETIMEDOUT};

static void each_failure_of_prgcreate_is_named(void **state)
{
    struct node_program p;
    struct errbuf err;
    char want[256];

    for (uint32_t i = 0; i < N_OF(codes); i++) {
        assert_int_equal(begin(&p, "create", codes[i], &err), -1);
        assert_int_equal(errno, codes[i]);
        snprintf(want, sizeof(want), "rms_prgcreate(17): %s (stand-in)",
                 strerror(codes[i]));
        assert_string_equal(err.text, want);
        assert_string_equal(standin.trace, "create(17,1000) ");
        assert_false(p.live);
    }
}

static void each_failure_of_prgaddcap_is_named(void **state)
{
    struct node_program p;
    struct errbuf err;
    char want[256];

    for (uint32_t i = 0; i < N_OF(codes); i++) {
        assert_int_equal(begin(&p, "addcap", codes[i], &err), -1);
        assert_int_equal(errno, codes[i]);
        snprintf(want, sizeof(want), "rms_prgaddcap(17, 0): %s",
                 strerror(codes[i]));
        assert_string_equal(err.text, want);
        /* Nothing is left behind. */
        assert_string_equal(standin.trace,
                            "create(17,1000) addcap(0) release ");
        assert_false(p.live);
    }
}

static void setcap_that_fails_is_named(void **state)
{
    struct node_program p;
    struct program_stats stats;
    struct errbuf err;

    assert_int_equal(begin(&p, "setcap", EBUSY, NULL), 0);
    assert_int_equal(node_program_ready(&p, NULL), 0);
    assert_int_equal(node_program_enter(&p, 1, &err), -1);
    assert_string_equal(err.text, "rms_setcap(0, 1): Device or resource busy");
    assert_int_equal(node_program_end(&p, &stats, NULL), 0);
}

/* ---- the state file --------------------------------------------------------
 */

static char dir[] = "/tmp/test_elan_node.XXXXXX";

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    return rmdir(dir);
}

static void state_file_is_replaced_and_private(void **state)
{
    char path[256], *text;
    struct stat st;

    assert_int_equal(state_file_read(dir, &text, NULL), 0);
    assert_null(text);
    assert_int_equal(state_file_write(dir, "one\n", NULL), 0);
    assert_int_equal(state_file_write(dir, "two\n", NULL), 0);
    assert_int_equal(state_file_read(dir, &text, NULL), 0);
    assert_string_equal(text, "two\n");
    free(text);
    snprintf(path, sizeof(path), "%s/" STATE_FILE_NAME, dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(unlink(path), 0);
}

static void state_file_that_cannot_be_is_told(void **state)
{
    char path[256], *text;
    struct errbuf err;

    assert_int_equal(state_file_write("/nonexistent", "x", &err), -1);
    assert_string_equal(err.text, "/nonexistent/" STATE_FILE_NAME
                                  ": No such file or directory");
    /* A link is not followed, whoever planted it. */
    snprintf(path, sizeof(path), "%s/" STATE_FILE_NAME, dir);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(state_file_read(dir, &text, &err), -1);
    assert_null(text);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_and_capabilities_before_members),
        cmocka_unit_test(program_is_destroyed_once),
        cmocka_unit_test(each_failure_of_prgcreate_is_named),
        cmocka_unit_test(each_failure_of_prgaddcap_is_named),
        cmocka_unit_test(setcap_that_fails_is_named),
        cmocka_unit_test(state_file_is_replaced_and_private),
        cmocka_unit_test(state_file_that_cannot_be_is_told),
    };

    return cmocka_run_group_tests_name("elan_node", tests, make_dir,
                                       remove_dir);
}

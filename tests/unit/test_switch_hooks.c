/* SPDX-License-Identifier: BSD-3-Clause
 * switch_elan.so as Slurm's daemons load it, with stand-ins for what they
 * export: every hook is there, and none minds NULL, never-built or repeated
 * arguments.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elan_util.h"
#include "elan/elanvp.h"
#include "plugins/switch_elan/jobinfo.h"
#include "slurmabi/layout.h"
#include "slurmabi/slurm_sym.h"

/* ---- what a daemon exports ------------------------------------------------
 */

struct slurmabi_buf {
    char data[4096];
    uint32_t len;
    uint32_t pos;
};

static struct {
    bool ctld;
    int errors; /* lines of slurm_error() */
    char last[512];
} host;

slurm_conf_t slurm_conf;

void slurm_packmem(void *data, uint32_t len, struct slurmabi_buf *buf)
{
    assert_true(buf->len + 4 + len <= sizeof(buf->data));
    memcpy(buf->data + buf->len, &len, 4);
    memcpy(buf->data + buf->len + 4, data, len);
    buf->len += 4 + len;
}

int slurm_unpackmem_xmalloc(char **data, uint32_t *len,
                            struct slurmabi_buf *buf)
{
    *data = NULL;
    if (buf->len - buf->pos < 4)
        return SLURM_ERROR;
    memcpy(len, buf->data + buf->pos, 4);
    buf->pos += 4;
    if (*len > buf->len - buf->pos)
        return SLURM_ERROR;
    *data = malloc(*len + 1);
    memcpy(*data, buf->data + buf->pos, *len);
    buf->pos += *len;
    return SLURM_SUCCESS;
}

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool can_fail,
                    const char *file, int line, const char *func)
{
    return calloc(count, size);
}

void slurm_xfree(void **item)
{
    free(*item);
    *item = NULL;
}

int slurm_setenvpf(char ***env, const char *name, const char *fmt, ...)
{
    return 1;
}

bool slurm_running_in_slurmctld(void)
{
    return host.ctld;
}

bool slurm_running_in_slurmd(void)
{
    return false;
}

void *slurm_cred_get_args(struct slurmabi_cred *cred)
{
    return NULL;
}

void slurm_cred_unlock_args(struct slurmabi_cred *cred)
{
}

void slurm_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(host.last, sizeof(host.last), fmt, ap);
    va_end(ap);
    host.errors++;
}

void slurm_info(const char *fmt, ...)
{
}

void slurm_debug(const char *fmt, ...)
{
}

/* ---- the plugin -------------------------------------------------------------
 */

static void *plugin;
static char state_dir[] = "/tmp/test_switch_hooks.XXXXXX";

/* dlsym() gives an object pointer; a hook is a function. */
#define HOOK(name) ((__typeof__(&name))(uintptr_t)sym(#name))

static void *sym(const char *name)
{
    void *p = dlsym(plugin, name);

    if (!p)
        fail_msg("no symbol %s", name);
    return p;
}

static int load(void **state)
{
    const char *top = getenv("SF_TOP_BUILDDIR");
    char path[4096];

    snprintf(path, sizeof(path),
             "%s/src/plugins/switch_elan/.libs/switch_elan.so",
             top ? top : ".");
    plugin = dlopen(path, RTLD_NOW);
    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return -1;
    }
    slurm_conf.authinfo = strdup("socket=/nonexistent/munge");
    slurm_conf.state_save_location = mkdtemp(state_dir);
    slurm_conf.cluster_name = strdup("test");
    host.ctld = true;
    return slurm_conf.state_save_location ? 0 : -1;
}

static int unload(void **state)
{
    int (*fini)(void) = (int (*)(void))(uintptr_t)sym("fini");
    char path[256];

    fini();
    snprintf(path, sizeof(path), "%s/switch_elan_state", state_dir);
    unlink(path);
    rmdir(state_dir);
    free(slurm_conf.authinfo);
    free(slurm_conf.cluster_name);
    return dlclose(plugin);
}

static void sl_01_name_type_version_and_id(void **state)
{
    assert_string_equal((char *)sym("plugin_type"), "switch/elan");
    assert_int_equal(*(uint32_t *)sym("plugin_version"), SLURM_VERSION_NUMBER);
    assert_true(*(uint32_t *)sym("plugin_id") >= 106);
    assert_true(strlen((char *)sym("plugin_name")) > 0);
}

static void sl_02_every_hook_is_there(void **state)
{
    static const char *const hooks[] = {
        "plugin_id",
        "switch_p_libstate_save",
        "switch_p_libstate_restore",
        "switch_p_alloc_jobinfo",
        "switch_p_build_jobinfo",
        "switch_p_duplicate_jobinfo",
        "switch_p_free_jobinfo",
        "switch_p_pack_jobinfo",
        "switch_p_unpack_jobinfo",
        "switch_p_get_jobinfo",
        "switch_p_job_preinit",
        "switch_p_job_init",
        "switch_p_job_suspend_test",
        "switch_p_job_suspend_info_get",
        "switch_p_job_suspend_info_pack",
        "switch_p_job_suspend_info_unpack",
        "switch_p_job_suspend_info_free",
        "switch_p_job_suspend",
        "switch_p_job_resume",
        "switch_p_job_fini",
        "switch_p_job_postfini",
        "switch_p_job_attach",
        "switch_p_job_step_complete",
        "switch_p_job_step_allocated",
        "switch_p_libstate_clear",
        "switch_p_reconfig",
        "switch_p_job_step_pre_suspend",
        "switch_p_job_step_post_suspend",
        "switch_p_job_step_pre_resume",
        "switch_p_job_step_post_resume",
        "switch_p_job_complete",
    };

    assert_int_equal(N_OF(hooks), 31);
    for (uint32_t i = 0; i < N_OF(hooks); i++)
        sym(hooks[i]);
}

/* Nothing of the plugin's inside may meet a name of a daemon's. */
static void sl_02_nothing_but_hooks_is_seen(void **state)
{
    static const char *const inside[] = {"errprintf", "be_get32", "mac_sign",
                                         "elan_partition_build", "seal_make"};

    for (uint32_t i = 0; i < N_OF(inside); i++)
        assert_null(dlsym(plugin, inside[i]));
}

static void sl_03_init_is_silent(void **state)
{
    int (*init)(void) = (int (*)(void))(uintptr_t)sym("init");
    int (*fini)(void) = (int (*)(void))(uintptr_t)sym("fini");

    host.errors = 0;
    assert_int_equal(init(), SLURM_SUCCESS);
    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(init(), SLURM_SUCCESS);
    assert_int_equal(host.errors, 0);
}

/* As srun of any user loads it: it may not need more, and prints nothing. */
static void sl_03_init_of_nobody_prints_nothing(void **state)
{
    int (*init)(void) = (int (*)(void))(uintptr_t)sym("init");
    int out[2], status;
    pid_t pid;
    char c;

    host.errors = 0;
    assert_int_equal(pipe(out), 0);
    pid = fork();
    if (pid == 0) {
        if (dup2(out[1], 1) < 0 || dup2(out[1], 2) < 0 ||
            (geteuid() == 0 && setuid(65534) < 0))
            _exit(2);
        _exit(init() == SLURM_SUCCESS && host.errors == 0 ? 0 : 1);
    }
    close(out[1]);
    assert_int_equal(read(out[0], &c, 1), 0);
    close(out[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void sl_02_no_hook_minds_null(void **state)
{
    struct switch_jobinfo *j = (void *)1;
    struct slurmabi_buf buf = {.len = 0};
    void *info = (void *)1;

    assert_int_equal(HOOK(switch_p_build_jobinfo)(NULL, NULL, NULL),
                     SLURM_ERROR);
    assert_int_equal(errno, ESLURM_INTERCONNECT_FAILURE);
    assert_int_equal(HOOK(switch_p_duplicate_jobinfo)(NULL, &j), 0);
    assert_null(j);
    HOOK(switch_p_free_jobinfo)(NULL);
    assert_int_equal(HOOK(switch_p_get_jobinfo)(NULL, 0, NULL), SLURM_ERROR);
    assert_int_equal(HOOK(switch_p_job_suspend_test)(NULL), 0);
    HOOK(switch_p_job_suspend_info_get)(NULL, &info);
    assert_null(info);
    HOOK(switch_p_job_suspend_info_get)(NULL, NULL);
    HOOK(switch_p_job_suspend_info_pack)(NULL, &buf, 0);
    assert_int_equal(HOOK(switch_p_job_suspend_info_unpack)(&info, &buf, 0), 0);
    HOOK(switch_p_job_suspend_info_free)(NULL);
    assert_int_equal(HOOK(switch_p_job_suspend)(NULL, 0), 0);
    assert_int_equal(HOOK(switch_p_job_resume)(NULL, 0), 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(NULL, NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_allocated)(NULL, NULL), 0);
    HOOK(switch_p_job_complete)(7);
    HOOK(switch_p_job_complete)(7);
    assert_int_equal(HOOK(switch_p_libstate_clear)(), 0);
}

static void sl_02_node_hooks_without_a_program(void **state)
{
    char **env = NULL;

    /* A refused step goes on to its tasks, and not one of them gets past. */
    assert_int_equal(HOOK(switch_p_job_init)(NULL), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_attach)(NULL, &env, 0, 0, 1, 1, 0),
                     SLURM_ERROR);
    assert_int_equal(HOOK(switch_p_job_fini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_fini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_postfini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_postfini)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_pre_suspend)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_post_suspend)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_pre_resume)(NULL), 0);
    assert_int_equal(HOOK(switch_p_job_step_post_resume)(NULL), 0);
}

static void sl_08_pack_and_unpack_null_and_never_built(void **state)
{
    struct slurmabi_buf buf = {.len = 0};
    struct switch_jobinfo *j, *got = NULL;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(NULL, &buf, 0), 0);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(j, &buf, 0), 0);
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 0);
    HOOK(switch_p_free_jobinfo)(got);
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 42);
    assert_int_equal(got->info.prognum, 0);
    HOOK(switch_p_free_jobinfo)(got);
    /* The end of the buffer, and a blob that is none. */
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), SLURM_ERROR);
    assert_null(got);
    host.ctld = false;
    slurm_packmem("rubbish", 7, &buf);
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), SLURM_ERROR);
    assert_null(got);
    assert_non_null(strstr(host.last, "SF-E110"));
    host.ctld = true;
    HOOK(switch_p_free_jobinfo)(j);
}

/* A slurmctld that is told of an error ends, and so at each new start: its
 * state stays.  What could not be packed for want of memory is empty there. */
static void sl_11_step_that_cannot_be_read_does_not_end_slurmctld(void **state)
{
    struct slurmabi_buf buf = {.len = 0};
    struct switch_jobinfo *j, *got;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(j, &buf, 0), 0);
    buf.data[4 + 4 + 1]++; /* behind length and magic: the version */
    slurm_packmem("", 0, &buf);
    assert_int_equal(HOOK(switch_p_pack_jobinfo)(j, &buf, 0), 0);
    for (int i = 0; i < 2; i++) {
        host.errors = 0;
        got = NULL;
        assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
        assert_int_equal(host.errors, 1);
        assert_non_null(strstr(host.last, "SF-E114"));
        assert_int_equal(HOOK(switch_p_job_step_allocated)(got, "n0"), 0);
        assert_int_equal(HOOK(switch_p_job_step_complete)(got, "n0"), 0);
        HOOK(switch_p_free_jobinfo)(got);
    }
    assert_int_equal(HOOK(switch_p_unpack_jobinfo)(&got, &buf, 0), 0);
    assert_int_equal(got->info.job_id, 42);
    HOOK(switch_p_free_jobinfo)(got);
    HOOK(switch_p_free_jobinfo)(j);
}

static void sl_10_never_built_job_info_in_every_order(void **state)
{
    struct switch_jobinfo *j, *copy;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    HOOK(switch_p_job_complete)(42);
    assert_int_equal(HOOK(switch_p_job_step_allocated)(j, "n0"), 0);
    errno = ESLURM_INTERCONNECT_BUSY;
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(errno, ESLURM_INTERCONNECT_BUSY);
    assert_int_equal(HOOK(switch_p_duplicate_jobinfo)(j, &copy), 0);
    assert_int_equal(copy->info.job_id, 42);
    HOOK(switch_p_free_jobinfo)(copy);
    HOOK(switch_p_free_jobinfo)(j);
}

static void sl_02_reconfig_and_state_any_number_of_times(void **state)
{
    host.errors = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(HOOK(switch_p_reconfig)(), 0);
        assert_int_equal(HOOK(switch_p_libstate_save)(state_dir), 0);
        assert_int_equal(HOOK(switch_p_libstate_restore)(state_dir, true), 0);
        assert_int_equal(HOOK(switch_p_libstate_restore)(state_dir, false), 0);
    }
    assert_int_equal(host.errors, 0);
    slurm_conf.switch_param = strdup("speed=11");
    assert_int_equal(HOOK(switch_p_reconfig)(), 0);
    assert_non_null(strstr(host.last, "speed=11: no such word"));
    free(slurm_conf.switch_param);
    slurm_conf.switch_param = NULL;
    assert_int_equal(HOOK(switch_p_reconfig)(), 0);
}

/* A step of job that was built once, with contexts of the node with Elan id 0
 * (0x500 and 0x501 if not said); what Slurm tells of each step that it
 * recovers. */
static void tell_of_wide_step(struct switch_jobinfo **j, uint32_t job,
                              uint32_t prognum, uint32_t low, uint32_t width)
{
    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(j, job, 0), 0);
    (*j)->info.prognum = prognum;
    (*j)->info.low_context = low;
    (*j)->info.ncontexts = width;
    (*j)->info.nnodes = 1;
    (*j)->info.nodes = calloc(1, sizeof(uint32_t));
    host.errors = 0;
    assert_int_equal(HOOK(switch_p_job_step_allocated)(*j, "n0"), 0);
}

static void tell_of_step(struct switch_jobinfo **j, uint32_t job,
                         uint32_t prognum)
{
    tell_of_wide_step(j, job, prognum, 0x500, 2);
}

/* A slurmctld that is in charge a second time gets the steps told anew: those
 * that ended in between are not among them, and their contexts are others'. */
static void sl_11_restore_forgets_what_was_live_before(void **state)
{
    struct switch_jobinfo *before, *other, *now;

    tell_of_step(&before, 1, 70);
    assert_int_equal(host.errors, 0);
    tell_of_step(&other, 2, 71);
    assert_int_equal(host.errors, 1);
    assert_non_null(strstr(host.last, "SF-E107"));
    assert_int_equal(HOOK(switch_p_libstate_restore)(state_dir, true), 0);
    tell_of_step(&now, 3, 72);
    assert_int_equal(host.errors, 0);
    assert_int_equal(HOOK(switch_p_job_step_complete)(now, "n0"), 0);
    HOOK(switch_p_free_jobinfo)(before);
    HOOK(switch_p_free_jobinfo)(other);
    HOOK(switch_p_free_jobinfo)(now);
}

/* A step as slurmctld has it, at the places of this version. */
struct records {
    char step[1024], job[2048];
};

static struct slurmabi_step *fill_records(struct records *r)
{
    const struct slurmabi_layout *l = slurmabi_layout();
    slurm_step_id_t id = {.job_id = 42, .step_het_comp = NO_VAL, .step_id = 7};
    const void *job = r->job;
    uint32_t job_id = 42, uid = 1000;

    memset(r, 0, sizeof(*r));
    memcpy(r->step, &l->step.magic, 4);
    memcpy(r->step + l->step.step_id, &id, sizeof(id));
    memcpy(r->step + l->step.job_ptr, &job, sizeof(job));
    memcpy(r->job, &l->job.magic, 4);
    memcpy(r->job + l->job.job_id, &job_id, 4);
    memcpy(r->job + l->job.user_id, &uid, 4);
    return (struct slurmabi_step *)r->step;
}

static void sl_02_hooks_after_fini_do_no_harm(void **state)
{
    int (*fini)(void) = (int (*)(void))(uintptr_t)sym("fini");
    struct switch_jobinfo *j;

    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(fini(), SLURM_SUCCESS);
    assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
    assert_int_equal(HOOK(switch_p_libstate_save)(state_dir), 0);
    HOOK(switch_p_free_jobinfo)(j);
}

/* Two tasks on n0: the code for Slurm. */
static int build_on_n0(struct switch_jobinfo *j)
{
    uint16_t tasks[] = {2};
    uint32_t tids0[] = {0, 1}, *tids[] = {tids0};
    slurm_step_layout_t layout = {.node_cnt = 1,
                                  .node_list = "n0",
                                  .tasks = tasks,
                                  .task_cnt = 2,
                                  .task_dist = SLURM_DIST_BLOCK,
                                  .tids = tids};
    struct records records;

    host.errors = 0;
    host.last[0] = '\0';
    assert_int_equal(
        HOOK(switch_p_build_jobinfo)(j, &layout, fill_records(&records)),
        SLURM_ERROR);
    return errno;
}

/* Slurm asks again for what is BUSY, and gives up on all else. */
static void sl_05_a_full_pool_is_told_as_busy(void **state)
{
    struct switch_jobinfo *all, *j;

    tell_of_wide_step(&all, 1, 70, ELAN_RMS_BASE_CONTEXT_NUM,
                      ELAN_RMS_TOP_CONTEXT_NUM - ELAN_RMS_BASE_CONTEXT_NUM + 1);
    assert_int_equal(host.errors, 0);
    assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
    assert_int_equal(build_on_n0(j), ESLURM_INTERCONNECT_BUSY);
    assert_null(strstr(host.last, "SF-E103"));
    assert_int_equal(HOOK(switch_p_job_step_complete)(all, "n0"), 0);
    /* There is room, but no munged. */
    assert_int_equal(build_on_n0(j), ESLURM_INTERCONNECT_FAILURE);
    HOOK(switch_p_free_jobinfo)(all);
    HOOK(switch_p_free_jobinfo)(j);
}

/* munged is not there: the step is refused for good, and nothing is kept. */
static void sl_10_failed_seal_keeps_nothing(void **state)
{
    struct switch_jobinfo *j;

    /* More often than there are contexts: a leak would turn FAILURE to BUSY. */
    for (int i = 0; i < 600; i++) {
        assert_int_equal(HOOK(switch_p_alloc_jobinfo)(&j, 42, 7), 0);
        assert_int_equal(build_on_n0(j), ESLURM_INTERCONNECT_FAILURE);
        assert_non_null(strstr(host.last, "SF-E103"));
        assert_int_equal(HOOK(switch_p_job_step_complete)(j, "n0"), 0);
        HOOK(switch_p_free_jobinfo)(j);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sl_01_name_type_version_and_id),
        cmocka_unit_test(sl_02_every_hook_is_there),
        cmocka_unit_test(sl_02_nothing_but_hooks_is_seen),
        cmocka_unit_test(sl_03_init_is_silent),
        cmocka_unit_test(sl_03_init_of_nobody_prints_nothing),
        cmocka_unit_test(sl_02_no_hook_minds_null),
        cmocka_unit_test(sl_02_node_hooks_without_a_program),
        cmocka_unit_test(sl_08_pack_and_unpack_null_and_never_built),
        cmocka_unit_test(sl_10_never_built_job_info_in_every_order),
        cmocka_unit_test(sl_02_reconfig_and_state_any_number_of_times),
        cmocka_unit_test(sl_11_restore_forgets_what_was_live_before),
        cmocka_unit_test(sl_11_step_that_cannot_be_read_does_not_end_slurmctld),
        cmocka_unit_test(sl_05_a_full_pool_is_told_as_busy),
        cmocka_unit_test(sl_02_hooks_after_fini_do_no_harm),
        cmocka_unit_test(sl_10_failed_seal_keeps_nothing),
    };

    return cmocka_run_group_tests_name("switch_hooks", tests, load, unload);
}

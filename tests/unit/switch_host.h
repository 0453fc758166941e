/* SPDX-License-Identifier: BSD-3-Clause
 * switch_elan.so as Slurm's daemons load it: stand-ins for what they export,
 * and what is the same with the hooks of every release.
 */
#ifndef TESTS_SWITCH_HOST_H
#define TESTS_SWITCH_HOST_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elan_util.h"
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

#if SLURMABI_SINCE(25, 5)
bool slurm_run_in_daemon(uint32_t daemons)
{
    return host.ctld && (daemons & 1u << 3);
}
#else
bool slurm_running_in_slurmctld(void)
{
    return host.ctld;
}

bool slurm_running_in_slurmd(void)
{
    return false;
}
#endif

void *slurm_cred_get_args(struct slurmabi_cred *cred)
{
    return NULL;
}

void slurm_cred_unlock_args(struct slurmabi_cred *cred)
{
}

/* Of a node's Extra: slurmctld does not answer. */
int slurm_load_node_single(node_info_msg_t **msg, char *name, uint16_t flags)
{
    return SLURM_ERROR;
}

int slurm_load_node(time_t as_of, node_info_msg_t **msg, uint16_t flags)
{
    return SLURM_ERROR;
}

void slurm_free_node_info_msg(node_info_msg_t *msg)
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

static bool no_random;

/* In place of that of the C library for the plugin, too. */
ssize_t getrandom(void *buf, size_t len, unsigned flags)
{
    if (!no_random)
        return syscall(SYS_getrandom, buf, len, flags);
    errno = EIO;
    return -1;
}

/* ---- the plugin -------------------------------------------------------------
 */

static void *plugin;
static char state_dir[] = "/tmp/test_switch_hooks.XXXXXX";

/* dlsym() gives an object pointer; a hook is a function. */
#define HOOK(name) ((__typeof__(&name))(uintptr_t)sym(NAME_OF(name)))
#define NAME_OF(name) NAME_OF_(name) /* the one that Slurm looks for */
#define NAME_OF_(name) #name

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

static void name_type_version_and_id(void **state)
{
    assert_string_equal((char *)sym("plugin_type"), "switch/elan");
    assert_int_equal(*(uint32_t *)sym("plugin_version"), SLURM_VERSION_NUMBER);
    assert_true(*(uint32_t *)sym("plugin_id") >= 106);
    assert_true(strlen((char *)sym("plugin_name")) > 0);
}

/* Nothing of the plugin's inside may meet a name of a daemon's. */
static void nothing_but_hooks_is_seen(void **state)
{
    static const char *const inside[] = {"errprintf", "be_get32", "mac_sign",
                                         "elan_partition_build", "seal_make"};

    for (uint32_t i = 0; i < N_OF(inside); i++)
        assert_null(dlsym(plugin, inside[i]));
}

static void init_is_silent(void **state)
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
static void init_of_nobody_prints_nothing(void **state)
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
    memcpy(r->step + l->step.magic_at, &l->step.magic, 4);
    memcpy(r->step + l->step.step_id, &id, sizeof(id));
    memcpy(r->step + l->step.job_ptr, &job, sizeof(job));
    memcpy(r->job + l->job.magic_at, &l->job.magic, 4);
    memcpy(r->job + l->job.job_id, &job_id, 4);
    memcpy(r->job + l->job.user_id, &uid, 4);
    return (struct slurmabi_step *)r->step;
}

#endif

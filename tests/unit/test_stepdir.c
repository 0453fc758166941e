/* SPDX-License-Identifier: BSD-3-Clause
 * The directory of a step and the socket in it.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugins/mpi_impi/stepdir.h"

#define OWN 8

static char parent[64];

static int make_parent(void **state)
{
    strcpy(parent, "/tmp/test_stepdir.XXXXXX");
    return mkdtemp(parent) && chmod(parent, 0755) == 0 ? 0 : -1;
}

static int remove_parent(void **state)
{
    return rmdir(parent); /* fails if a test left something */
}

static int step_dir; /* the last one's descriptor */

static int make(char *path, const char *name, struct errbuf *err)
{
    return stepdir_make(path, parent, name, getuid(), getgid(), &step_dir, err);
}

/* A child with another's ids could not: there is none. */
static void step_directory_with_its_socket_alone_needs_no_child(void **state)
{
    char path[STEPDIR_PATH_MAX];
    int fd = make(path, "1.0.0-1", NULL);

    assert_true(fd >= 0);
    close(fd);
    stepdir_remove(path, 65534, 65534, step_dir);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(fcntl(step_dir, F_GETFD), -1);
}

/* What has taken the name of the socket is left to the child. */
static void directory_in_place_of_the_socket_is_removed(void **state)
{
    char path[STEPDIR_PATH_MAX], sub[STEPDIR_PATH_MAX + 16];
    int fd = make(path, "1.0.0-1", NULL);

    assert_true(fd >= 0);
    close(fd);
    snprintf(sub, sizeof(sub), "%s/sock", path);
    assert_int_equal(unlink(sub), 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    stepdir_remove(path, getuid(), getgid(), step_dir);
    assert_int_equal(access(path, F_OK), -1);
}

static void step_directory_is_made_and_removed_with_all_in_it(void **state)
{
    char path[STEPDIR_PATH_MAX], bait[STEPDIR_PATH_MAX], deep[256], link[256];
    struct stat st;
    int fd = make(path, "1.0.0-1", NULL);

    assert_true(fd >= 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    close(fd);
    snprintf(bait, sizeof(bait), "%s/bait", parent);
    assert_int_equal(mkdir(bait, 0700), 0);
    snprintf(deep, sizeof(deep), "%s/a", path);
    assert_int_equal(mkdir(deep, 0700), 0);
    snprintf(link, sizeof(link), "%s/a/link", path);
    assert_int_equal(symlink(bait, link), 0);
    stepdir_remove(path, getuid(), getgid(), step_dir);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(rmdir(bait), 0); /* not followed */
}

static void step_directory_in_a_foreign_parent_is_refused(void **state)
{
    char path[STEPDIR_PATH_MAX];
    struct errbuf err;

    assert_int_equal(chmod(parent, 0777), 0);
    assert_int_equal(make(path, "1.0.0-1", &err), -1);
    assert_non_null(strstr(err.text, "not a directory of root's own"));
    assert_int_equal(chmod(parent, 0755), 0);
}

static void step_directory_with_too_long_a_path_is_refused(void **state)
{
    char path[STEPDIR_PATH_MAX], name[STEPDIR_PATH_MAX];
    struct errbuf err;

    memset(name, '1', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(make(path, name, &err), -1);
    assert_non_null(strstr(err.text, "too long"));
}

static void sweep_takes_only_what_dead_processes_left(void **state)
{
    char dead[STEPDIR_PATH_MAX], live[STEPDIR_PATH_MAX], name[64];
    struct stat st;
    int a, b;

    a = make(dead, "1.0.0-999999999", NULL);
    snprintf(name, sizeof(name), "2.0.0-%d", (int)getpid());
    b = make(live, name, NULL);
    assert_true(a >= 0 && b >= 0);
    close(a);
    close(b);
    stepdir_sweep(parent, getuid());
    assert_int_equal(stat(dead, &st), -1);
    assert_int_equal(stat(live, &st), 0);
    stepdir_remove(live, getuid(), getgid(), -1);
}

/* A mount of the user's own that never answers. */
static void sweep_does_not_wait_for_ever(void **state)
{
    char path[STEPDIR_PATH_MAX], dead[256], options[64];
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;

    if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    fd = make(path, "1.0.0-999999999", NULL);
    assert_true(fd >= 0);
    close(fd);
    snprintf(dead, sizeof(dead), "%s/dead", path);
    assert_int_equal(mkdir(dead, 0700), 0);
    snprintf(options, sizeof(options),
             "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    assert_int_equal(mount("dead", dead, "fuse", 0, options), 0);
    stepdir_sweep(parent, getuid());
    assert_int_equal(umount2(dead, MNT_DETACH), 0);
    close(fuse);
    stepdir_sweep(parent, getuid());
    assert_int_equal(access(path, F_OK), -1);
}

static bool mount_deaf(int fuse, const char *at)
{
    char options[80];

    snprintf(options, sizeof(options),
             "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
    return mount("dead", at, "fuse", 0, options) == 0;
}

/* Who left something that takes for ever took all the time that there is, at
 * each step of anybody. */
static void what_others_left_costs_the_own_nothing(void **state)
{
    char other[STEPDIR_PATH_MAX], own[OWN][STEPDIR_PATH_MAX];
    char name[64], deaf[STEPDIR_PATH_MAX + 8];
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;

    if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    for (int i = 0; i < OWN; i++) {
        snprintf(name, sizeof(name), "%d.0.0-999999999", 2 + i);
        fd = make(own[i], name, NULL);
        assert_true(fd >= 0);
        close(fd);
    }
    fd = stepdir_make(other, parent, "1.0.0-999999999", 65534, 65534, &step_dir,
                      NULL);
    assert_true(fd >= 0);
    close(fd);
    snprintf(deaf, sizeof(deaf), "%s/deaf", other);
    assert_int_equal(mkdir(deaf, 0700), 0);
    assert_true(mount_deaf(fuse, deaf));
    stepdir_sweep(parent, getuid());
    for (int i = 0; i < OWN; i++)
        assert_int_equal(access(own[i], F_OK), -1);
    assert_int_equal(umount2(deaf, MNT_DETACH), 0);
    close(fuse);
    stepdir_sweep(parent, getuid());
    assert_int_equal(access(other, F_OK), -1);
}

/* The file system that answers who mounts it, and then takes questions and
 * nothing more: who asks cannot be killed. */
static void *keep_silent(void *arg)
{
    int fuse = *(int *)arg;
    char question[8192 + 4096];
    struct {
        struct fuse_out_header head;
        struct fuse_init_out init;
    } answer = {.head = {.len = sizeof(answer)},
                .init = {.major = FUSE_KERNEL_VERSION,
                         .minor = FUSE_KERNEL_MINOR_VERSION,
                         .max_write = 4096}};

    if (read(fuse, question, sizeof(question)) <= 0)
        return NULL;
    answer.head.unique = ((struct fuse_in_header *)(void *)question)->unique;
    (void)!write(fuse, &answer, sizeof(answer));
    while (read(fuse, question, sizeof(question)) > 0)
        ;
    return NULL;
}

static int count_children(void)
{
    char path[64], text[256] = "";
    int n = 0, pid, at, fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    close(fd);
    for (char *p = text; sscanf(p, "%d %n", &pid, &at) == 1; p += at)
        n++;
    return n;
}

/* At each step one more process stayed for ever. */
static void unkillable_child_is_lost_but_once(void **state)
{
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;
    char path[STEPDIR_PATH_MAX], name[STEPDIR_PATH_MAX + 16];
    pthread_t thread;
    int children;
    bool aside;

    if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    fd = make(path, "1.0.0-999999999", NULL);
    assert_true(fd >= 0);
    close(fd);
    snprintf(name, sizeof(name), "%s/dead", path);
    assert_int_equal(mkdir(name, 0700), 0);
    assert_true(mount_deaf(fuse, name));
    assert_int_equal(pthread_create(&thread, NULL, keep_silent, &fuse), 0);
    snprintf(name, sizeof(name), "%s/stuck-1.0.0-999999999", parent);
    for (int i = 0; i < 20 && access(name, F_OK) < 0; i++)
        stepdir_sweep(parent, getuid());
    aside = access(name, F_OK) == 0;
    stepdir_sweep(parent, getuid());
    children = count_children();
    if (!aside)
        strcpy(name, path);
    strcat(name, "/dead"); /* lets all go, so before anything fails */
    assert_int_equal(umount2(name, MNT_FORCE | MNT_DETACH), 0);
    pthread_join(thread, NULL);
    close(fuse);
    while (waitpid(-1, NULL, 0) > 0)
        ;
    assert_true(aside);
    assert_int_equal(children, 1);
    *strrchr(name, '/') = '\0';
    stepdir_remove(name, getuid(), getgid(), -1);
}

static void sweep_asks_nothing_that_is_mounted_over_a_directory(void **state)
{
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC), fd;
    char path[STEPDIR_PATH_MAX];

    if (fuse < 0 || unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        skip();
    fd = make(path, "1.0.0-999999999", NULL);
    assert_true(fd >= 0);
    close(fd);
    assert_true(mount_deaf(fuse, path));
    alarm(60); /* it would wait for ever */
    stepdir_sweep(parent, getuid());
    alarm(0);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
    close(fuse);
    stepdir_sweep(parent, getuid());
    assert_int_equal(access(path, F_OK), -1);
}

/* On an overlay (a container's root) files and directories are of different
 * devices. */
static void step_directory_on_an_overlay_is_removed(void **state)
{
    char dir[256], options[1024], sub[STEPDIR_PATH_MAX + 8];
    char path[STEPDIR_PATH_MAX];
    struct errbuf err;
    int fd;

    if (unshare(CLONE_NEWNS) < 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("layers", parent, "tmpfs", 0, NULL) < 0)
        skip();
    for (const char *name = "low\0up\0work\0"; *name;
         name += strlen(name) + 1) {
        snprintf(dir, sizeof(dir), "%s/%s", parent, name);
        assert_int_equal(mkdir(dir, 0755), 0);
    }
    snprintf(options, sizeof(options),
             "lowerdir=/usr/lib,upperdir=%s/up,workdir=%s/work", parent,
             parent);
    snprintf(dir, sizeof(dir), "%s/low", parent);
    if (mount("overlay", dir, "overlay", 0, options) < 0) {
        umount2(parent, MNT_DETACH);
        skip();
    }
    fd =
        stepdir_make(path, dir, "1.0.0-1", getuid(), getgid(), &step_dir, &err);
    assert_true(fd >= 0);
    close(fd);
    snprintf(sub, sizeof(sub), "%s/sub", path);
    assert_int_equal(mkdir(sub, 0700), 0);
    stepdir_remove(path, getuid(), getgid(), step_dir);
    assert_int_equal(access(path, F_OK), -1);
    umount2(dir, MNT_DETACH);
    umount2(parent, MNT_DETACH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_directory_with_its_socket_alone_needs_no_child),
        cmocka_unit_test(directory_in_place_of_the_socket_is_removed),
        cmocka_unit_test(step_directory_is_made_and_removed_with_all_in_it),
        cmocka_unit_test(step_directory_in_a_foreign_parent_is_refused),
        cmocka_unit_test(step_directory_with_too_long_a_path_is_refused),
        cmocka_unit_test(sweep_takes_only_what_dead_processes_left),
        cmocka_unit_test(sweep_does_not_wait_for_ever),
        cmocka_unit_test(what_others_left_costs_the_own_nothing),
        cmocka_unit_test(unkillable_child_is_lost_but_once),
        cmocka_unit_test(sweep_asks_nothing_that_is_mounted_over_a_directory),
        cmocka_unit_test(step_directory_on_an_overlay_is_removed),
    };

    return cmocka_run_group_tests_name("stepdir", tests, make_parent,
                                       remove_parent);
}

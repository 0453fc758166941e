/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A real program with its holder, for the tests that need one: a directory of
 * its own, a capability.  It is there when usable (root, a cgroup2 tree).
 */
#ifndef SF_TESTS_HOLDER_UTIL_H
#define SF_TESTS_HOLDER_UTIL_H

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elan_util.h"

#include "elan/capability.h"
#include "elan/program_client.h"
#include "elan/program_holder.h"

#define USER 65534

struct fixture {
    char dir[64];
    struct program_handle h;
    struct elan_capability cap;
    bool usable;
};

/* Of a program; other tests run beside this one. */
static inline int next_number(void)
{
    static int n;

    return (int)(getpid() & 0x7fff) * 1000 + ++n;
}

/* The one that was built, not one that is installed. */
static inline const char *built_holder(void)
{
    static char path[4096];
    const char *top = getenv("SF_TOP_BUILDDIR");

    snprintf(path, sizeof(path), "%s/src/elan/elan-holder", top ? top : ".");
    assert_int_equal(access(path, X_OK), 0);
    return path;
}

/* A program that holds its capability; without the means for one not usable. */
static inline int program_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct program_spec spec = {
        .number = next_number(), .uid = USER, .holder = built_holder()};
    struct elan_layout l = even_layout(1, 3, 2, false);
    struct elan_capability_spec cs = {
        .layout = &l, .low_context = 50, .ncontexts = 2, .key = {{9, 8, 7, 6}}};
    struct errbuf err = {""};

    *state = f;
    elan_capability_build(&f->cap, &cs, NULL);
    elan_layout_free(&l);
    strcpy(f->dir, "/tmp/sf-holder-XXXXXX");
    if (!mkdtemp(f->dir) || chmod(f->dir, 0755) < 0 || geteuid() != 0)
        return 0;
    spec.rundir = f->dir;
    if (program_start(&f->h, &spec, &err) < 0) {
        print_message("# no program here: %s\n", err.text);
        return 0;
    }
    assert_int_equal(program_call_addcap(f->h.socket, 0, &f->cap), 0);
    f->usable = true;
    return 0;
}

static inline bool is_empty_dir(const char *path)
{
    DIR *d = opendir(path);
    struct dirent *e;
    int n = 0;

    while (d && (e = readdir(d)))
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n == 0;
}

/* The holder ends by itself; give it time, in small pieces. */
static inline void wait_until_gone(const char *path)
{
    for (int i = 0; i < 12000 && access(path, F_OK) == 0; i++)
        usleep(5000);
    assert_int_equal(access(path, F_OK), -1);
}

static inline int program_teardown(void **state)
{
    struct fixture *f = *state;
    char socket[108];

    if (f->usable) {
        strcpy(socket, f->h.socket);
        program_release(&f->h);
        wait_until_gone(socket);
        assert_true(is_empty_dir(f->dir));
    }
    rmdir(f->dir);
    free(f);
    return 0;
}

#define NEED(f)                                                                \
    if (!(f)->usable)                                                          \
    skip()

#endif

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Link status from a directory tree made here, taken in by a model; and what
 * sfabric verify reads of a plugin's file.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "health/model.h"
#include "sfabric/explain.h"
#include "sfabric/plugin_file.h"
#include "switchmgrd/linksrc.h"

struct tree {
    char dir[64], spec[80];
};

static void put(const struct tree *t, const char *path, const char *text)
{
    char full[256], *slash;
    FILE *f;

    snprintf(full, sizeof(full), "%s/%s", t->dir, path);
    for (slash = full + strlen(t->dir) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    f = fopen(full, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static int up(void **state)
{
    struct tree *t = calloc(1, sizeof(*t));

    strcpy(t->dir, "/tmp/linksrcXXXXXX");
    assert_non_null(mkdtemp(t->dir));
    snprintf(t->spec, sizeof(t->spec), "dir:%s", t->dir);
    put(t, "elite0/status", "ok\n");
    put(t, "elite0/port0/status", "up\n");
    put(t, "elite0/port0/peer", "n0:0\n");
    put(t, "elite0/port1/status", "down\n");
    put(t, "elite0/port1/peer", "elite1:0\n");
    put(t, "elite0/port1/errors", "17\n");
    put(t, "elite0/port2/status", "empty\n");
    put(t, "elite1/status", "failed\n");
    *state = t;
    return 0;
}

static int down(void **state)
{
    struct tree *t = *state;
    char command[128];

    snprintf(command, sizeof(command), "rm -rf '%s'", t->dir);
    assert_int_equal(system(command), 0);
    free(t);
    return 0;
}

static const struct report_record *find(const struct report *r,
                                        const char *name)
{
    for (size_t i = 0; i < r->nrecords; i++) {
        if (strcmp(r->records[i].name, name) == 0)
            return &r->records[i];
    }
    return NULL;
}

static void status_of_elite_switches_from_a_tree(void **state)
{
    const struct tree *t = *state;
    struct errbuf err;
    struct linksrc *s = linksrc_open(t->spec, &err);
    struct report r;

    assert_non_null(s);
    assert_int_equal(linksrc_report(s, &r, &err), 0);
    assert_int_equal(r.nrecords, 4);
    assert_int_equal(find(&r, "elite0")->seen, SEEN_UP);
    assert_int_equal(find(&r, "elite1")->seen, SEEN_DOWN);
    assert_int_equal(find(&r, "elite0:0")->seen, SEEN_UP);
    assert_int_equal(find(&r, "elite0:1")->seen, SEEN_DOWN);
    assert_int_equal(find(&r, "elite0:1")->count, 17);
    assert_string_equal(find(&r, "elite0:1")->peer, "elite1:0");
    report_free(&r);
    linksrc_close(s);
}

static void link_status_reaches_the_model(void **state)
{
    const struct tree *t = *state;
    struct model_conf conf;
    struct errbuf err;
    struct linksrc *s = linksrc_open(t->spec, &err);
    struct model *m;
    struct report r;

    model_conf_defaults(&conf);
    m = model_new(&conf, NULL);
    assert_int_equal(linksrc_report(s, &r, &err), 0);
    strcpy(r.node, "mgmt");
    r.seq = 1;
    assert_int_equal(model_input(m, &r, 1000, &err), 0);
    model_tick(m, 1000);
    assert_int_equal(model_count(m, REPORT_LINK, HEALTH_DOWN), 1);
    assert_int_equal(model_count(m, REPORT_XBAR, HEALTH_DOWN), 1);
    model_tick(m, 1000 + conf.stale[REPORT_LINKS] + 1); /* silence */
    assert_int_equal(model_count(m, REPORT_XBAR, HEALTH_UNKNOWN), 2);
    report_free(&r);
    model_free(m);
    linksrc_close(s);
}

static void odd_trees_are_read_without_harm(void **state)
{
    const struct tree *t = *state;
    struct errbuf err;
    struct linksrc *s = linksrc_open(t->spec, &err);
    struct report r;

    put(t, "a file", "x");
    put(t, ".hidden/status", "ok");
    put(t, "elite0/port3/status", "up");
    put(t, "elite0/port3/peer", "n1:0; rm -rf /");
    put(t, "elite0/port4/status", "nonsense");
    put(t, "elite0/port4/peer", "n2:0");
    put(t, "elite0/port4/errors", "-5x");
    assert_int_equal(linksrc_report(s, &r, &err), 0);
    assert_null(find(&r, "elite0:3"));
    assert_int_equal(find(&r, "elite0:4")->seen, SEEN_UNKNOWN);
    assert_null(find(&r, ".hidden"));
    report_free(&r);
    linksrc_close(s);
    assert_null(linksrc_open("jtag:/x", &err));
    assert_null(linksrc_open("dir:relative", &err));
    s = linksrc_open("dir:/nonexistent", &err);
    assert_int_equal(linksrc_report(s, &r, &err), -1);
    linksrc_close(s);
}

static void a_plugins_version_is_read_from_its_file(void **state)
{
    const char *build = getenv("SF_TOP_BUILDDIR");
    char path[512];
    uint32_t v = 0;
    struct errbuf err;

    snprintf(path, sizeof(path), "%s/src/plugins/switch_elan/.libs/%s",
             build ? build : ".", "switch_elan.so");
    assert_int_equal(plugin_file_version(path, &v, &err), 0);
    assert_true(v >> 16 >= 22);
    assert_int_equal(plugin_file_version("/bin/true", &v, &err), -1);
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(plugin_file_version("/etc/passwd", &v, &err), -1);
    assert_int_equal(plugin_file_version("/nonexistent", &v, &err), -1);
    assert_int_equal(errno, ENOENT);
}

/* Each plugin is of the other kind for the other's hooks; the C library has
 * none of the functions of Slurm's. */
static void a_plugin_is_compared_with_the_symbols_of_slurm(void **state)
{
    static const char *const kinds[] = {"switch", "mpi"};
    const char *build = getenv("SF_TOP_BUILDDIR");
    struct errbuf err, lacks;
    char plugin[512];

    if (access(SF_SLURMFULL, R_OK) < 0)
        skip();
    for (int i = 0; i < 2; i++) {
        snprintf(plugin, sizeof(plugin), "%s/src/plugins/%s",
                 build ? build : ".",
                 i == 0 ? "switch_elan/.libs/switch_elan.so"
                        : "mpi_impi/.libs/mpi_impi.so");
        assert_int_equal(
            plugin_file_lacks(plugin, SF_SLURMFULL, kinds[i], &lacks, &err), 0);
        assert_string_equal(lacks.text, "");
        assert_true(plugin_file_lacks(plugin, SF_SLURMFULL, kinds[!i], &lacks,
                                      &err) >= 5);
        assert_non_null(strstr(lacks.text, "the plugin lacks "));
        assert_null(strstr(lacks.text, "Slurm lacks "));
        assert_true(plugin_file_lacks(plugin, plugin, kinds[i], &lacks, &err) >
                    5);
        assert_non_null(strstr(lacks.text, "Slurm lacks "));
    }
    assert_int_equal(
        plugin_file_lacks("/etc/passwd", SF_SLURMFULL, "mpi", &lacks, &err),
        -1);
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(
        plugin_file_lacks(plugin, "/nonexistent", "mpi", &lacks, &err), -1);
    assert_int_equal(errno, ENOENT);
}

static void known_messages_are_explained(void **state)
{
    assert_non_null(explain("error: Incompatible Slurm plugin x version"));
    assert_non_null(explain("srun: error: ... Error configuring interconnect"));
    assert_null(explain("all is well"));
    assert_non_null(strstr(explain("switch/elan: SF-E111 down"), "What to do"));
    assert_null(explain("SF-E000 is no code of ours"));
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(status_of_elite_switches_from_a_tree),
        T(link_status_reaches_the_model),
        T(odd_trees_are_read_without_harm),
        cmocka_unit_test(a_plugins_version_is_read_from_its_file),
        cmocka_unit_test(a_plugin_is_compared_with_the_symbols_of_slurm),
        cmocka_unit_test(known_messages_are_explained),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What MPI_Comm_spawn asks for, and the srun that is made of it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/spawn.h"

static char *words_a[] = {"ocean", "-x", "a b"};
static char *words_b[] = {"/bin/air"};
static struct impi_spawn_command commands[] = {
    {.maxprocs = 3,
     .host = "n1",
     .wdir = "/w",
     .path = "/p:/q",
     .argc = 3,
     .argv = words_a},
    {.maxprocs = 1,
     .overlap = true,
     .wait = true,
     .host = "",
     .wdir = "",
     .path = "",
     .argc = 1,
     .argv = words_b},
};
static const struct impi_spawn both = {.number = 5,
                                       .port = "impi1/x",
                                       .cwd = "/home/u",
                                       .ncommands = 2,
                                       .commands = commands};

static void encode(struct bytebuf *b)
{
    bytebuf_init(b, 4096);
    impi_spawn_encode(b, &both);
    assert_false(b->bad);
}

static void requests_go_both_ways(void **state)
{
    struct impi_spawn s;
    struct errbuf err;
    struct bytebuf b;

    encode(&b);
    assert_int_equal(
        impi_spawn_decode(&s, bytebuf_data(&b), bytebuf_len(&b), &err), 0);
    assert_int_equal(s.number, 5);
    assert_string_equal(s.port, "impi1/x");
    assert_string_equal(s.cwd, "/home/u");
    assert_int_equal(s.ncommands, 2);
    assert_int_equal(s.commands[0].maxprocs, 3);
    assert_false(s.commands[0].overlap);
    assert_true(s.commands[1].overlap);
    assert_false(s.commands[0].wait);
    assert_true(s.commands[1].wait);
    assert_string_equal(s.commands[0].argv[2], "a b");
    assert_string_equal(s.commands[0].path, "/p:/q");
    impi_spawn_free(&s);
    bytebuf_free(&b);
}

static void broken_requests_are_refused(void **state)
{
    struct impi_spawn s;
    struct bytebuf b;
    uint8_t *copy;
    size_t len;

    encode(&b);
    len = bytebuf_len(&b);
    copy = malloc(len);
    memcpy(copy, bytebuf_data(&b), len);
    for (size_t cut = 0; cut < len; cut++) {
        struct errbuf err = {""};

        assert_int_equal(impi_spawn_decode(&s, copy, cut, &err), -1);
        assert_int_equal(errno, EPROTO);
        assert_null(s.commands);
    }
    copy[len - 3] = '\0'; /* in a word */
    assert_int_equal(impi_spawn_decode(&s, copy, len, &(struct errbuf){""}),
                     -1);
    free(copy);
    bytebuf_free(&b);
}

static void srun_gets_a_component_for_each_command(void **state)
{
    static const char *const expected[] = {"srun",
                                           "--jobid=42",
                                           "--mpi=impi",
                                           "--exact",
                                           "--immediate",
                                           "--input=none",
                                           "--export=ALL",
                                           "--ntasks=3",
                                           "--nodelist=n1",
                                           "--chdir=/w",
                                           "--",
                                           "ocean",
                                           "-x",
                                           "a b",
                                           ":",
                                           "--jobid=42",
                                           "--mpi=impi",
                                           "--exact",
                                           "--overlap",
                                           "--immediate=10",
                                           "--input=none",
                                           "--export=ALL",
                                           "--ntasks=1",
                                           "--chdir=/home/u",
                                           "--",
                                           "/bin/air"};
    struct errbuf err;
    char **argv = impi_spawn_argv(&both, 42, &err);
    size_t n = sizeof(expected) / sizeof(expected[0]);

    assert_non_null(argv);
    for (size_t i = 0; i < n; i++)
        assert_string_equal(argv[i], expected[i]);
    assert_null(argv[n]);
    impi_strings_free(argv);
}

static void soft_numbers_are_triplets(void **state)
{
    static const struct {
        const char *soft;
        uint32_t most;
        int largest;
    } good[] = {
        {"3", 8, 3},
        {"3", 2, 0},
        {"0:4", 3, 3},
        {"0:4", 9, 4},
        {"1,2,4,8,16", 7, 4},
        {"2:10000:2", 7, 6},
        {"2:10:2,7", 7, 7},
        {"2:10:2,7", 100, 10},
        {"1:10:4", 10, 9},
        {"10:1:-4", 7, 6},
        {"10:1:-4", 100, 10},
        {"10:1:-4", 5, 2},
        {"10:1:-4", 1, 0},
        {"-4:-1", 8, 0},
        {"-3:3:2", 2, 1},
        {"0", 8, 0},
        {" 2 : 6 : 3 , 9", 8, 5},
        {"5:5:-1", 8, 5},
    };
    static const char *const bad[] = {"",          "x",
                                      "2,",        "2:",
                                      "2:4:",      "2:4:0",
                                      "4:2",       "2:4:-1",
                                      "4:2:1",     "2:4:1:1",
                                      "2;4",       ",2",
                                      "2 4",       "99999999999999999999",
                                      "3000000000"};
    struct errbuf err;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        assert_int_equal(impi_spawn_soft(good[i].soft, good[i].most, &err),
                         good[i].largest);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(impi_spawn_soft(bad[i], 8, &err), -1);
        assert_non_null(strstr(err.text, bad[i]));
    }
}

/* By hand: a set for each list. */
static void soft_numbers_are_those_of_the_set(void **state)
{
    struct errbuf err;

    for (int from = -6; from <= 6; from++)
        for (int to = -6; to <= 6; to++)
            for (int step = -4; step <= 4; step++) {
                char text[64];

                if (step == 0 || (to != from && (to > from) != (step > 0)))
                    continue;
                snprintf(text, sizeof(text), "%d:%d:%d", from, to, step);
                for (int most = 1; most < 8; most++) {
                    int best = 0;

                    for (int n = from; step > 0 ? n <= to : n >= to; n += step)
                        if (n > best && n <= most)
                            best = n;
                    assert_int_equal(
                        impi_spawn_soft(text, (uint32_t)most, &err), best);
                }
            }
}

static void a_colon_is_srun_s_own(void **state)
{
    char *words[] = {"ocean", ":"};
    struct impi_spawn_command c = {.maxprocs = 1,
                                   .host = "",
                                   .wdir = "",
                                   .path = "",
                                   .argc = 2,
                                   .argv = words};
    struct impi_spawn s = {
        .port = "", .cwd = "", .ncommands = 1, .commands = &c};
    struct errbuf err = {""};

    assert_null(impi_spawn_argv(&s, 1, &err));
    assert_non_null(strstr(err.text, "colon"));
}

static void the_launch_s_own_variables_do_not_reach_the_children(void **state)
{
    char *env[] = {"PATH=/bin",
                   "SLURM_NTASKS=4",
                   "SLURM_CONF=/c",
                   "SLURM_JOB_CPUS_PER_NODE=4",
                   "SLURM_IMPI_SECRET=s",
                   "SLURM_IMPI_NAMES=/n",
                   "SLURM_IMPI_PARENT=old",
                   "PMI_FD=3",
                   "OMP_NUM_THREADS=2",
                   NULL};
    static const char *const expected[] = {"PATH=/bin",
                                           "SLURM_CONF=/c",
                                           "SLURM_JOB_CPUS_PER_NODE=4",
                                           "SLURM_IMPI_NAMES=/n",
                                           "OMP_NUM_THREADS=2",
                                           "SLURM_IMPI_PARENT=impi1/x"};
    char **made = impi_spawn_env(&both, env);

    for (int i = 0; i < 6; i++)
        assert_string_equal(made[i], expected[i]);
    assert_null(made[6]);
    impi_strings_free(made);
}

static void answers_go_both_ways(void **state)
{
    struct bytebuf b;
    uint32_t number;
    char why[16];

    bytebuf_init(&b, 100);
    impi_spawned_encode(&b, 7, "no room");
    assert_int_equal(impi_spawned_decode(&number, why, sizeof(why),
                                         bytebuf_data(&b), bytebuf_len(&b)),
                     0);
    assert_int_equal(number, 7);
    assert_string_equal(why, "no room");
    assert_int_equal(
        impi_spawned_decode(&number, why, 4, bytebuf_data(&b), bytebuf_len(&b)),
        -1);
    bytebuf_free(&b);
}

static void the_room_of_a_job_is_counted(void **state)
{
    assert_int_equal(impi_spawn_room("4", NULL), 4);
    assert_int_equal(impi_spawn_room("4(x3),2", NULL), 14);
    assert_int_equal(impi_spawn_room("0,4", NULL), 4); /* one has none left */
    assert_int_equal(impi_spawn_room("4,-1", NULL), 0);
    assert_int_equal(impi_spawn_room("5(x3),1", "2"), 6);
    assert_int_equal(impi_spawn_room(NULL, NULL), 0);
    assert_int_equal(impi_spawn_room("", "1"), 0);
    assert_int_equal(impi_spawn_room("4(x", NULL), 0);
    assert_int_equal(impi_spawn_room("4(x3", NULL), 0);
    assert_int_equal(impi_spawn_room("x", NULL), 0);
    assert_int_equal(impi_spawn_room("99999999999", NULL), 0);
    assert_int_equal(impi_spawn_room("4(x262144)", "0"), SF_IMPI_PROCS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_go_both_ways),
        cmocka_unit_test(broken_requests_are_refused),
        cmocka_unit_test(srun_gets_a_component_for_each_command),
        cmocka_unit_test(soft_numbers_are_triplets),
        cmocka_unit_test(soft_numbers_are_those_of_the_set),
        cmocka_unit_test(a_colon_is_srun_s_own),
        cmocka_unit_test(the_launch_s_own_variables_do_not_reach_the_children),
        cmocka_unit_test(answers_go_both_ways),
        cmocka_unit_test(the_room_of_a_job_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

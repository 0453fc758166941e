/* SPDX-License-Identifier: BSD-3-Clause
 * Programs and their keys are all different.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "partition_bed.h"

static int compare_keys(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct elan_userkey));
}

static void assert_distinct(struct elan_userkey *keys, size_t n)
{
    qsort(keys, n, sizeof(*keys), compare_keys);
    for (size_t i = 1; i < n; i++)
        assert_memory_not_equal(&keys[i - 1], &keys[i], sizeof(*keys));
}

/* With a restart in the middle; numbers and keys are all different. */
static void no_two_of_10000_programs_are_the_same(void **state)
{
    struct elan_partition *pm = manager(NULL);
    struct elan_userkey *keys = calloc(10000, sizeof(*keys));
    uint32_t last = 0;
    char text[ELAN_STATE_SIZE_MAX];

    for (uint32_t i = 0; i < 10000; i++) {
        struct program p;

        if (i == 5000) {
            elan_partition_state(pm, true, text);
            elan_partition_destroy(pm);
            pm = manager(NULL);
            assert_int_equal(elan_partition_restore(pm, "f", text, NULL), 0);
        }
        assert_int_equal(build(pm, &p, i, 2, i % 50, 2), 0);
        assert_true(p.info.prognum > last);
        last = p.info.prognum;
        keys[i] = p.payload.caps[0].UserKey;
        assert_true(elan_partition_release(pm, &p.info));
        program_free(&p);
    }
    assert_distinct(keys, 10000);
    assert_int_equal(elan_partition_contexts(pm), 0);
    free(keys);
    elan_partition_destroy(pm);
}

static void no_two_of_100000_keys_are_the_same(void **state)
{
    struct elan_userkey *keys = calloc(100000, sizeof(*keys));

    for (int i = 0; i < 100000; i++)
        assert_int_equal(mac_random(&keys[i], sizeof(keys[i])), 0);
    assert_distinct(keys, 100000);
    free(keys);
}

static void a_forked_process_makes_other_keys(void **state)
{
    struct elan_userkey mine, childs;
    int fd[2], status;
    pid_t pid;

    assert_int_equal(pipe(fd), 0);
    pid = fork();
    if (pid == 0) {
        mac_random(&mine, sizeof(mine));
        _exit(write(fd[1], &mine, sizeof(mine)) == sizeof(mine) ? 0 : 1);
    }
    assert_int_equal(mac_random(&mine, sizeof(mine)), 0);
    assert_int_equal(read(fd[0], &childs, sizeof(childs)), sizeof(childs));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_memory_not_equal(&mine, &childs, sizeof(mine));
    close(fd[0]);
    close(fd[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_two_of_10000_programs_are_the_same),
        cmocka_unit_test(no_two_of_100000_keys_are_the_same),
        cmocka_unit_test(a_forked_process_makes_other_keys),
    };

    return cmocka_run_group_tests_name("elan_keys", tests, NULL, NULL);
}

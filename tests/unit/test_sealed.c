/* SPDX-License-Identifier: BSD-3-Clause
 * Sealed memory files.
 */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/sealed.h"

static void what_was_put_in_is_read_and_stays(void **state)
{
    int fd = sealed_make("test", "some bytes", 10);
    const void *at;
    size_t len;

    assert_true(fd >= 0);
    at = sealed_map(fd, 10, &len, NULL);
    assert_non_null(at);
    assert_int_equal(len, 10);
    assert_memory_equal(at, "some bytes", 10);
    assert_int_equal(pwrite(fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_ptr_equal(mmap(NULL, 10, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    assert_memory_equal(at, "some bytes", 10);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    munmap((void *)at, len);
    close(fd);
}

static void what_can_be_changed_is_refused(void **state)
{
    int fd = memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    struct errbuf err;
    size_t len;

    assert_int_equal(write(fd, "abc", 3), 3);
    assert_null(sealed_map(fd, 100, &len, &err));
    assert_int_equal(errno, EPROTO);
    assert_string_equal(err.text, "not a sealed memory file");
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
    assert_null(sealed_map(fd, 100, &len, NULL));
    close(fd);
    assert_null(sealed_map(-1, 100, &len, NULL));
}

static void longer_than_expected_is_refused(void **state)
{
    int fd = sealed_make("test", "some bytes", 10);
    struct errbuf err;
    size_t len;

    assert_null(sealed_map(fd, 9, &len, &err));
    assert_int_equal(errno, EMSGSIZE);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_in_is_read_and_stays),
        cmocka_unit_test(what_can_be_changed_is_refused),
        cmocka_unit_test(longer_than_expected_is_refused),
    };

    return cmocka_run_group_tests_name("sealed", tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause
 * What members say of their part in a collective access to a file: records and
 * lists of runs, and the plan that is made of those that are right.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/io_plan.h"

enum { N = 3 };

/* Some pieces of every window that has them. */
static void follow(const struct impi_io_plan *plan,
                   const struct impi_io_part *parts)
{
    const struct impi_io_list *lists[N];

    for (int i = 0; i < N; i++)
        lists[i] = &parts[i].list;
    for (uint32_t k = 0; k < plan->naggs; k++) {
        int64_t first, end, at;
        uint64_t len, mem;
        uint32_t who;
        struct impi_io_merge m;

        if (!impi_io_plan_window(plan, k, 0, &first, &end) ||
            impi_io_merge_start(&m, lists, N, first, end) < 0)
            continue;
        for (int i = 0;
             i < 100 && impi_io_merge_next(&m, &who, &at, &len, &mem); i++)
            if (who >= N || at < first || len == 0 ||
                len > (uint64_t)(end - at) || mem + len > parts[who].list.bytes)
                abort();
        impi_io_merge_end(&m);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct impi_io_part parts[N] = {{0}};
    struct impi_io_plan plan;
    struct errbuf err = {""};
    bool good = true;

    for (int i = 0; i < N && good; i++) {
        good = size >= IMPI_IO_RECORD_SIZE &&
               impi_io_record_decode(&parts[i], data, &err) == 0;
        if (!good)
            break;
        data += IMPI_IO_RECORD_SIZE;
        size -= IMPI_IO_RECORD_SIZE;
        if (impi_io_has_list(&parts[i]))
            continue;
        good = parts[i].nruns <= size / 32 &&
               impi_io_list_decode(&parts[i], data, parts[i].nruns * 32,
                                   &err) == 0;
        if (good) {
            data += parts[i].nruns * 32;
            size -= parts[i].nruns * 32;
        }
    }
    if (good) {
        impi_io_plan_make(&plan, parts, N, N, 65536);
        follow(&plan, parts);
    }
    for (int i = 0; i < N; i++)
        impi_io_list_free(&parts[i].list);
    return 0;
}

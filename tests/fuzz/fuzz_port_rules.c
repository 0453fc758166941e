/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any text as rules for counters.
 */
#include "fuzz.h"
#include "health/tally.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tally_rules rules;
    struct errbuf err;

    tally_rules_default(&rules);
    tally_rules_parse(&rules, "rules", (const char *)data, size, &err);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 * What users and sites write: --network=, SwitchParameters, node lists and
 * the saved state.
 */
#include <stdlib.h>
#include <string.h>

#include "base/host_names.h"
#include "base/limits.h"
#include "elan/elanhosts.h"
#include "elan/options.h"
#include "elan/state.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct elanhosts *natural = elanhosts_natural();
    struct host_names names;
    struct elan_options options;
    struct elan_site site;
    struct elan_state state;
    struct errbuf err;
    uint32_t id;

    if (text && natural) {
        if (elan_site_parse(&site, text, &err) == 0 &&
            site.base_context > site.top_context)
            abort();
        elan_site_defaults(&site);
        elan_options_parse(&options, text, &site, &err);
        elan_state_parse(&state, "fuzz", text, &err);
        elanhosts_ids(natural, text, 1, &id, &err);
        if (host_names_expand(&names, text, SF_ELAN_NODES_MAX, &err) == 0)
            host_names_free(&names);
    }
    elanhosts_destroy(natural);
    free(text);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults as text, and what they do.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "net/build.h"
#include "swfab/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct net *net;
    struct swfab_script script = {0};
    struct errbuf err;
    struct swfab *fab;
    char *text = strndup((const char *)data, size);

    if (!net)
        net = net_build_named("ring:4:1", NULL);
    fab = net && text ? swfab_new(net) : NULL;
    if (fab && swfab_script_parse(&script, "fuzz", text, net, &err) == 0)
        for (size_t i = 0; i < script.n; i++)
            swfab_fault_apply(fab, &script.faults[i]);
    swfab_script_free(&script);
    swfab_free(fab);
    free(text);
    return 0;
}

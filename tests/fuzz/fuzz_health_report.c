/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as a report: what is understood is taken in by a model, encoded
 * and understood again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "health/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report r;
    struct errbuf err;
    struct model_conf conf;
    struct model *m;
    char *text;

    if (report_decode(&r, (const char *)data, size, &err) < 0)
        return 0;
    model_conf_defaults(&conf);
    m = model_new(&conf, NULL);
    model_input(m, &r, 1000, &err);
    model_tick(m, 100000);
    model_free(m);
    text = report_encode(&r, &err);
    report_free(&r);
    if (text && report_decode(&r, text, strlen(text), &err) < 0)
        abort();
    free(text);
    report_free(&r);
    return 0;
}

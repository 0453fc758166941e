/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a simulated switchmgrd keeps of its model when it ends: the text that
 * the daemon would write to its state file.
 */
#ifndef TESTS_SIM_MODEL_STATE_H
#define TESTS_SIM_MODEL_STATE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/jsonx.h"
#include "health/model.h"

struct model_state {
    char *text; /* owned; NULL before the first time */
    size_t len;
};

static inline void model_state_write(const char *text, size_t len, void *arg)
{
    fwrite(text, 1, len, arg);
}

static inline void model_state_keep(struct model_state *state,
                                    struct model *model, int64_t now)
{
    FILE *f;

    free(state->text);
    state->text = NULL;
    f = open_memstream(&state->text, &state->len);
    fputc('{', f);
    model_save(model, now, model_state_write, f);
    fputc('}', f);
    fclose(f);
}

/* Into a new model; nothing where nothing is kept.  gap_max as for
 * model_load(). */
static inline void model_state_give(const struct model_state *state,
                                    struct model *model, int64_t now,
                                    int64_t gap_max)
{
    struct json_object *o;
    struct errbuf err;

    if (!state->text)
        return;
    assert_non_null(o = jsonx_parse(state->text, state->len, &err));
    assert_int_equal(model_load(model, o, now, gap_max, &err), 0);
    json_object_put(o);
}

#endif

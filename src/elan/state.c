/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/conf.h"
#include "elan/elanvp.h"
#include "elan/state.h"

#define STATE_VERSION 1

struct record {
    long version, next_prognum, next_context;
};

void elan_state_print(char buf[ELAN_STATE_SIZE_MAX],
                      const struct elan_state *state)
{
    snprintf(buf, ELAN_STATE_SIZE_MAX,
             "# switch/elan\nVersion=%d\nNextProgram=%" PRIu32
             "\nNextContext=%" PRIu32 "\n",
             STATE_VERSION, state->next_prognum, state->next_context);
}

/* Keep the first error. */
static void keep_first(const char *text, void *arg)
{
    struct errbuf *first = arg;

    if (first->text[0] == '\0')
        errprintf(first, "%s", text);
}

int elan_state_parse(struct elan_state *state, const char *name,
                     const char *text, struct errbuf *err)
{
    static const struct conf_key keys[] = {
        {"Version", CONF_INT, offsetof(struct record, version), 1, INT32_MAX},
        {"NextProgram", CONF_INT, offsetof(struct record, next_prognum), 1,
         INT32_MAX},
        {"NextContext", CONF_INT, offsetof(struct record, next_context), 0,
         ELAN_MAX_CONTEXTS},
    };
    struct record rec = {0, 0, -1};
    struct errbuf first = {""};

    if (conf_parse(name, text, keys, 3, &rec, keep_first, &first) < 0) {
        errno = EINVAL;
        return errprintf(err, "%s", first.text);
    }
    if (rec.version != STATE_VERSION) {
        errno = rec.version == 0 ? EINVAL : EPROTONOSUPPORT;
        return errprintf(err, "%s: Version: %ld, this is %d", name, rec.version,
                         STATE_VERSION);
    }
    if (rec.next_prognum == 0 || rec.next_context < 0) {
        errno = EINVAL;
        return errprintf(err, "%s: %s: missing", name,
                         rec.next_prognum == 0 ? "NextProgram" : "NextContext");
    }
    state->next_prognum = (uint32_t)rec.next_prognum;
    state->next_context = (uint32_t)rec.next_context;
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a hostile user can do: this is switch_elan.so with a srun side that
 * changes the job info before it is sent to the nodes.  The user puts it into
 * a plugin directory of his own.  FORGE says what is done:
 *     save      write the sealed part to FORGE_FILE, send it unchanged
 *     replay    send the sealed part of FORGE_FILE
 *     clear     change every number of the clear part
 *     cut       cut the sealed part
 *     none      send no sealed part
 *     own       seal a payload of his own making
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/seal.h"
#include "elan/payload.h"
#include "plugins/switch_elan/hooks.h"

/* The linker (--wrap) gives us the calls of switch_elan_info_pack(). */
int __real_switch_elan_info_pack(const struct switch_jobinfo *j,
                                 struct slurmabi_buf *buf);
int __wrap_switch_elan_info_pack(struct switch_jobinfo *j,
                                 struct slurmabi_buf *buf);

static void save(const struct switch_jobinfo *j)
{
    FILE *f = fopen(getenv("FORGE_FILE"), "w");

    if (f) {
        fputs(j->info.sealed, f);
        fclose(f);
    }
}

static void replay(struct switch_jobinfo *j)
{
    static char text[65536];
    FILE *f = fopen(getenv("FORGE_FILE"), "r");

    if (f && fgets(text, sizeof(text), f)) {
        free(j->info.sealed);
        j->info.sealed = strdup(text);
    }
    if (f)
        fclose(f);
}

static void change_clear(struct switch_jobinfo *j)
{
    j->info.prognum++;
    j->info.low_context++;
    j->info.het_comp = 3;
    for (uint32_t i = 0; i < j->info.nnodes; i++)
        j->info.nodes[i] += 7;
}

/* A payload that would pass every check but the maker's uid. */
static void seal_own(struct switch_jobinfo *j)
{
    uint32_t id = j->info.nodes[0];
    uint16_t tasks = 1;
    struct elan_layout_spec spec = {
        .nnodes = 1, .nrails = 1, .ids = &id, .tasks = &tasks};
    struct elan_capability cap;
    struct elan_payload p = {
        .job_id = j->info.job_id,
        .step_id = j->info.step_id,
        .het_comp = j->info.het_comp,
        .uid = getuid(),
        .prognum = 4711,
        .issued = (uint64_t)time(NULL),
        .ncaps = 1,
        .caps = &cap,
    };
    struct elan_capability_spec cs = {
        .layout = &p.layout, .low_context = 5, .ncontexts = 1};
    char path[512];
    void *bytes;
    size_t len;

    if (elan_layout_make(&p.layout, &spec, NULL) < 0 ||
        elan_capability_build(&cap, &cs, NULL) < 0 ||
        elan_payload_encode(&p, &bytes, &len, NULL) < 0)
        abort();
    free(j->info.sealed);
    seal_make(&j->info.sealed, bytes, len, 0, 0,
              switch_elan_munge_socket(path, sizeof(path)), NULL);
}

int __wrap_switch_elan_info_pack(struct switch_jobinfo *j,
                                 struct slurmabi_buf *buf)
{
    const char *what = getenv("FORGE");

    if (!j || !what || !j->info.sealed)
        return __real_switch_elan_info_pack(j, buf);
    if (strcmp(what, "save") == 0)
        save(j);
    else if (strcmp(what, "replay") == 0)
        replay(j);
    else if (strcmp(what, "clear") == 0)
        change_clear(j);
    else if (strcmp(what, "cut") == 0)
        j->info.sealed[strlen(j->info.sealed) / 2] = '\0';
    else if (strcmp(what, "none") == 0)
        j->info.sealed[0] = '\0';
    else if (strcmp(what, "own") == 0)
        seal_own(j);
    return __real_switch_elan_info_pack(j, buf);
}

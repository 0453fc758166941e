/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the collector must not forget over a restart: the model, and where
 * the nodes' reports come from (slurmctld may be away when we start).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clerk.h"
#include "base/file.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "switchmgrd/collector.h"

#define GAP_MAX 600000 /* ms that nobody watched and evidence still counts */

static void path_of(const struct collector *n, char *path, size_t size)
{
    snprintf(path, size, "%s/switchmgrd/model.json",
             n->conf.state_dir ? n->conf.state_dir : SF_STATEDIR);
}

static void put_nodes(const struct collector *n, FILE *f)
{
    char addr[INET_ADDRSTRLEN];
    const char *comma = "";

    for (const struct collector_node *p = n->nodes; p; p = p->hh.next) {
        struct json_object *name;

        if (!p->in_slurm || p->in_table.s_addr == 0)
            continue;
        name = json_object_new_string(p->name);
        inet_ntop(AF_INET, &p->in_table, addr, sizeof(addr));
        fprintf(f, "%s%s:\"%s\"", comma, json_object_to_json_string(name),
                addr);
        json_object_put(name);
        comma = ",";
    }
}

static void put_text(const char *text, size_t len, void *arg)
{
    fwrite(text, 1, len, arg);
}

/* The file's text, from malloc; NULL: no memory. */
static char *text_of(const struct collector *n, size_t *len)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, len);

    if (!f)
        return NULL;
    fputs("{", f);
    model_save(n->model, steady_now(), put_text, f);
    fputs(",\"peers\":{", f);
    put_nodes(n, f);
    fputs("}}\n", f);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

/* One text on its way to the disk, which may take long. */
struct saving {
    struct clerk_job job; /* first */
    struct collector *collector;
    char path[SF_ELAN_PATH_MAX];
    char *text;
    size_t len;
    int rc;
    struct errbuf err;
};

static void write_file(struct clerk_job *job)
{
    struct saving *s = (struct saving *)job;

    s->rc = file_replace(s->path, s->text, s->len, 0600, FILE_DURABLE, &s->err);
}

static void written(struct clerk_job *job, bool cancelled)
{
    struct saving *s = (struct saving *)job;

    s->collector->saving = false;
    if (!cancelled && s->rc < 0)
        collector_events_alarm(s->err.text, steady_now(), s->collector);
    free(s->text);
    free(s);
}

void collector_state_save(struct collector *n)
{
    struct saving *s;

    if (n->saving) { /* the disk is slow: the next tick tries again */
        n->unsaved = true;
        return;
    }
    n->saved = steady_now();
    n->unsaved = false;
    s = calloc(1, sizeof(*s));
    if (s) {
        s->job = (struct clerk_job){write_file, written, NULL};
        s->collector = n;
        path_of(n, s->path, sizeof(s->path));
        s->text = text_of(n, &s->len);
        throttle_done(&n->written, n->saved, steady_now());
    }
    n->saving = s && s->text;
    if (n->saving && clerk_give(n->writer, &s->job) == 0)
        return;
    n->saving = false;
    n->unsaved = true;
    collector_events_alarm("state is not saved: no memory", steady_now(), n);
    if (s)
        free(s->text);
    free(s);
}

static void load_nodes(struct collector *n, struct json_object *o)
{
    json_object_object_foreach(o, name, value)
    {
        struct collector_node *p = collector_node_make(n, name);
        const char *addr = json_object_get_string(value);

        if (p && addr)
            inet_pton(AF_INET, addr, &p->in_table);
    }
}

void collector_state_load(struct collector *n)
{
    char path[SF_ELAN_PATH_MAX];
    struct errbuf err;
    struct json_object *o, *nodes;
    size_t len;
    char *text;

    path_of(n, path, sizeof(path));
    text = file_read(path, SF_HEALTH_STATE_MAX, 0, &len, &err);
    if (!text && errno != ENOENT)
        log_warn("SF-E706: %s; health begins anew", err.text);
    if (!text)
        return;
    o = jsonx_parse(text, len, &err);
    free(text);
    if (!o || model_load(n->model, o, steady_now(), GAP_MAX, &err) < 0)
        log_warn("SF-E706: %s: %s; health begins anew", path, err.text);
    nodes = o ? jsonx_object(o, "peers") : NULL;
    if (nodes)
        load_nodes(n, nodes);
    json_object_put(o);
}

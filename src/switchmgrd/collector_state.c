/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the collector must not forget over a restart: the model, and where
 * the nodes' reports come from (slurmctld may be away when we start).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

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

static void put_peers(const struct collector *n, FILE *f)
{
    char addr[INET_ADDRSTRLEN];
    const char *comma = "";

    for (const struct collector_peer *p = n->peers; p; p = p->hh.next) {
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

static int write_file(const struct collector *n, const char *path,
                      struct errbuf *err)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    int rc = -1;

    errprintf(err, "%s: no memory", path);
    if (f) {
        bool good;

        fputs("{", f);
        good = model_save(n->model, steady_now(), put_text, f) == 0;
        fputs(",\"peers\":{", f);
        put_peers(n, f);
        fputs("}}\n", f);
        if (fclose(f) == 0 && good)
            rc = file_replace(path, text, len, 0600, FILE_DURABLE, err);
    }
    free(text);
    return rc;
}

void collector_state_save(struct collector *n)
{
    char path[SF_ELAN_PATH_MAX];
    struct errbuf err;

    n->saved = steady_now();
    n->unsaved = false;
    path_of(n, path, sizeof(path));
    if (write_file(n, path, &err) < 0)
        collector_events_alarm(err.text, steady_now(), n);
}

static void load_peers(struct collector *n, struct json_object *o)
{
    json_object_object_foreach(o, name, value)
    {
        struct collector_peer *p = collector_peer_make(n, name);
        const char *addr = json_object_get_string(value);

        if (p && addr)
            inet_pton(AF_INET, addr, &p->in_table);
    }
}

void collector_state_load(struct collector *n)
{
    char path[SF_ELAN_PATH_MAX];
    struct errbuf err;
    struct json_object *o, *peers;
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
    peers = o ? jsonx_object(o, "peers") : NULL;
    if (peers)
        load_peers(n, peers);
    json_object_put(o);
}

/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See map_ib.h.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "mapperd/map_ib.h"

#include <inttypes.h>

#include "mapperd/netfile.h"

#ifdef HAVE_UMAD

#include "mapperd/prober_ib.h"

static void tell_missing(const char *text, void *arg)
{
    fprintf(arg, "mapperd: not reached: %s\n", text);
}

int map_ib_once(const struct map_ib *m, FILE *out, FILE *err)
{
    struct prober_ib ib = {.ca = m->ca,
                           .port = m->port,
                           .window = m->window,
                           .missing = tell_missing,
                           .arg = err};
    struct prober_ib_stats s;
    struct errbuf why = {{0}};
    struct net *map = prober_ib_map(&ib, &s, &why);
    int rc = map ? 0 : -1;

    if (rc == 0) {
        fprintf(out,
                "%u hosts, %u switches, %u cables: %" PRIu64
                " questions, %.3f s, %.3f s CPU\n",
                map->nhosts, map->nxbars, map->ncables, s.mads, s.seconds,
                s.cpu);
        if (m->map_file)
            rc = netfile_write(m->map_file, map, &why);
    }
    if (rc < 0)
        fprintf(err, "mapperd: %s\n", why.text);
    else if (s.missing > 0)
        fprintf(err,
                "mapperd: the map is not whole: %u ports lead to what was "
                "not reached\n",
                s.missing);
    net_free(map);
    return rc < 0 ? 2 : s.missing > 0;
}

#else

int map_ib_once(const struct map_ib *m, FILE *out, FILE *err)
{
    (void)m;
    (void)out;
    fprintf(err, "mapperd: built without libibumad: no InfiniBand\n");
    return 2;
}

#endif

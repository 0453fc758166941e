/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See netfile.h.
 */
#include "mapperd/netfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/build.h"
#include "net/format.h"

#define PIECE 65536

static struct net *read_open(const char *name, FILE *f, struct errbuf *err)
{
    struct bytebuf text;
    struct net *net = NULL;
    uint8_t *at;
    size_t n;

    bytebuf_init(&text, SF_NET_FILE_MAX);
    while ((at = bytebuf_room(&text, PIECE)) &&
           (n = fread(at, 1, PIECE, f)) > 0)
        bytebuf_grow(&text, n);
    if (ferror(f))
        errprintf(err, "%s: %s", name, strerror(errno));
    else if (!at)
        errprintf(err, "%s: too long", name);
    else
        net = net_parse(name, (const char *)bytebuf_data(&text),
                        bytebuf_len(&text), err);
    bytebuf_free(&text);
    return net;
}

struct net *netfile_read(const char *name, struct errbuf *err)
{
    FILE *f = fopen(name, "re");
    struct net *net;

    if (!f && errno == ENOENT && !strchr(name, '/'))
        return net_build_named(name, err);
    if (!f) {
        errprintf(err, "%s: %s", name, strerror(errno));
        return NULL;
    }
    net = read_open(name, f, err);
    fclose(f);
    return net;
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n > m && strcmp(path + n - m, end) == 0;
}

static int put_file(const char *path, const struct bytebuf *text,
                    struct errbuf *err)
{
    char tmp[4096];
    FILE *f;
    bool ok;

    if (snprintf(tmp, sizeof(tmp), "%s.new", path) >= (int)sizeof(tmp))
        return errprintf(err, "%s: name too long", path);
    f = fopen(tmp, "we");
    if (!f)
        return errprintf(err, "%s: %s", tmp, strerror(errno));
    ok = fwrite(bytebuf_data(text), 1, bytebuf_len(text), f) ==
         bytebuf_len(text);
    ok = fflush(f) == 0 && ok;
    ok = fclose(f) == 0 && ok;
    if (ok && rename(tmp, path) == 0)
        return 0;
    errprintf(err, "%s: %s", path, strerror(errno));
    unlink(tmp);
    return -1;
}

int netfile_write(const char *path, const struct net *net, struct errbuf *err)
{
    struct bytebuf text;
    int rc;

    bytebuf_init(&text, SF_NET_FILE_MAX);
    if (ends_in(path, ".json"))
        net_write_json(net, &text);
    else if (ends_in(path, ".ibnet"))
        net_write_ib(net, &text);
    else
        net_write_text(net, &text);
    rc = text.bad ? errprintf(err, "%s: no memory, or too long", path)
                  : put_file(path, &text, err);
    bytebuf_free(&text);
    return rc;
}

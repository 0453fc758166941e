/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See netfile.h.
 */
#include "mapperd/netfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytebuf.h"
#include "base/file.h"
#include "net/build.h"
#include "net/format.h"

struct net *netfile_read(const char *name, struct errbuf *err)
{
    size_t len;
    char *text = file_read(name, SF_NET_FILE_MAX, FILE_ANY, &len, err);
    struct net *net = NULL;

    if (text)
        net = net_parse(name, text, len, err);
    else if (errno == ENOENT && !strchr(name, '/'))
        net = net_build_named(name, err);
    free(text);
    return net;
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);

    return n > m && strcmp(path + n - m, end) == 0;
}

int netfile_write(const char *path, const struct net *net, struct errbuf *err)
{
    struct bytebuf text;
    int rc;

    bytebuf_init(&text, SF_NET_FILE_MAX);
    if (ends_in(path, ".json"))
        net_write_json(net, &text);
    else if (ends_in(path, ".ibnet") || net->first_port)
        net_write_ib(net, &text);
    else
        net_write_text(net, &text);
    rc = text.bad ? errprintf(err, "%s: no memory, or too long", path)
                  : file_replace(path, bytebuf_data(&text), bytebuf_len(&text),
                                 0666, FILE_UMASK, err);
    bytebuf_free(&text);
    return rc;
}

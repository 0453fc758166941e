/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What reading switchmgr.conf does not show: addresses, lists of nodes, users
 * and groups of this machine.  --test-config and a reload look here, so that
 * nothing of it is found out by a daemon that does not start.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/host_names.h"
#include "base/limits.h"
#include "base/number.h"
#include "switchmgrd/collector.h"

static int wrong(struct errbuf *err, const char *key, const char *what,
                 const char *text)
{
    errno = EINVAL;
    return errprintf(err, "%s: %s: %.100s", key, what, text);
}

int collector_address(const char *key, const char *text, uint16_t port,
                      struct sockaddr_in *sa, struct errbuf *err)
{
    const char *colon = strchr(text, ':');
    size_t len = colon ? (size_t)(colon - text) : strlen(text);
    char host[INET_ADDRSTRLEN] = "";
    uint32_t at = port;

    *sa = (struct sockaddr_in){.sin_family = AF_INET};
    if (port == 0 && number_parse(&at, text, 0, UINT16_MAX) == 0) {
        sa->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        sa->sin_port = htons((uint16_t)at);
        return 0;
    }
    at = port;
    if (len < sizeof(host))
        memcpy(host, text, len);
    if ((colon ? number_parse(&at, colon + 1, 0, UINT16_MAX) < 0 : port == 0) ||
        (len > 0 && inet_pton(AF_INET, host, &sa->sin_addr) != 1))
        return wrong(err, key, "not ADDRESS:PORT, in numbers", text);
    sa->sin_port = htons((uint16_t)at);
    return 0;
}

static int check_address(const char *key, const char *text, uint16_t port,
                         struct errbuf *err)
{
    struct sockaddr_in sa;

    return text && *text ? collector_address(key, text, port, &sa, err) : 0;
}

static int check_list(const char *key, const char *text, struct errbuf *err)
{
    struct host_names names;
    struct errbuf why;

    if (!text || !*text)
        return 0;
    if (host_names_expand(&names, text, SF_ELAN_NODES_MAX, &why) < 0)
        return errprintf(err, "%s: %s", key, why.text);
    host_names_free(&names);
    return 0;
}

static int check_user(const char *key, const char *name, struct errbuf *err)
{
    return !name || !*name || getpwnam(name)
               ? 0
               : wrong(err, key, "there is no such user", name);
}

/* What one has named shall be there. */
static int check_file(const char *key, const char *path, struct errbuf *err)
{
    return path && *path && access(path, F_OK) < 0 && errno == ENOENT
               ? wrong(err, key, "there is no such file", path)
               : 0;
}

static int check(const struct mgrconf *c, struct errbuf *err)
{
    if (collector_nodes_check(c, err) < 0 ||
        check_list("MapperNodes", c->mapper_nodes, err) < 0 ||
        check_list("LinkNodes", c->link_nodes, err) < 0 ||
        check_address("Listen", c->listen, SF_REPORT_PORT, err) < 0 ||
        check_address("MetricsListen", c->metrics_listen, 0, err) < 0 ||
        check_user("User", c->user, err) < 0 ||
        check_user("ServiceUser", c->service_user, err) < 0 ||
        check_file("Elanhosts", c->elanhosts, err) < 0 ||
        check_file("SlurmConf", c->slurm_conf, err) < 0)
        return -1;
    if (c->control_group && *c->control_group && !getgrnam(c->control_group))
        return wrong(err, "ControlGroup", "there is no such group",
                     c->control_group);
    return 0;
}

int collector_check(const struct mgrconf *c, const char *path,
                    struct errbuf *err)
{
    return check(c, err) < 0 ? conf_locate(err, path) : 0;
}

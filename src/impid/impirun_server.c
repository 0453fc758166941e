/* SPDX-License-Identifier: BSD-3-Clause
 * The IMPI server of a job: one line on stdout, then it stays until every
 * client has said FINI.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/netaddr.h"
#include "base/sitedir.h"
#include "impid/impirun.h"
#include "impid/names.h"
#include "impi/site.h"

/* An address that others reach, never loopback by accident of a name. */
static int choose_address(char out[NETADDR_IP_MAX],
                          const struct impi_site *site, struct errbuf *err)
{
    const char *ifname = getenv(ENV_IFNAME);
    struct in6_addr a;

    if (ifname && *ifname) {
        if (netaddr_of_interface(&a, ifname, err) < 0)
            return -1;
    } else if (site->advertise) {
        if (netaddr_parse_ip(&a, site->advertise) < 0)
            return errprintf(err, "Advertise=%s is not an address",
                             site->advertise);
    } else if (site->network) {
        if (netaddr_in_network(&a, site->network, err) < 0)
            return -1;
    } else if (netaddr_outside(&a) < 0) {
        fprintf(stderr, "impirun: this machine has no address that others "
                        "reach; clients have to run here\n");
    }
    netaddr_print_ip(out, &a);
    return 0;
}

static int start(struct server_words *c, const struct impirun *run,
                 char address[SERVER_ADDRESS_MAX], struct errbuf *err)
{
    char advertise[NETADDR_IP_MAX], secret[SERVER_SECRET_SIZE];
    struct server_options o = {.path = PATH_SERVER,
                               .secret = secret,
                               .agents = 1,
                               .tasks = 1,
                               .bind = "any",
                               .advertise = advertise,
                               .port_lo = run->port,
                               .port_hi = run->port,
                               .munge = "",
                               .log = getenv(ENV_LOG),
                               .world = run->nclients,
                               .auth = run->auth,
                               .withhold = run->withhold};
    struct impi_site site;

    if (impi_site_read(&site, SITEDIR_CONF(CONF_NAME), err) < 0)
        return -1;
    if (run->port == 0) {
        o.port_lo = site.port_lo;
        o.port_hi = site.port_hi;
    }
    if (server_secret(secret) < 0)
        errprintf(err, "%s", strerror(errno));
    else if (choose_address(advertise, &site, err) == 0)
        server_words_init(c, server_start(&o, address, err));
    impi_site_free(&site);
    return c->fd < 0 ? -1 : 0;
}

/* impi-server has to live first: a list that leaves no method, say, ends it
 * before an address is worth anything.  True: it said ready. */
static bool wait_ready(struct server_words *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    struct server_line line;

    for (;;) {
        while (server_words_next(c, &line)) {
            if (line.kind == SERVER_LINE_READY)
                return true;
            if (line.kind == SERVER_LINE_ABORT) {
                fprintf(stderr, "impirun: %s\n", line.text);
                return false;
            }
            if (line.kind == SERVER_LINE_NOTE)
                fprintf(stderr, "impirun: %s\n", line.text);
        }
        if (poll(&p, 1, -1) < 0 && errno != EINTR)
            return false;
        if (!server_words_read(c)) {
            fprintf(stderr, "impirun: impi-server did not start\n");
            return false;
        }
    }
}

/* Until all clients have left, or the job broke. */
static int serve(struct server_words *c)
{
    struct pollfd p = {.fd = c->fd, .events = POLLIN};
    struct server_line line;

    for (;;) {
        while (server_words_next(c, &line)) {
            if (line.kind == SERVER_LINE_END)
                return line.code;
            if (*line.text)
                fprintf(stderr, "impirun: %s\n", line.text);
            if (line.kind == SERVER_LINE_ABORT)
                return line.code ? line.code : IMPIRUN_FAILED;
        }
        if (poll(&p, 1, -1) < 0 && errno != EINTR)
            return IMPIRUN_FAILED;
        if (!server_words_read(c)) {
            fprintf(stderr, "impirun: SF-E303: lost impi-server\n");
            return IMPIRUN_FAILED;
        }
    }
}

int impirun_server(const struct impirun *run)
{
    struct server_words c = {.fd = -1};
    char address[SERVER_ADDRESS_MAX];
    struct errbuf err = {""};
    int rc = IMPIRUN_FAILED;

    signal(SIGPIPE, SIG_IGN);
    if (start(&c, run, address, &err) < 0) {
        fprintf(stderr, "impirun: %s\n", err.text);
    } else if (wait_ready(&c)) {
        if (run->file) {
            rc = impirun_file(run, &c, address);
        } else {
            printf("%s\n", address);
            fflush(stdout);
            fclose(stdout);
            rc = serve(&c);
        }
    }
    server_words_close(&c);
    return rc;
}

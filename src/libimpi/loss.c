/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the user is told that this process has lost another one.
 */
#include "libimpi/loss.h"

#include <poll.h>

#include "libimpi/file.h"
#include "libimpi/foreign.h"
#include "libimpi/state.h"
#include "libimpi/win.h"

/* Most likely impid knows why and is about to end this process; its message is
 * the better one.  This is how long it gets. */
#define LAST_WORDS_MS 3000

static void hear_impid(void)
{
    struct pollfd p = {.fd = impi_be.agent.fd, .events = 0};

    if (impi_be.spanning)
        poll(&p, 1, LAST_WORDS_MS);
}

__attribute__((noreturn)) static void hear_then_tell(const struct errbuf *text)
{
    hear_impid();
    be_die(1, "%s", text->text);
}

/* Where every process that notices the loss is to say so. */
__attribute__((noreturn)) static void tell_then_hear(const struct errbuf *text)
{
    be_say("%s", text->text);
    hear_impid();
    be_end(1, text->text);
}

void loss_unreachable(uint32_t peer, const char *why)
{
    struct netaddr from = listens_at((uint32_t)impi_be.rank);
    struct netaddr to = listens_at(peer);
    char here[NETADDR_IP_MAX], there[NETADDR_TEXT_MAX];
    struct errbuf text;

    netaddr_print_ip(here, &from.ip);
    netaddr_print(there, &to);
    errprintf(&text, "SF-E407: %s cannot reach rank %u (client %u) at %s: %s",
              here, peer, client_of((int)peer), there, why);
    hear_then_tell(&text);
}

void loss_of_relay(const char *why)
{
    struct errbuf text;

    errprintf(&text, "SF-E402: lost impid, which relays to other clients: %s",
              why);
    hear_then_tell(&text);
}

void loss_of_peer(uint32_t peer, const char *why)
{
    const char *file = file_waits(peer), *window = win_of_lost(peer);
    struct netaddr at = listens_at(peer);
    char where[NETADDR_TEXT_MAX];
    struct errbuf text;

    netaddr_print(where, &at);
    if (file)
        errprintf(&text,
                  "SF-E402: lost rank %u (client %u, %s): %s; in a collective "
                  "call on %s, which may not be whole",
                  peer, client_of((int)peer), where, why, file);
    else
        errprintf(&text, "SF-E402: lost rank %u (client %u, %s): %s%s", peer,
                  client_of((int)peer), where, why, window);
    if (file || *window)
        tell_then_hear(&text);
    hear_then_tell(&text);
}

void loss_in_window(uint32_t rank, const char *did, uint32_t of,
                    const char *window)
{
    struct errbuf text;

    errprintf(&text,
              "SF-E402: lost rank %u (client %u), which %s rank %u in %s", rank,
              client_of((int)rank), did, of, window);
    tell_then_hear(&text);
}

/* By its host: a process of a client that is not ours has no address of its
 * own. */
void loss_by_breach(uint32_t peer)
{
    struct impi_proc p = impi_world_proc(&impi_be.world, peer);
    struct netaddr at =
        impi_hostaddr(impi_world_host(&impi_be.world, p.host)->addr, 0);
    char where[NETADDR_IP_MAX];

    netaddr_print_ip(where, &at.ip);
    if (foreign_of(peer)) {
        be_say("SF-E408: the process at %s broke IMPI: %s", where,
               impi_p2p_peer_error(impi_be.p2p, peer));
        return;
    }
    be_die(1, "SF-E408: rank %u (client %u, host %u at %s) broke IMPI: %s",
           peer, p.client, p.host, where,
           impi_p2p_peer_error(impi_be.p2p, peer));
}

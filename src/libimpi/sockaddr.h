/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Socket addresses from the 16 bytes that IMPI carries: IPv6, or IPv4 in
 * either of its forms inside it.
 */
#ifndef LIBIMPI_SOCKADDR_H
#define LIBIMPI_SOCKADDR_H

#include <stdint.h>
#include <sys/socket.h>

int sockaddr_family(const uint8_t addr[16]);
socklen_t sockaddr_set(struct sockaddr_storage *ss, const uint8_t addr[16],
                       uint16_t port);
uint16_t sockaddr_port(const struct sockaddr_storage *ss);
/* "10.0.0.1", "fe80::1" */
void sockaddr_print(char *dst, size_t size, const uint8_t addr[16]);

#endif

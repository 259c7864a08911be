// SPDX-License-Identifier: Apache-2.0

// ProofKit builds this file for C11 without extensions; the sockets interface is POSIX's.
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "parts.h"

enum { BACKLOG = 1024 };

union any_address {
  struct sockaddr plain;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
};

static void write_four(char canonical[PFH_ADDRESS_TEXT], const struct in_addr *address) {
  // inet_ntop formats with sprintf, which costs more than all else that is done with an address.
  uint8_t bytes[4];
  memcpy(bytes, address, sizeof bytes);
  char *end = canonical;
  for (size_t place = 0; place < sizeof bytes; place++) {
    if (place > 0) *end++ = '.';
    if (bytes[place] >= 100) *end++ = (char)('0' + bytes[place] / 100);
    if (bytes[place] >= 10) *end++ = (char)('0' + bytes[place] / 10 % 10);
    *end++ = (char)('0' + bytes[place] % 10);
  }
  *end = '\0';
}

static void write_six(char canonical[PFH_ADDRESS_TEXT], const struct in6_addr *address) {
  if (IN6_IS_ADDR_V4MAPPED(address)) {
    struct in_addr four;
    memcpy(&four, &address->s6_addr[12], sizeof four);
    write_four(canonical, &four);
  } else if (inet_ntop(AF_INET6, address, canonical, PFH_ADDRESS_TEXT) == NULL) {
    canonical[0] = '\0';
  }
}

enum pfh_result pfh_address_canonical(char canonical[PFH_ADDRESS_TEXT], const char *text) {
  struct in6_addr six;
  struct in_addr four;
  canonical[0] = '\0';
  if (inet_pton(AF_INET, text, &four) == 1) {
    write_four(canonical, &four);
  } else if (inet_pton(AF_INET6, text, &six) == 1) {
    write_six(canonical, &six);
  } else {
    return PFH_E_ADDRESS;
  }
  return PFH_OK;
}

enum pfh_result pfh_address_network(char canonical[PFH_ADDRESS_TEXT], const char *text) {
  struct in6_addr six;
  if (inet_pton(AF_INET6, text, &six) != 1 || IN6_IS_ADDR_V4MAPPED(&six)) {
    return pfh_address_canonical(canonical, text);
  }
  memset(&six.s6_addr[8], 0, 8);
  write_six(canonical, &six);
  return PFH_OK;
}

int pfh_address_is_loopback(const char *canonical) {
  return strncmp(canonical, "127.", 4) == 0 || strcmp(canonical, "::1") == 0;
}

void pfh_address_of_peer(char canonical[PFH_ADDRESS_TEXT], const struct sockaddr *peer) {
  union any_address address;
  memset(&address, 0, sizeof address);
  canonical[0] = '\0';
  if (peer == NULL) return;
  if (peer->sa_family == AF_INET) {
    memcpy(&address.four, peer, sizeof address.four);
    write_four(canonical, &address.four.sin_addr);
  } else if (peer->sa_family == AF_INET6) {
    memcpy(&address.six, peer, sizeof address.six);
    write_six(canonical, &address.six.sin6_addr);
  }
}

enum pfh_result pfh_listen(int *listening, uint16_t *chosen, const char *text, uint16_t port) {
  union any_address address;
  socklen_t size;
  memset(&address, 0, sizeof address);
  if (inet_pton(AF_INET, text, &address.four.sin_addr) == 1) {
    address.four.sin_family = AF_INET;
    address.four.sin_port = htons(port);
    size = sizeof address.four;
  } else if (inet_pton(AF_INET6, text, &address.six.sin6_addr) == 1) {
    address.six.sin6_family = AF_INET6;
    address.six.sin6_port = htons(port);
    size = sizeof address.six;
  } else {
    return PFH_E_ADDRESS;
  }

  // Not blocking: the client may have left between the wait for it and the call that accepts it.
  const int made = socket(address.plain.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) return PFH_E_BIND;
  const int yes = 1;
  // A server that was just stopped leaves connections behind that would keep the port for a minute.
  if (setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 || bind(made, &address.plain, size) != 0 ||
      listen(made, BACKLOG) != 0 || getsockname(made, &address.plain, &size) != 0) {
    const int reason = errno;
    close(made);
    errno = reason;
    return PFH_E_BIND;
  }
  *listening = made;
  *chosen = ntohs(address.plain.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port);
  return PFH_OK;
}

// SPDX-License-Identifier: Apache-2.0

// The C door alone, to be built with sanitizers that see all of it: `door [CERTIFICATE KEY]` prints its port, echoes
// bodies, renews its certificate at a line `r` on standard input, and stops at any other.

#include <stdio.h>

#include "CMicroHTTPD.h"

static void echo(void *context, const struct pfh_request *request, pfh_response *response) {
  (void)context;
  // Read all of it, so that a sanitizer sees what does not belong to the request.
  size_t sum = 0;
  for (size_t i = 0; i < request->body_size; i++) sum += request->body[i];
  for (size_t i = 0; i < request->header_count; i++) {
    for (size_t j = 0; j < request->headers[i].value_size; j++) sum += (unsigned char)request->headers[i].value[j];
  }
  char text[32];
  snprintf(text, sizeof text, "%zu", sum);
  // A failed setting leaves status 500, which the door's own tests cover.
  if (pfh_response_set(response, 200, request->body, request->body_size) &&
      pfh_response_header(response, "X-Sum", text) && pfh_response_header(response, "X-Path", request->path)) {
    return;
  }
}

int main(int count, char **arguments) {
  pfh_certificate *certificate = NULL;
  const int is_secure = count == 3;
  if (is_secure && pfh_certificate_read(&certificate, arguments[1], arguments[2]) != PFH_OK) return 2;
  const struct pfh_limits limits = {
      .threads = 4,
      .connections = 1000,
      .head = 32 << 10,
      .body = 1 << 20,
      .bodies = 4 << 20,
      .request_ms = 500,
      .idle_ms = 500,
  };
  pfh_server *server;
  if (pfh_server_start(&server, "127.0.0.1", 0, certificate, &limits, "", echo, NULL) != PFH_OK) return 3;
  printf("%u\n", (unsigned)pfh_server_port(server));
  fflush(stdout);
  char line[8];
  while (fgets(line, sizeof line, stdin) != NULL && line[0] == 'r') {
    pfh_certificate *fresh = NULL;
    if (!is_secure || pfh_certificate_read(&fresh, arguments[1], arguments[2]) != PFH_OK) return 4;
    if (!pfh_server_renew(server, fresh)) return 5;
  }
  const int is_drained = pfh_server_stop(server, 5000);
  const struct pfh_counts counts = pfh_server_counts(server);
  pfh_server_free(server);
  if (is_drained && counts.connections_open == 0 && counts.requests_in_flight == 0) return 0;
  fprintf(stderr, "door: drained %d, %llu connections open, %llu requests in flight\n", is_drained,
          (unsigned long long)counts.connections_open, (unsigned long long)counts.requests_in_flight);
  return 6;
}

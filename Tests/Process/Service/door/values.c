// SPDX-License-Identifier: Apache-2.0

// The door's values: addresses, sockets of the file system, and certificate files.
//
//   values FOLDER END       FOLDER holds chain.pem (a chain of nine) with chain.key, its first eight certificates as
//                           eight.pem, and other.key; END is when the first certificate ends, in seconds since 1970.
//
// To be linked with `-Wl,--wrap=free,--wrap=stat,--wrap=listen`.

#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../../../../CSources/CMicroHTTPD/parts.h"
#include "check.h"

// Addresses ------------------------------------------------------------------------------------------------------

static void test_digits(void) {
  for (unsigned byte = 0; byte < 256; byte++) {
    char text[16], canonical[PFH_ADDRESS_TEXT];
    snprintf(text, sizeof text, "%u.%u.%u.%u", byte, 255 - byte, (byte + 64) % 256, (byte + 191) % 256);
    CHECK(pfh_address_canonical(canonical, text) == PFH_OK && strcmp(canonical, text) == 0, text);
  }
}

static void test_addresses(void) {
  static const struct {
    const char *text, *canonical, *network;
    int is_loopback;
  } rows[] = {
      {"192.0.2.10", "192.0.2.10", "192.0.2.10", 0},
      {"::ffff:192.0.2.99", "192.0.2.99", "192.0.2.99", 0},
      {"::FFFF:7f00:1", "127.0.0.1", "127.0.0.1", 1},
      {"127.255.0.9", "127.255.0.9", "127.255.0.9", 1},
      {"126.0.0.1", "126.0.0.1", "126.0.0.1", 0},
      {"128.0.0.1", "128.0.0.1", "128.0.0.1", 0},
      {"0:0:0:0:0:0:0:1", "::1", "::", 1},
      {"1::1", "1::1", "1::", 0},
      {"127::1", "127::1", "127::", 0},
      {"2001:DB8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::", 0},
      {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
       "ffff:ffff:ffff:ffff::", 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char canonical[PFH_ADDRESS_TEXT], network[PFH_ADDRESS_TEXT];
    CHECK(pfh_address_canonical(canonical, rows[i].text) == PFH_OK, rows[i].text);
    CHECK(strcmp(canonical, rows[i].canonical) == 0, rows[i].text);
    CHECK(pfh_address_is_loopback(canonical) == rows[i].is_loopback, rows[i].text);
    CHECK(pfh_address_network(network, rows[i].text) == PFH_OK && strcmp(network, rows[i].network) == 0, rows[i].text);
  }
  static const char *const none[] = {"", "localhost", "[::1]", "1.2.3", "1.2.3.4:80", "fe80::1%lo", "01.2.3.4", ":"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    char canonical[PFH_ADDRESS_TEXT] = "x", network[PFH_ADDRESS_TEXT] = "x";
    CHECK(pfh_address_canonical(canonical, none[i]) == PFH_E_ADDRESS && canonical[0] == '\0', none[i]);
    CHECK(pfh_address_network(network, none[i]) == PFH_E_ADDRESS && network[0] == '\0', none[i]);
  }
}

static void test_peers(void) {
  char peer[PFH_ADDRESS_TEXT] = "x";
  pfh_address_of_peer(peer, NULL);
  CHECK(peer[0] == '\0', "none");
  struct sockaddr_in four = {.sin_family = AF_INET};
  struct sockaddr_in6 six = {.sin6_family = AF_INET6};
  CHECK(inet_pton(AF_INET, "198.51.100.7", &four.sin_addr) == 1, "four");
  pfh_address_of_peer(peer, (const struct sockaddr *)&four);
  CHECK(strcmp(peer, "198.51.100.7") == 0, peer);
  CHECK(inet_pton(AF_INET6, "::ffff:198.51.100.8", &six.sin6_addr) == 1, "six");
  pfh_address_of_peer(peer, (const struct sockaddr *)&six);
  CHECK(strcmp(peer, "198.51.100.8") == 0, peer);
  CHECK(inet_pton(AF_INET6, "2001:db8::9", &six.sin6_addr) == 1, "six");
  pfh_address_of_peer(peer, (const struct sockaddr *)&six);
  CHECK(strcmp(peer, "2001:db8::9") == 0, peer);
  const struct sockaddr_un local = {.sun_family = AF_UNIX};
  pfh_address_of_peer(peer, (const struct sockaddr *)&local);
  CHECK(peer[0] == '\0', "local");
}

// Sockets that listen --------------------------------------------------------------------------------------------

int __real_listen(int socket, int backlog);
int __wrap_listen(int socket, int backlog);
int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);

static int backlog_seen;
static const struct stat *stat_told;
static const char *stat_asked;

int __wrap_listen(int socket, int backlog) {
  backlog_seen = backlog;
  return __real_listen(socket, backlog);
}

int __wrap_stat(const char *path, struct stat *status) {
  if (stat_told == NULL) return __real_stat(path, status);
  static char asked[256];
  snprintf(asked, sizeof asked, "%s", path);
  stat_asked = asked;
  *status = *stat_told;
  return 0;
}

static void test_listening(void) {
  static const char *const addresses[] = {"127.0.0.1", "::1"};
  for (size_t i = 0; i < 2; i++) {
    int listening = -1, accepts = 0;
    uint16_t chosen = 0;
    socklen_t size = sizeof accepts;
    const enum pfh_result result = pfh_listen(&listening, &chosen, addresses[i], 0);
    // A machine without IPv6 has no such address.
    if (result == PFH_E_BIND && i == 1 && (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT)) continue;
    CHECK(result == PFH_OK && chosen != 0 && backlog_seen == 1024, addresses[i]);
    CHECK(getsockopt(listening, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0 && accepts == 1, addresses[i]);
    CHECK((fcntl(listening, F_GETFL) & O_NONBLOCK) != 0, addresses[i]);
    CHECK((fcntl(listening, F_GETFD) & FD_CLOEXEC) != 0, addresses[i]);
    int again = -1;
    uint16_t other = 0;
    CHECK(pfh_listen(&again, &other, addresses[i], chosen) == PFH_E_BIND && errno == EADDRINUSE, addresses[i]);
    close(listening);
  }
  CHECK(pfh_local_path("unix") == NULL && pfh_local_path("Unix:/a") == NULL && pfh_local_path("") == NULL, "none");
  CHECK(strcmp(pfh_local_path("unix:"), "") == 0 && strcmp(pfh_local_path("unix:/a"), "/a") == 0, "paths");
}

/// Only its owner, this user or root, may write to the folder of a socket.
static void test_folders(void) {
  const uid_t own = geteuid(), other = own + 1;
  const struct {
    const char *path, *folder;
    uid_t owner;
    mode_t mode;
    int is_refused;
  } rows[] = {
      {"local", ".", own, 0755, 0},           {"local", ".", other, 0755, other != 0},
      {"./local", ".", 0, 0755, 0},           {"./local", ".", own, 0775, 1},
      {"./local", ".", own, 0757, 1},         {"../local-of-the-door", "..", own, 01777, 1},
      {"/local-of-the-door", "/", own, 0720, 1}, {"./deep/local", "./deep", own, 0702, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct stat told = {.st_uid = rows[i].owner, .st_mode = S_IFDIR | rows[i].mode};
    int listening = -1;
    stat_told = &told;
    const enum pfh_result result = pfh_listen_local(&listening, rows[i].path, 0640);
    const int reason = errno;
    stat_told = NULL;
    CHECK(strcmp(stat_asked, rows[i].folder) == 0, rows[i].path);
    if (rows[i].is_refused) {
      CHECK(result == PFH_E_BIND && reason == EPERM && access(rows[i].path, F_OK) != 0, rows[i].path);
      continue;
    }
    struct stat made;
    CHECK(result == PFH_OK && backlog_seen == 1024, rows[i].path);
    CHECK(lstat("local", &made) == 0 && S_ISSOCK(made.st_mode) && (made.st_mode & 07777) == 0640, rows[i].path);
    CHECK((fcntl(listening, F_GETFL) & O_NONBLOCK) != 0, rows[i].path);
    CHECK((fcntl(listening, F_GETFD) & FD_CLOEXEC) != 0, rows[i].path);
    close(listening);
    CHECK(unlink("local") == 0, rows[i].path);
  }
}

// Certificates ---------------------------------------------------------------------------------------------------

void __real_free(void *block);
void __wrap_free(void *block);

static unsigned keys_left;

/// No block that held a private key's text is given back with it.
void __wrap_free(void *block) {
  static const char label[] = "PRIVATE KEY";
  if (block != NULL && memmem(block, malloc_usable_size(block), label, sizeof label - 1) != NULL) keys_left += 1;
  __real_free(block);
}

/// The result of reading two files, and the reason of the system's if there is one.
static enum pfh_result reading(pfh_certificate **certificate, const char *chain, const char *key, int *reason) {
  errno = 0;
  const enum pfh_result result = pfh_certificate_read(certificate, chain, key);
  *reason = errno;
  return result;
}

static void copy(const char *to, const char *from, size_t size, mode_t mode) {
  static char bytes[(256 << 10) + 2];
  FILE *const source = fopen(from, "r");
  if (source == NULL) exit(2);
  const size_t count = fread(bytes, 1, sizeof bytes, source);
  fclose(source);
  // Lines without words behind the PEM.
  if (size > count) memset(bytes + count, '\n', size - count);
  FILE *const target = fopen(to, "w");
  if (target == NULL || fwrite(bytes, 1, size > count ? size : count, target) == 0) exit(2);
  fclose(target);
  if (chmod(to, mode) != 0) exit(2);
}

static void test_files(void) {
  copy("big.pem", "eight.pem", 262144, 0644);
  copy("bigger.pem", "eight.pem", 262145, 0644);
  copy("big.key", "chain.key", 262144, 0600);
  copy("bigger.key", "chain.key", 262145, 0600);
  copy("none", "/dev/null", 1, 0600);
  CHECK(mkfifo("fifo", 0600) == 0, "fifo");
  static const struct {
    const char *chain, *key;
    enum pfh_result result;
    int reason;
  } rows[] = {
      {"big.pem", "big.key", PFH_OK, 0},
      {"bigger.pem", "chain.key", PFH_E_CERTIFICATE_FILE, EFBIG},
      {"eight.pem", "bigger.key", PFH_E_KEY_FILE, EFBIG},
      {"missing", "chain.key", PFH_E_CERTIFICATE_FILE, ENOENT},
      {"eight.pem", "missing", PFH_E_KEY_FILE, ENOENT},
      {".", "chain.key", PFH_E_CERTIFICATE_FILE, EISDIR},
      {"eight.pem", ".", PFH_E_KEY_FILE, EISDIR},
      {"fifo", "chain.key", PFH_E_CERTIFICATE_FILE, EINVAL},
      {"eight.pem", "fifo", PFH_E_KEY_FILE, EINVAL},
      {"chain.key", "chain.key", PFH_E_CERTIFICATE, 0},
      {"none", "chain.key", PFH_E_CERTIFICATE, 0},
      {"chain.pem", "chain.key", PFH_E_CHAIN, 0},
      {"eight.pem", "eight.pem", PFH_E_KEY, 0},
      {"eight.pem", "none", PFH_E_KEY, 0},
      {"eight.pem", "other.key", PFH_E_MISMATCH, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    pfh_certificate *certificate = NULL;
    int reason;
    const enum pfh_result result = reading(&certificate, rows[i].chain, rows[i].key, &reason);
    CHECK(result == rows[i].result, rows[i].chain);
    CHECK(rows[i].reason == 0 || reason == rows[i].reason, rows[i].key);
    CHECK((certificate != NULL) == (result == PFH_OK), rows[i].key);
    pfh_certificate_free(certificate);
  }
  pfh_certificate_free(NULL);
  CHECK(keys_left == 0, "the text of a key is wiped");
}

static void test_modes(void) {
  for (unsigned bit = 0; bit < 9; bit++) {
    char row[8];
    pfh_certificate *certificate = NULL;
    int reason;
    snprintf(row, sizeof row, "%o", 0400U | 1U << bit);
    CHECK(chmod("chain.key", 0400U | 1U << bit) == 0, row);
    const enum pfh_result result = reading(&certificate, "eight.pem", "chain.key", &reason);
    CHECK(result == (bit == 2 ? PFH_E_KEY_OPEN : PFH_OK), row);
    pfh_certificate_free(certificate);
  }
  CHECK(chmod("chain.key", 0600) == 0, "mode");
}

/// The certificates that a handshake gets from a server with these files.
static unsigned served(const char *chain, int64_t end) {
  pfh_certificate *certificate = NULL;
  if (!CHECK(pfh_certificate_read(&certificate, chain, "chain.key") == PFH_OK, chain)) return 0;
  CHECK(pfh_certificate_end(certificate) == end, chain);
  struct pfh_server server;
  memset(&server, 0, sizeof server);
  atomic_init(&server.certificate, certificate);
  void *const untyped = pfh_certificate_door();
  gnutls_certificate_retrieve_function3 *door;
  memcpy(&door, &untyped, sizeof door);
  gnutls_pcert_st *list = NULL;
  gnutls_privkey_t key = NULL;
  gnutls_ocsp_data_st *staples = &(gnutls_ocsp_data_st){0};
  unsigned count = 0, staple_count = 7, flags = 7;
  pfh_certificate_serve(NULL);
  CHECK(door(NULL, NULL, &list, &count, &staples, &staple_count, &key, &flags) == GNUTLS_E_INTERNAL_ERROR, chain);
  pfh_certificate_serve(&server);
  CHECK(door(NULL, NULL, &list, &count, &staples, &staple_count, &key, &flags) == 0, chain);
  CHECK(list != NULL && key != NULL && staples == NULL && staple_count == 0 && flags == 0, chain);
  pfh_certificate_serve(NULL);
  pfh_certificate_free(certificate);
  return count;
}

int main(int count, char **arguments) {
  if (count != 3 || chdir(arguments[1]) != 0) return 2;
  const int64_t end = strtoll(arguments[2], NULL, 10);
  test_digits();
  test_addresses();
  test_peers();
  test_listening();
  test_folders();
  test_files();
  test_modes();
  CHECK(served("eight.pem", end) == 8, "eight");
  return failures == 0 ? 0 : 1;
}

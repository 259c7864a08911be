// SPDX-License-Identifier: Apache-2.0

#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parts.h"

enum { FILE_SIZE_MAX = 256 << 10, KEY_ID_SIZE = 32 };

struct pfh_certificate {
  gnutls_pcert_st chain[PFH_CHAIN_MAX];
  unsigned chain_count;
  gnutls_privkey_t key;
  int64_t end;
  /// Served before this one.
  struct pfh_certificate *before;
};

struct file {
  unsigned char *bytes;
  size_t size;
};

static void file_wipe(struct file *file) {
  if (file->bytes != NULL) explicit_bzero(file->bytes, file->size);
  free(file->bytes);
  file->bytes = NULL;
}

/// Reads a whole file and says who may. 0 if it cannot be read; `errno` says why.
static int file_read(struct file *file, mode_t *mode, const char *name) {
  struct stat status;
  file->bytes = NULL;
  file->size = 0;
  // A FIFO in the place of a file must not keep a running server waiting for its other end.
  const int opened = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (opened < 0) return 0;
  int is_read = fstat(opened, &status) == 0;
  if (is_read && !S_ISREG(status.st_mode)) {
    errno = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
    is_read = 0;
  } else if (is_read && status.st_size > FILE_SIZE_MAX) {
    errno = EFBIG;
    is_read = 0;
  }
  if (is_read) {
    *mode = status.st_mode;
    file->bytes = malloc((size_t)status.st_size + 1);
    is_read = file->bytes != NULL;
  }
  while (is_read && file->size < (size_t)status.st_size) {
    const ssize_t count = read(opened, file->bytes + file->size, (size_t)status.st_size - file->size);
    if (count == 0) break;
    if (count > 0) file->size += (size_t)count;
    if (count < 0 && errno != EINTR) is_read = 0;
  }
  const int reason = errno;
  close(opened);
  if (!is_read) file_wipe(file);
  errno = reason;
  return is_read;
}

static int read_end(struct pfh_certificate *certificate) {
  gnutls_x509_crt_t first = NULL;
  if (gnutls_pcert_export_x509(&certificate->chain[0], &first) != GNUTLS_E_SUCCESS) return 0;
  certificate->end = (int64_t)gnutls_x509_crt_get_expiration_time(first);
  gnutls_x509_crt_deinit(first);
  return 1;
}

/// Whether the private key is the one of the chain's first certificate.
static int is_pair(const struct pfh_certificate *certificate) {
  gnutls_pubkey_t of_key = NULL;
  unsigned char ids[2][KEY_ID_SIZE];
  size_t sizes[2] = {KEY_ID_SIZE, KEY_ID_SIZE};
  if (gnutls_pubkey_init(&of_key) != GNUTLS_E_SUCCESS) return 0;
  const unsigned flags = GNUTLS_KEYID_USE_SHA256;
  const int is_same = gnutls_pubkey_import_privkey(of_key, certificate->key, 0, 0) == GNUTLS_E_SUCCESS &&
                      gnutls_pubkey_get_key_id(of_key, flags, ids[0], &sizes[0]) == GNUTLS_E_SUCCESS &&
                      gnutls_pubkey_get_key_id(certificate->chain[0].pubkey, flags, ids[1], &sizes[1]) ==
                          GNUTLS_E_SUCCESS &&
                      sizes[0] == sizes[1] && memcmp(ids[0], ids[1], sizes[0]) == 0;
  gnutls_pubkey_deinit(of_key);
  return is_same;
}

static enum pfh_result parse(struct pfh_certificate *certificate, const struct file *chain, const struct file *key) {
  const gnutls_datum_t chain_pem = {chain->bytes, (unsigned)chain->size};
  const gnutls_datum_t key_pem = {key->bytes, (unsigned)key->size};
  unsigned count = PFH_CHAIN_MAX;
  const int imported = gnutls_pcert_list_import_x509_raw(
      certificate->chain, &count, &chain_pem, GNUTLS_X509_FMT_PEM,
      GNUTLS_X509_CRT_LIST_SORT | GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
  if (imported == GNUTLS_E_SHORT_MEMORY_BUFFER) return PFH_E_CHAIN;
  if (imported != GNUTLS_E_SUCCESS || count == 0) return PFH_E_CERTIFICATE;
  certificate->chain_count = count;
  if (!read_end(certificate)) return PFH_E_CERTIFICATE;
  if (gnutls_privkey_init(&certificate->key) != GNUTLS_E_SUCCESS) return PFH_E_LIBRARY;
  if (gnutls_privkey_import_x509_raw(certificate->key, &key_pem, GNUTLS_X509_FMT_PEM, NULL, 0) != GNUTLS_E_SUCCESS) {
    return PFH_E_KEY;
  }
  return is_pair(certificate) ? PFH_OK : PFH_E_MISMATCH;
}

enum pfh_result pfh_certificate_read(pfh_certificate **certificate, const char *chain_file, const char *key_file) {
  struct file chain;
  struct file key;
  mode_t chain_mode = 0;
  mode_t key_mode = 0;
  *certificate = NULL;
  if (!file_read(&chain, &chain_mode, chain_file)) return PFH_E_CERTIFICATE_FILE;
  if (!file_read(&key, &key_mode, key_file)) {
    const int reason = errno;
    file_wipe(&chain);
    errno = reason;
    return PFH_E_KEY_FILE;
  }
  enum pfh_result result = PFH_E_KEY_OPEN;
  struct pfh_certificate *made = NULL;
  if ((key_mode & S_IROTH) == 0) {
    made = calloc(1, sizeof *made);
    result = made == NULL ? PFH_E_LIBRARY : parse(made, &chain, &key);
  }
  file_wipe(&chain);
  file_wipe(&key);
  if (result == PFH_OK) {
    *certificate = made;
  } else {
    pfh_certificate_free(made);
  }
  return result;
}

int64_t pfh_certificate_end(const pfh_certificate *certificate) { return certificate->end; }

void pfh_certificate_free(pfh_certificate *certificate) {
  while (certificate != NULL) {
    struct pfh_certificate *const before = certificate->before;
    for (unsigned i = 0; i < certificate->chain_count; i++) gnutls_pcert_deinit(&certificate->chain[i]);
    if (certificate->key != NULL) gnutls_privkey_deinit(certificate->key);
    free(certificate);
    certificate = before;
  }
}

void pfh_certificate_chain(pfh_certificate *certificate, pfh_certificate *before) { certificate->before = before; }

static _Thread_local struct pfh_server *served;

void pfh_certificate_serve(struct pfh_server *server) { served = server; }

static int retrieve(gnutls_session_t session, const struct gnutls_cert_retr_st *info, gnutls_pcert_st **chain,
                    unsigned *chain_count, gnutls_ocsp_data_st **staples, unsigned *staple_count,
                    gnutls_privkey_t *key, unsigned *flags) {
  (void)session;
  (void)info;
  if (served == NULL) return GNUTLS_E_INTERNAL_ERROR;
  // Lent, not given: whatever was served once lives as long as the server.
  struct pfh_certificate *const certificate = atomic_load(&served->certificate);
  *chain = certificate->chain;
  *chain_count = certificate->chain_count;
  *staples = NULL;
  *staple_count = 0;
  *key = certificate->key;
  *flags = 0;
  return 0;
}

void *pfh_certificate_door(void) {
  gnutls_certificate_retrieve_function3 *const door = retrieve;
  void *untyped;
  // libmicrohttpd passes it on as a pointer to void, which C does not convert functions to.
  memcpy(&untyped, &door, sizeof untyped);
  return untyped;
}

// SPDX-License-Identifier: Apache-2.0

#define _DEFAULT_SOURCE
#include <stdlib.h>
#include <string.h>
#include <tss2/tss2_esys.h>

#include "line.h"

enum {
  HALF = PHT_POINT_BYTES / 2,
  // Each TPM reads at least so much of its memory at once.
  READ_BYTES = 512,
};

// TCG EK Credential Profile: the certificate, and the usual place of the key, of an RSA-2048 endorsement key.
static const TPM2_HANDLE certificate_index = 0x01C00002;
static const TPM2_HANDLE endorsement_handle = 0x81010001;

/// One operation.
struct work {
  struct pht_tpm *tpm;
  struct line line;
  ESYS_CONTEXT *esys;
  ESYS_TR key, endorsement, session;
};

/// The result for a code of tpm2-tss. A code of the TPM has no layer in its upper half.
static enum pht_result judged(struct work *work, TSS2_RC code) {
  if (code == TSS2_RC_SUCCESS) return PHT_OK;
  work->tpm->code = code;
  if (work->line.failure != PHT_OK) return work->line.failure;
  if ((code & 0xFFFF0000U) != 0 && (code & TSS2_RC_LAYER_MASK) != TSS2_RESMGR_TPM_RC_LAYER) return PHT_E_LIBRARY;
  switch (code & 0xFFFFU) {
    case TPM2_RC_LOCKOUT: return PHT_E_LOCKED_OUT;
    case TPM2_RC_RETRY:
    case TPM2_RC_YIELDED:
    case TPM2_RC_TESTING:
    case TPM2_RC_CANCELED:
    case TPM2_RC_NV_RATE:
    case TPM2_RC_NV_UNAVAILABLE:
    case TPM2_RC_MEMORY:
    case TPM2_RC_OBJECT_MEMORY:
    case TPM2_RC_SESSION_MEMORY:
    case TPM2_RC_OBJECT_HANDLES:
    case TPM2_RC_SESSION_HANDLES: return PHT_E_BUSY;
    default: return PHT_E_REFUSED;
  }
}

static enum pht_result begin(struct work *work, struct pht_tpm *tpm) {
  memset(work, 0, sizeof *work);
  work->tpm = tpm;
  work->key = work->endorsement = work->session = ESYS_TR_NONE;
  tpm->code = 0;
  const enum pht_result result = line_open(&work->line, tpm);
  if (result != PHT_OK) return result;
  return judged(work, Esys_Initialize(&work->esys, (TSS2_TCTI_CONTEXT *)(void *)&work->line, NULL));
}

static void end(struct work *work) {
  if (work->esys != NULL) {
    if (work->session != ESYS_TR_NONE) (void)Esys_FlushContext(work->esys, work->session);
    if (work->endorsement != ESYS_TR_NONE) (void)Esys_FlushContext(work->esys, work->endorsement);
    if (work->key != ESYS_TR_NONE) (void)Esys_FlushContext(work->esys, work->key);
    Esys_Finalize(&work->esys);
  }
  line_close(&work->line);
}

static enum pht_result make_primary(struct work *work, ESYS_TR *made, TPM2B_PUBLIC **shown, ESYS_TR hierarchy,
                                    const TPM2B_PUBLIC *template) {
  const TPM2B_SENSITIVE_CREATE sensitive = {0};
  const TPM2B_DATA outside = {0};
  const TPML_PCR_SELECTION registers = {0};
  return judged(work, Esys_CreatePrimary(work->esys, hierarchy, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE,
                                         &sensitive, template, &outside, &registers, made, shown, NULL, NULL, NULL));
}

/// Makes the key of `unique`, as work->key.
static enum pht_result make_key(struct work *work, uint8_t point[PHT_POINT_BYTES],
                                const uint8_t unique[PHT_UNIQUE_BYTES]) {
  TPM2B_PUBLIC template = {
      .publicArea = {
          .type = TPM2_ALG_ECC,
          .nameAlg = TPM2_ALG_SHA256,
          .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN |
                              TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_SIGN_ENCRYPT,
          .parameters.eccDetail = {.symmetric.algorithm = TPM2_ALG_NULL,
                                   .scheme = {.scheme = TPM2_ALG_ECDSA, .details.ecdsa.hashAlg = TPM2_ALG_SHA256},
                                   .curveID = TPM2_ECC_NIST_P256,
                                   .kdf.scheme = TPM2_ALG_NULL},
          .unique.ecc = {.x.size = PHT_UNIQUE_BYTES},
      }};
  TPM2B_PUBLIC *shown = NULL;
  memcpy(template.publicArea.unique.ecc.x.buffer, unique, PHT_UNIQUE_BYTES);
  enum pht_result result = make_primary(work, &work->key, &shown, ESYS_TR_RH_OWNER, &template);
  explicit_bzero(&template, sizeof template);
  if (result != PHT_OK) return result;
  const TPMS_ECC_POINT *made = &shown->publicArea.unique.ecc;
  if (made->x.size == HALF && made->y.size == HALF && made->x.buffer[0] != 0 && made->y.buffer[0] != 0) {
    memcpy(point, made->x.buffer, HALF);
    memcpy(point + HALF, made->y.buffer, HALF);
  } else {
    result = PHT_E_OTHER_KEY;
  }
  Esys_Free(shown);
  return result;
}

/// Makes the key of `unique`, which must have this public half.
static enum pht_result find_key(struct work *work, const uint8_t unique[PHT_UNIQUE_BYTES],
                                const uint8_t point[PHT_POINT_BYTES]) {
  uint8_t made[PHT_POINT_BYTES] = {0};
  const enum pht_result result = make_key(work, made, unique);
  if (result != PHT_OK) return result;
  return memcmp(made, point, sizeof made) == 0 ? PHT_OK : PHT_E_OTHER_KEY;
}

enum pht_result pht_point(uint8_t point[PHT_POINT_BYTES], struct pht_tpm *tpm,
                          const uint8_t unique[PHT_UNIQUE_BYTES]) {
  struct work work;
  memset(point, 0, PHT_POINT_BYTES);
  enum pht_result result = begin(&work, tpm);
  if (result == PHT_OK) result = make_key(&work, point, unique);
  end(&work);
  return result;
}

/// A number of a signature, as 32 bytes.
static int copy_number(uint8_t number[HALF], const TPM2B_ECC_PARAMETER *from) {
  if (from->size > HALF) return 0;
  memcpy(number + HALF - from->size, from->buffer, from->size);
  return 1;
}

enum pht_result pht_sign(uint8_t signature[PHT_SIGNATURE_BYTES], struct pht_tpm *tpm,
                         const uint8_t unique[PHT_UNIQUE_BYTES], const uint8_t point[PHT_POINT_BYTES],
                         const uint8_t digest[PHT_DIGEST_BYTES]) {
  struct work work;
  TPM2B_DIGEST message = {.size = PHT_DIGEST_BYTES};
  const TPMT_SIG_SCHEME scheme = {.scheme = TPM2_ALG_NULL};
  // The digest was made outside: the key is not restricted, so no ticket is asked for.
  const TPMT_TK_HASHCHECK ticket = {.tag = TPM2_ST_HASHCHECK, .hierarchy = TPM2_RH_NULL};
  TPMT_SIGNATURE *made = NULL;
  memset(signature, 0, PHT_SIGNATURE_BYTES);
  memcpy(message.buffer, digest, PHT_DIGEST_BYTES);
  enum pht_result result = begin(&work, tpm);
  if (result == PHT_OK) result = find_key(&work, unique, point);
  if (result == PHT_OK) {
    result = judged(&work, Esys_Sign(work.esys, work.key, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, &message,
                                     &scheme, &ticket, &made));
  }
  if (result == PHT_OK) {
    const TPMS_SIGNATURE_ECC *pair = &made->signature.ecdsa;
    const int is_whole = made->sigAlg == TPM2_ALG_ECDSA && copy_number(signature, &pair->signatureR) &&
                         copy_number(signature + HALF, &pair->signatureS);
    if (!is_whole) result = PHT_E_BROKEN_OFF;
    Esys_Free(made);
  }
  if (result != PHT_OK) memset(signature, 0, PHT_SIGNATURE_BYTES);
  end(&work);
  return result;
}

/// How many of the bytes are one DER value; 0 if they begin with none. Vendors fill the rest of the index.
static size_t der_size(const uint8_t *bytes, size_t size) {
  if (size < 4 || bytes[0] != 0x30 || bytes[1] != 0x82) return 0;
  const size_t whole = 4 + ((size_t)bytes[2] << 8 | bytes[3]);
  return whole <= size ? whole : 0;
}

static enum pht_result read_certificate(struct work *work, uint8_t certificate[PHT_CERTIFICATE_MAX], size_t *size) {
  ESYS_TR index = ESYS_TR_NONE;
  TPM2B_NV_PUBLIC *shown = NULL;
  size_t count = 0;
  TSS2_RC code = Esys_TR_FromTPMPublic(work->esys, certificate_index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &index);
  enum pht_result result = judged(work, code);
  // TPM2_NV_ReadPublic knows no such index.
  if (result == PHT_E_REFUSED && (code & 0xFFU) == (TPM2_RC_HANDLE & 0xFFU)) return PHT_E_NO_CERTIFICATE;
  if (result != PHT_OK) return result;
  result = judged(work, Esys_NV_ReadPublic(work->esys, index, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, &shown, NULL));
  if (result == PHT_OK) {
    count = shown->nvPublic.dataSize;
    Esys_Free(shown);
    if (count > PHT_CERTIFICATE_MAX) result = PHT_E_NO_CERTIFICATE;
  }
  for (size_t offset = 0; result == PHT_OK && offset < count;) {
    TPM2B_MAX_NV_BUFFER *piece = NULL;
    const uint16_t wanted = (uint16_t)(count - offset < READ_BYTES ? count - offset : READ_BYTES);
    result = judged(work, Esys_NV_Read(work->esys, index, index, ESYS_TR_PASSWORD, ESYS_TR_NONE, ESYS_TR_NONE, wanted,
                                       (uint16_t)offset, &piece));
    if (result != PHT_OK) break;
    if (piece->size == wanted) {
      memcpy(certificate + offset, piece->buffer, wanted);
      offset += wanted;
    } else {
      result = PHT_E_BROKEN_OFF;
    }
    Esys_Free(piece);
  }
  (void)Esys_TR_Close(work->esys, &index);
  if (result != PHT_OK) return result;
  *size = der_size(certificate, count);
  return *size > 0 ? PHT_OK : PHT_E_NO_CERTIFICATE;
}

enum pht_result pht_certificate(uint8_t certificate[PHT_CERTIFICATE_MAX], size_t *size, struct pht_tpm *tpm) {
  struct work work;
  memset(certificate, 0, PHT_CERTIFICATE_MAX);
  *size = 0;
  enum pht_result result = begin(&work, tpm);
  if (result == PHT_OK) result = read_certificate(&work, certificate, size);
  if (result != PHT_OK) {
    memset(certificate, 0, PHT_CERTIFICATE_MAX);
    *size = 0;
  }
  end(&work);
  return result;
}

/// The endorsement key by the default template L-1 of the TCG EK Credential Profile.
static enum pht_result make_endorsement(struct work *work) {
  static const uint8_t policy[] = {0x83, 0x71, 0x97, 0x67, 0x44, 0x84, 0xB3, 0xF8, 0x1A, 0x90, 0xCC,
                                   0x8D, 0x46, 0xA5, 0xD7, 0x24, 0xFD, 0x52, 0xD7, 0x6E, 0x06, 0x52,
                                   0x0B, 0x64, 0xF2, 0xA1, 0xDA, 0x1B, 0x33, 0x14, 0x69, 0xAA};
  TPM2B_PUBLIC template = {
      .publicArea = {
          .type = TPM2_ALG_RSA,
          .nameAlg = TPM2_ALG_SHA256,
          .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN |
                              TPMA_OBJECT_ADMINWITHPOLICY | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT,
          .authPolicy.size = sizeof policy,
          .parameters.rsaDetail = {.symmetric = {.algorithm = TPM2_ALG_AES,
                                                 .keyBits.aes = 128,
                                                 .mode.aes = TPM2_ALG_CFB},
                                   .scheme.scheme = TPM2_ALG_NULL,
                                   .keyBits = 2048},
          .unique.rsa.size = 256,
      }};
  memcpy(template.publicArea.authPolicy.buffer, policy, sizeof policy);
  TPM2B_PUBLIC *shown = NULL;
  const enum pht_result result = make_primary(work, &work->endorsement, &shown, ESYS_TR_RH_ENDORSEMENT, &template);
  Esys_Free(shown);
  return result;
}

static enum pht_result open_session(struct work *work) {
  const TPMT_SYM_DEF none = {.algorithm = TPM2_ALG_NULL};
  const enum pht_result result =
      judged(work, Esys_StartAuthSession(work->esys, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE,
                                         ESYS_TR_NONE, NULL, TPM2_SE_POLICY, &none, TPM2_ALG_SHA256, &work->session));
  if (result != PHT_OK) return result;
  return judged(work, Esys_PolicySecret(work->esys, ESYS_TR_RH_ENDORSEMENT, work->session, ESYS_TR_PASSWORD,
                                        ESYS_TR_NONE, ESYS_TR_NONE, NULL, NULL, NULL, 0, NULL, NULL));
}

static enum pht_result open_credential(struct work *work, uint8_t secret[PHT_SECRET_BYTES], ESYS_TR endorsement,
                                       const TPM2B_ID_OBJECT *credential, const TPM2B_ENCRYPTED_SECRET *encrypted) {
  TPM2B_DIGEST *opened = NULL;
  enum pht_result result = open_session(work);
  if (result == PHT_OK) {
    result = judged(work, Esys_ActivateCredential(work->esys, work->key, endorsement, ESYS_TR_PASSWORD, work->session,
                                                  ESYS_TR_NONE, credential, encrypted, &opened));
    // A session that was used is gone.
    if (result == PHT_OK) work->session = ESYS_TR_NONE;
  }
  if (work->session != ESYS_TR_NONE) (void)Esys_FlushContext(work->esys, work->session);
  work->session = ESYS_TR_NONE;
  if (result != PHT_OK) return result;
  if (opened->size == PHT_SECRET_BYTES) {
    memcpy(secret, opened->buffer, PHT_SECRET_BYTES);
  } else {
    result = PHT_E_REFUSED;
  }
  explicit_bzero(opened, sizeof *opened);
  Esys_Free(opened);
  return result;
}

/// By the endorsement key where it usually stands, if that one opens it; else by one made anew.
static enum pht_result activate(struct work *work, uint8_t secret[PHT_SECRET_BYTES], const TPM2B_ID_OBJECT *credential,
                                const TPM2B_ENCRYPTED_SECRET *encrypted) {
  ESYS_TR standing = ESYS_TR_NONE;
  enum pht_result result = judged(work, Esys_TR_FromTPMPublic(work->esys, endorsement_handle, ESYS_TR_NONE,
                                                              ESYS_TR_NONE, ESYS_TR_NONE, &standing));
  if (result == PHT_OK) {
    result = open_credential(work, secret, standing, credential, encrypted);
    (void)Esys_TR_Close(work->esys, &standing);
  }
  if (result != PHT_E_REFUSED) return result;
  work->tpm->code = 0;
  result = make_endorsement(work);
  return result == PHT_OK ? open_credential(work, secret, work->endorsement, credential, encrypted) : result;
}

enum pht_result pht_activate(uint8_t secret[PHT_SECRET_BYTES], struct pht_tpm *tpm,
                             const uint8_t unique[PHT_UNIQUE_BYTES], const uint8_t point[PHT_POINT_BYTES],
                             const uint8_t *credential, size_t credential_size, const uint8_t *encrypted,
                             size_t encrypted_size) {
  struct work work;
  TPM2B_ID_OBJECT object = {0};
  TPM2B_ENCRYPTED_SECRET sealed = {0};
  memset(secret, 0, PHT_SECRET_BYTES);
  if (credential_size > sizeof object.credential || encrypted_size > sizeof sealed.secret) return PHT_E_REFUSED;
  object.size = (uint16_t)credential_size;
  memcpy(object.credential, credential, credential_size);
  sealed.size = (uint16_t)encrypted_size;
  memcpy(sealed.secret, encrypted, encrypted_size);
  enum pht_result result = begin(&work, tpm);
  if (result == PHT_OK) result = find_key(&work, unique, point);
  if (result == PHT_OK) result = activate(&work, secret, &object, &sealed);
  if (result != PHT_OK) explicit_bzero(secret, PHT_SECRET_BYTES);
  end(&work);
  return result;
}

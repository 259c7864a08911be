// SPDX-License-Identifier: Apache-2.0

#include <openssl/evp.h>

#include "internal.h"

/// Adds `size` bytes. For nothing it does nothing: a NULL output would mean additional data to libcrypto.
static int update(EVP_CIPHER_CTX *context, uint8_t *output, const uint8_t *input, size_t size) {
  int written = 0;
  if (size == 0) return 1;
  return EVP_CipherUpdate(context, output, &written, input, (int)size) == 1 && written == (int)size;
}

enum pfj_result pfj_gcm_seal(uint8_t *ciphertext, uint8_t tag[PFJ_GCM_TAG_BYTES], const uint8_t key[PFJ_AES_KEY_BYTES],
                             const uint8_t iv[PFJ_GCM_IV_BYTES], const uint8_t *aad, size_t aad_size,
                             const uint8_t *plaintext, size_t size) {
  enum pfj_result result = PFJ_E_LIBRARY;
  int written = 0;
  EVP_CIPHER_CTX *context = NULL;
  pfj_errors_mark();
  if (aad_size > PFJ_MESSAGE_MAX || size > PFJ_MESSAGE_MAX) {
    result = PFJ_E_SIZE;
    goto done;
  }
  context = EVP_CIPHER_CTX_new();
  if (context == NULL) goto done;
  // The IV's length is GCM's default: 96 bits.
  if (EVP_EncryptInit_ex2(context, EVP_aes_256_gcm(), key, iv, NULL) != 1) goto done;
  if (!update(context, NULL, aad, aad_size)) goto done;
  if (!update(context, ciphertext, plaintext, size)) goto done;
  uint8_t rest[EVP_MAX_BLOCK_LENGTH];
  if (EVP_EncryptFinal_ex(context, rest, &written) != 1 || written != 0) goto done;
  if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, PFJ_GCM_TAG_BYTES, tag) != 1) goto done;
  result = PFJ_OK;
done:
  EVP_CIPHER_CTX_free(context);
  pfj_errors_drop();
  if (result != PFJ_OK) {
    pfj_wipe(ciphertext, size);
    pfj_wipe(tag, PFJ_GCM_TAG_BYTES);
  }
  return result;
}

enum pfj_result pfj_gcm_open(uint8_t *plaintext, const uint8_t key[PFJ_AES_KEY_BYTES],
                             const uint8_t iv[PFJ_GCM_IV_BYTES], const uint8_t *aad, size_t aad_size,
                             const uint8_t *ciphertext, size_t size, const uint8_t tag[PFJ_GCM_TAG_BYTES]) {
  enum pfj_result result = PFJ_E_LIBRARY;
  int written = 0;
  uint8_t expected[PFJ_GCM_TAG_BYTES];
  EVP_CIPHER_CTX *context = NULL;
  pfj_errors_mark();
  if (aad_size > PFJ_MESSAGE_MAX || size > PFJ_MESSAGE_MAX) {
    result = PFJ_E_SIZE;
    goto done;
  }
  context = EVP_CIPHER_CTX_new();
  if (context == NULL) goto done;
  if (EVP_DecryptInit_ex2(context, EVP_aes_256_gcm(), key, iv, NULL) != 1) goto done;
  for (size_t i = 0; i < PFJ_GCM_TAG_BYTES; i++) expected[i] = tag[i];  // the call takes a pointer to non-const
  if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, PFJ_GCM_TAG_BYTES, expected) != 1) goto done;
  if (!update(context, NULL, aad, aad_size)) goto done;
  if (!update(context, plaintext, ciphertext, size)) goto done;
  uint8_t rest[EVP_MAX_BLOCK_LENGTH];
  // libcrypto compares in constant time here.
  result = EVP_DecryptFinal_ex(context, rest, &written) == 1 && written == 0 ? PFJ_OK : PFJ_E_REFUSED;
done:
  EVP_CIPHER_CTX_free(context);
  pfj_errors_drop();
  if (result != PFJ_OK) pfj_wipe(plaintext, size);
  return result;
}

/// Wraps (`is_wrapping` 1) or unwraps `size` bytes into `output`, which takes `output_size`.
static enum pfj_result run_key_wrap(uint8_t *output, size_t output_size, const uint8_t kek[PFJ_AES_KEY_BYTES],
                                    const uint8_t *input, size_t size, int is_wrapping) {
  enum pfj_result result = PFJ_E_LIBRARY;
  // libcrypto may use the room of one input and a block before it knows that the input is refused.
  uint8_t work[PFJ_WRAPPED_KEY_BYTES + 16];
  int written = 0;
  int more = 0;
  pfj_errors_mark();
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  if (context == NULL) goto done;
  EVP_CIPHER_CTX_set_flags(context, EVP_CIPHER_CTX_FLAG_WRAP_ALLOW);
  // A NULL IV stands for RFC 3394's.
  if (EVP_CipherInit_ex2(context, EVP_aes_256_wrap(), kek, NULL, is_wrapping, NULL) != 1) goto done;
  result = is_wrapping ? PFJ_E_LIBRARY : PFJ_E_REFUSED;
  if (EVP_CipherUpdate(context, work, &written, input, (int)size) != 1) goto done;
  if (written < 0 || (size_t)written != output_size) goto done;
  if (EVP_CipherFinal_ex(context, work + written, &more) != 1 || more != 0) goto done;
  result = PFJ_OK;
done:
  EVP_CIPHER_CTX_free(context);
  pfj_errors_drop();
  for (size_t i = 0; i < output_size; i++) output[i] = result == PFJ_OK ? work[i] : 0;
  pfj_wipe(work, sizeof work);
  return result;
}

enum pfj_result pfj_key_wrap(uint8_t wrapped[PFJ_WRAPPED_KEY_BYTES], const uint8_t kek[PFJ_AES_KEY_BYTES],
                             const uint8_t key[PFJ_AES_KEY_BYTES]) {
  return run_key_wrap(wrapped, PFJ_WRAPPED_KEY_BYTES, kek, key, PFJ_AES_KEY_BYTES, 1);
}

enum pfj_result pfj_key_unwrap(uint8_t key[PFJ_AES_KEY_BYTES], const uint8_t kek[PFJ_AES_KEY_BYTES],
                               const uint8_t wrapped[PFJ_WRAPPED_KEY_BYTES]) {
  return run_key_wrap(key, PFJ_AES_KEY_BYTES, kek, wrapped, PFJ_WRAPPED_KEY_BYTES, 0);
}

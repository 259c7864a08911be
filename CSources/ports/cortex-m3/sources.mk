# SPDX-License-Identifier: Apache-2.0
#
# What of libsodium each profile calls, and what that calls; everything else of it is not compiled. Some of its parts, and
# of the C library's, have a smaller one in their place.

smaller_symmetric := $(addprefix $(here)/, memory.c sha256.c)
smaller_full := $(smaller_symmetric) $(addprefix $(here)/, base_point.c blake2b.c sha512.c)

sodium_symmetric := $(addprefix $(SODIUM)/src/libsodium/, \
  crypto_hash/sha256/hash_sha256.c \
  crypto_verify/sodium/verify.c \
  sodium/core.c \
  sodium/utils.c)

sodium_full := $(sodium_symmetric) $(addprefix $(SODIUM)/src/libsodium/, \
  crypto_core/ed25519/ref10/ed25519_ref10.c \
  crypto_core/hsalsa20/core_hsalsa20.c \
  crypto_core/hsalsa20/ref2/core_hsalsa20_ref2.c \
  crypto_core/salsa/ref/core_salsa_ref.c \
  crypto_sign/crypto_sign.c \
  crypto_sign/ed25519/sign_ed25519.c \
  crypto_sign/ed25519/ref10/keypair.c \
  crypto_sign/ed25519/ref10/open.c \
  crypto_sign/ed25519/ref10/sign.c \
  crypto_scalarmult/crypto_scalarmult.c \
  crypto_scalarmult/curve25519/scalarmult_curve25519.c \
  crypto_scalarmult/curve25519/ref10/x25519_ref10.c \
  crypto_generichash/crypto_generichash.c \
  crypto_generichash/blake2b/generichash_blake2.c \
  crypto_generichash/blake2b/ref/blake2b-ref.c \
  crypto_generichash/blake2b/ref/generichash_blake2b.c \
  crypto_onetimeauth/crypto_onetimeauth.c \
  crypto_onetimeauth/poly1305/onetimeauth_poly1305.c \
  crypto_onetimeauth/poly1305/donna/poly1305_donna.c \
  crypto_stream/crypto_stream.c \
  crypto_stream/salsa20/stream_salsa20.c \
  crypto_stream/salsa20/ref/salsa20_ref.c \
  crypto_stream/xsalsa20/stream_xsalsa20.c \
  crypto_secretbox/crypto_secretbox_easy.c \
  crypto_secretbox/xsalsa20poly1305/secretbox_xsalsa20poly1305.c \
  crypto_box/crypto_box.c \
  crypto_box/crypto_box_easy.c \
  crypto_box/crypto_box_seal.c \
  crypto_box/curve25519xsalsa20poly1305/box_curve25519xsalsa20poly1305.c)

smaller_large := $(smaller_full)
sodium_large := $(sodium_full)

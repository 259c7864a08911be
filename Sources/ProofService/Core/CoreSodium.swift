// SPDX-License-Identifier: Apache-2.0

internal import CSodium
internal import ProofJOSE
internal import ProofModel

/// Calls libsodium. No other file of this library does.
enum CoreSodium {
  private static let isReady: Bool = sodium_init() >= 0

  static let keyByteCount = 32
  static let passwordSaltByteCount = 16
  static let nonceByteCount = 24
  static let tagByteCount = 16

  /// BLAKE2b-256, personalised by a label of 16 characters, without key or under one.
  static func hash(_ label: StaticString, _ bytes: [UInt8], key: borrowing JOSESecret) -> [UInt8] {
    key.withBytes { key in bytes32(hash(label, bytes.span, key: key)) }
  }

  static func hash(_ label: StaticString, _ bytes: [UInt8]) -> [UInt8] {
    hash(label, bytes.span)
  }

  static func hash(_ label: StaticString, _ bytes: Span<UInt8>) -> [UInt8] {
    bytes32(hash(label, bytes, key: Span()))
  }

  private static func bytes32(_ digest: [32 of UInt8]) -> [UInt8] { Array(copying: digest.span) }

  /// Allocates nothing.
  static func hash(
    _ label: StaticString, _ bytes: Span<UInt8>, key: Span<UInt8>
  ) -> [32 of UInt8] {
    precondition(label.utf8CodeUnitCount == 16 && isReady)
    var digest = [32 of UInt8](repeating: 0)
    var target = digest.mutableSpan
    unsafe target.withUnsafeMutableBufferPointer { target in
      unsafe key.withUnsafeBufferPointer { key in
        unsafe bytes.withUnsafeBufferPointer { bytes in
          // No salt is a salt of zeros.
          let result = unsafe crypto_generichash_blake2b_salt_personal(
            target.baseAddress!, 32, bytes.baseAddress, UInt64(bytes.count), key.baseAddress,
            key.count, nil, label.utf8Start)
          precondition(result == 0, "The lengths are libsodium's own.")
        }
      }
    }
    return digest
  }

  /// Whether something can be sealed to an X25519 key: a point of small order gives every sender the same secret.
  static func isUsablePoint(_ publicKey: [UInt8]) -> Bool {
    guard publicKey.count == keyByteCount else { return false }
    var shared = [UInt8](repeating: 0, count: keyByteCount)
    let scalar = RandomSource.bytes(keyByteCount)
    return unsafe crypto_scalarmult(&shared, scalar, publicKey) == 0
  }

  /// Whether bytes are the same, in time that depends on their count alone.
  static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && (unsafe sodium_memcmp(one, other, one.count)) == 0
  }

  /// XChaCha20-Poly1305: nonce, then ciphertext with its tag.
  static func seal(
    _ secret: Span<UInt8>, _ purpose: [UInt8], key: borrowing JOSESecret
  ) -> [UInt8] {
    let nonce = RandomSource.bytes(nonceByteCount)
    var sealed = [UInt8](repeating: 0, count: secret.count + tagByteCount)
    key.withBytes { key in
      unsafe key.withUnsafeBufferPointer { key in
        unsafe secret.withUnsafeBufferPointer { secret in
          unsafe _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
            &sealed, nil, secret.baseAddress, UInt64(secret.count), purpose, UInt64(purpose.count),
            nil, nonce, key.baseAddress!)
        }
      }
    }
    return nonce + sealed
  }

  /// Opens the output of ``seal(_:_:key:)`` under the same key for the same purpose; nil otherwise.
  static func open(
    _ sealed: [UInt8], _ purpose: [UInt8], key: borrowing JOSESecret
  ) -> JOSESecret? {
    let count = sealed.count - nonceByteCount - tagByteCount
    guard count >= 0 else { return nil }
    let nonce = Array(sealed[..<nonceByteCount])
    let body = Array(sealed[nonceByteCount...])
    return try? key.withBytes { key in
      try JOSESecret(count: count) { bytes in
        let result = unsafe bytes.withUnsafeMutableBufferPointer { target in
          unsafe key.withUnsafeBufferPointer { key in
            unsafe crypto_aead_xchacha20poly1305_ietf_decrypt(
              target.baseAddress, nil, nil, body, UInt64(body.count), purpose,
              UInt64(purpose.count), nonce, key.baseAddress!)
          }
        }
        guard result == 0 else { throw NotOpened() }
      }
    }
  }

  private struct NotOpened: Error {}

  /// Argon2id; nil if the system lacks the memory.
  static func stretch(
    _ passphrase: borrowing JOSESecret, salt: [UInt8], passes: UInt64, memory: Int
  ) -> JOSESecret? {
    precondition(salt.count == passwordSaltByteCount && isReady)
    return try? passphrase.withBytes { passphrase in
      try JOSESecret(count: keyByteCount) { key in
        let result = unsafe key.withUnsafeMutableBufferPointer { key in
          unsafe passphrase.withUnsafeBytes { passphrase in
            unsafe crypto_pwhash(
              key.baseAddress!, UInt64(key.count),
              passphrase.bindMemory(to: CChar.self).baseAddress!, UInt64(passphrase.count), salt,
              passes, memory, crypto_pwhash_ALG_ARGON2ID13)
          }
        }
        guard result == 0 else { throw NotOpened() }
      }
    }
  }
}

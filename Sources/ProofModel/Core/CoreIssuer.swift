// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A signing key, in libsodium's form of 64 bytes, in a block of its own.
final class CoreIssuer: Sendable {
  let publicKey: IssuerPublicKey
  private let signingKey: SecretBytes

  init(seed: consuming SecretBytes) throws(ProofError) {
    try seed.checkCount(32, of: "seed of an issuer key")
    var publicKey: IssuerPublicKey?
    signingKey = unsafe SecretBytes(count: Int(PFC_SIGNING_KEY_BYTES)) { target in
      publicKey = unsafe IssuerPublicKey(
        storage: InlineBytes { publicKey in
          unsafe seed.withPointer { seed in
            unsafe pfc_signing_key(
              publicKey, target.assumingMemoryBound(to: UInt8.self), seed)
          }
        })
    }
    self.publicKey = known(publicKey)
  }

  static func random() -> CoreIssuer {
    known(try? CoreIssuer(seed: .random(count: 32)))
  }

  func withSigningKey<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe signingKey.withPointer(body)
  }

  static func id(of key: IssuerPublicKey) -> IssuerID {
    IssuerID(
      storage: unsafe InlineBytes { id in
        unsafe key.storage.withPointer { key in unsafe pfc_issuer_id(id, key) }
      })
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// A key that signs or seals tokens. The store counts the tokens of a sealing key, in blocks, so
/// that no key seals more than is safe however often the service is killed.
final class TokenKey: Sendable {
  let key: JSONWebKey
  private let counter: String
  private let store: any Store
  /// The count up to which tokens may be sealed before the next block is reserved.
  private let reserved = CoreLock<UInt64>(0)
  /// Signs with the key; nil if the key does not sign.
  private let signer: JWSSigner?
  /// Signs failing apps' tokens, with one decoy key, because equal claims give equal signatures under the right key
  /// too. Kept as the other signer is, so that both take the same time.
  private let decoySigner = CoreLock<JWSSigner?>(nil)

  /// The most tokens that a crash can lose of a key's 2^32.
  static let block: UInt64 = 4_096

  init(_ key: JSONWebKey, counter: String, in store: any Store) {
    self.key = key
    self.counter = counter
    self.store = store
    signer = try? JWSSigner(key)
  }

  /// The `typ` of custom tokens: backends expect `JWT` of an API's token.
  static let customType = "custom+jwt"

  /// A signed or sealed token; with a signer, one that is signed, then sealed.
  func token(
    _ claims: Claims, signedBy signer: TokenKey? = nil
  ) throws(ServiceError) -> String {
    let own = try ServiceError.ofJOSE { () throws(JOSEError) in
      key.algorithm.isSignature ? try ownSigner() : try signer?.ownSigner()
    }
    guard key.algorithm.isSignature, let own else { return try sealed(claims, signedBy: own) }
    return try Self.signed(claims, by: own)
  }

  /// A signed token with the app's own claims.
  func customToken(_ claims: Claims) throws(ServiceError) -> String {
    try ServiceError.ofJOSE { () throws(JOSEError) in
      try ownSigner().sign(claims, type: Self.customType)
    }
  }

  /// Makes a token that looks like one of this key, under a random decoy key.
  ///
  /// Anyone can seal to a public key, so there the signature inside is wrong instead: the app
  /// cannot look inside, and the backend refuses it.
  func decoy(
    _ claims: Claims, signedBy signer: TokenKey? = nil
  ) throws(ServiceError) -> String {
    let signing = try signer?.signingDecoy()
    guard !key.algorithm.isSignature else { return try Self.signed(claims, by: signingDecoy()) }
    if key.algorithm.isPublicKeyEncryption { return try sealed(claims, signedBy: signing) }
    // Use a fresh key: sealed tokens differ each time anyway, and one key may seal only so many.
    return try Self.sealed(claims, by: freshDecoy(), signedBy: signing)
  }

  /// The signer, or the reason why there is none.
  private func ownSigner() throws(JOSEError) -> JWSSigner {
    if let signer { return signer }
    return try JWSSigner(key)
  }

  private func sealed(
    _ claims: Claims, signedBy signer: JWSSigner?
  ) throws(ServiceError) -> String {
    try reserve()
    return try Self.sealed(claims, by: key, signedBy: signer)
  }

  private func signingDecoy() throws(ServiceError) -> JWSSigner {
    try decoySigner.withLock { (known) throws(ServiceError) in
      if let known { return known }
      let decoy = try freshDecoy()
      let signer = try ServiceError.ofJOSE { () throws(JOSEError) in try JWSSigner(decoy) }
      known = signer
      return signer
    }
  }

  private func freshDecoy() throws(ServiceError) -> JSONWebKey {
    try ServiceError.ofJOSE { () throws(JOSEError) in
      let bits = key.algorithm == .rs256 ? key.publicBytes.map { $0.count * 8 } : nil
      return try JSONWebKey.random(key.algorithm, bits: bits, id: key.id)
    }
  }

  private static func signed(
    _ claims: Claims, by signer: JWSSigner
  ) throws(ServiceError) -> String {
    try ServiceError.ofJOSE { () throws(JOSEError) in try signer.sign(claims) }
  }

  private static func sealed(
    _ claims: Claims, by key: JSONWebKey, signedBy signer: JWSSigner?
  ) throws(ServiceError) -> String {
    try ServiceError.ofJOSE { () throws(JOSEError) in
      guard let signer else { return try JWEEncrypter(key).seal(claims) }
      return try JWEEncrypter(key).seal(claims, signedBy: signer)
    }
  }

  /// Reserves counts, so that the store counts at least as many tokens as the key will have sealed.
  private func reserve() throws(ServiceError) {
    try reserved.withLock { (end) throws(ServiceError) in
      let sealed = try ServiceError.ofJOSE { () throws(JOSEError) in
        try JWEEncrypter(key).sealedCount
      }
      // Threads that passed here and have not sealed yet use the other half of the block.
      guard sealed + Self.block / 2 >= end else { return }
      let start = try ServiceError.ofStore { () throws(StoreError) in
        try store.advance(counter, by: Self.block)
      }
      _ = try ServiceError.ofJOSE { () throws(JOSEError) in
        try JWEEncrypter(key, sealedBefore: start)
      }
      end = start + Self.block
    }
  }
}

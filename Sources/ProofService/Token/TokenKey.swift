internal import ProofModel
internal import ProofJOSE

/// A key that signs or seals tokens. Of a sealing key the store counts the tokens, in blocks, so
/// that no key seals more than is safe however often the service is killed.
final class TokenKey: Sendable {
  let key: JSONWebKey
  private let counter: String
  private let store: any Store
  /// Up to which count tokens may be sealed before the next block is reserved.
  private let reserved = CoreLock<UInt64>(0)
  /// What failing apps' tokens are signed with: one key, for under the right one too the same claims
  /// give the same signature.
  private let decoyKey = CoreLock<JSONWebKey?>(nil)

  /// How many tokens a crash can lose of a key's 2^32.
  static let block: UInt64 = 4_096

  init(_ key: JSONWebKey, counter: String, in store: any Store) {
    self.key = key
    self.counter = counter
    self.store = store
  }

  /// The `typ` of custom tokens: backends expect `JWT` of an API's token.
  static let customType = "custom+jwt"

  /// A signed or sealed token.
  func token(_ claims: Claims) throws(ServiceError) -> String {
    try reserve()
    return try Self.token(claims, by: key)
  }

  /// A signed token with the app's own claims.
  func customToken(_ claims: Claims) throws(ServiceError) -> String {
    try ServiceError.ofJOSE { () throws(JOSEError) in
      try JWSSigner(key).sign(claims, type: Self.customType)
    }
  }

  /// A token that looks like one of this key, under a key that nobody has.
  func decoy(_ claims: Claims) throws(ServiceError) -> String {
    // What is sealed differs each time anyway, and a key seals no more than so many.
    guard key.algorithm.isSignature else { return try Self.token(claims, by: freshDecoy()) }
    let decoy = try decoyKey.withLock { (known) throws(ServiceError) in
      if let known { return known }
      let decoy = try freshDecoy()
      known = decoy
      return decoy
    }
    return try Self.token(claims, by: decoy)
  }

  private func freshDecoy() throws(ServiceError) -> JSONWebKey {
    try ServiceError.ofJOSE { () throws(JOSEError) in
      try JSONWebKey.random(key.algorithm, id: key.id)
    }
  }

  private static func token(_ claims: Claims, by key: JSONWebKey) throws(ServiceError) -> String {
    try ServiceError.ofJOSE { () throws(JOSEError) in
      key.algorithm.isSignature
        ? try JWSSigner(key).sign(claims) : try JWEEncrypter(key).seal(claims)
    }
  }

  /// Sees to it that the store counts at least as many tokens as the key will have sealed.
  private func reserve() throws(ServiceError) {
    guard !key.algorithm.isSignature else { return }
    try reserved.withLock { (end) throws(ServiceError) in
      let sealed = try ServiceError.ofJOSE { () throws(JOSEError) in
        try JWEEncrypter(key).sealedCount
      }
      // Threads that passed here and have not sealed yet fit into the other half of the block.
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

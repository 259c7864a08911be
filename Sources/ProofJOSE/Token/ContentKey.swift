// SPDX-License-Identifier: Apache-2.0

/// The key that encrypts a token's content, and the form in which the recipient gets it.
struct ContentKey {
  /// The second part of the token; empty if the shared key encrypts the content itself.
  let wrapped: [UInt8]
  /// The sender's part of an agreement, for the header.
  let agreement: AgreementHeader?
  private let own: SharedSecret?
  private let key: JSONWebKey

  /// Makes the key of a new token.
  init(for key: JSONWebKey) throws(JOSEError) {
    self.key = key
    guard key.algorithm != .direct else {
      wrapped = []
      agreement = nil
      own = nil
      return
    }
    let fresh = try JOSESecret.random(count: GCM.keyByteCount)
    switch (key.algorithm, key.material.coreKey) {
    case (.ecdhES, let recipient?):
      // A pair for this token alone. Its private half is wiped here, so that only the recipient can
      // open the token later.
      let pair = try JSONWebKey.random(.ecdhES)
      guard let sender = pair.material.coreKey,
        let agreed = try sender.agreed(with: recipient.publicBytes)
      else { throw .libraryFailed }
      let wrapping = try KeyAgreement.key(
        from: agreed, for: key.algorithm.rawValue, partyU: [], partyV: [])
      wrapped = try wrapping.withBytes { bytes throws(JOSEError) in
        try KeyWrap.wrap(fresh, under: bytes)
      }
      agreement = AgreementHeader(point: sender.publicBytes)
    case (.rsaOAEP256, let recipient?):
      wrapped = try recipient.encrypt(fresh)
      agreement = nil
    default:
      wrapped = try key.withSecret { bytes throws(JOSEError) in
        try KeyWrap.wrap(fresh, under: bytes)
      }
      agreement = nil
    }
    own = SharedSecret(fresh)
  }

  /// Gets the key of a received token. Bytes that do not unwrap give a random key, after the same
  /// work (RFC 7516, 11.5). So a wrong wrapped key cannot be distinguished from wrong content, not
  /// even by time.
  init(
    of header: TokenHeader, wrapped: [UInt8], for key: JSONWebKey
  ) throws(JOSEError) {
    self.key = key
    self.wrapped = wrapped
    agreement = header.agreement
    switch (key.algorithm, key.material.coreKey) {
    case (.direct, _): own = nil
    case (.ecdhES, let pair?):
      guard let sender = header.agreement, let agreed = try pair.agreed(with: sender.point) else {
        throw .headerKeyInvalid
      }
      let wrapping = try KeyAgreement.key(
        from: agreed, for: key.algorithm.rawValue, partyU: sender.partyU,
        partyV: sender.partyV)
      own = try wrapping.withBytes { bytes throws(JOSEError) in
        try Self.unwrapped(wrapped, under: bytes)
      }
    case (.rsaOAEP256, let pair?): own = SharedSecret(try pair.decrypt(wrapped.span))
    default:
      own = try key.withSecret { bytes throws(JOSEError) in
        try Self.unwrapped(wrapped, under: bytes)
      }
    }
  }

  /// The length of the second part of a key's tokens.
  static func wrappedByteCount(of key: JSONWebKey) -> Int {
    switch key.algorithm {
    case .rsaOAEP256: key.publicBytes?.count ?? 0
    case .direct: 0
    default: KeyWrap.wrappedByteCount
    }
  }

  private static func unwrapped(
    _ wrapped: [UInt8], under key: Span<UInt8>
  ) throws(JOSEError) -> SharedSecret {
    let random = try JOSESecret.random(count: GCM.keyByteCount)
    guard let contentKey = try KeyWrap.unwrap(wrapped.span, under: key) else {
      return SharedSecret(random)
    }
    return SharedSecret(contentKey)
  }

  func withBytes<R: ~Copyable>(
    _ body: (Span<UInt8>) throws(JOSEError) -> R
  ) throws(JOSEError) -> R {
    guard let own else { return try key.withSecret(body) }
    return try own.withBytes(body)
  }
}

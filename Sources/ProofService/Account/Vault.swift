// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
internal import ProofModel

/// Seals an account's secrets under the account's key, each for its place in the store. A sealed
/// secret that was moved to another place does not open.
final class Vault: Sendable {
  private let key: JOSESecret

  init(_ key: consuming JOSESecret) { self.key = key }

  func seal(_ secret: Span<UInt8>, for place: String) -> [UInt8] {
    CoreSodium.seal(secret, Array("pfs1.sealed.....\(place)".utf8), key: key)
  }

  func seal(_ secret: borrowing JOSESecret, for place: String) -> [UInt8] {
    secret.withBytes { seal($0, for: place) }
  }

  /// A fresh secret, sealed for a document of the account.
  func freshKey(_ count: Int, for document: AccountDocument) throws(ServiceError) -> [UInt8] {
    let secret = try ServiceError.ofJOSE { () throws(JOSEError) in
      try JOSESecret.random(count: count)
    }
    return seal(secret, for: document.rawValue)
  }

  func open(_ sealed: [UInt8], for place: String) throws(ServiceError) -> JOSESecret {
    guard
      let secret = CoreSodium.open(sealed, Array("pfs1.sealed.....\(place)".utf8), key: key)
    else { throw .damaged(place) }
    return secret
  }

  /// A sealed text.
  func text(_ sealed: [UInt8], for place: String) throws(ServiceError) -> String {
    try open(sealed, for: place).withBytes { String(decoding: Array(copying: $0), as: UTF8.self) }
  }

  /// The key that enciphers response codes.
  func responseCodeKey() -> JOSESecret {
    JOSESecret(copying: CoreSodium.hash("pfs1.arc-key....", [], key: key).span)
  }

  /// A decoy that failing apps get in place of the message key of a name. It is the same each time,
  /// because a changing key would give it away.
  func messageDecoy(of id: String) -> MessageKey? {
    let bytes = CoreSodium.hash("pfs1.decoy-key..", Array(id.utf8), key: key)
    return try? MessageKey(SecretBytes(copying: bytes.span))
  }

  func rewrapped(by lock: borrowing AccountLock) throws(ServiceError) -> WrappedKey {
    try WrappedKey.wrap(key, by: lock)
  }
}

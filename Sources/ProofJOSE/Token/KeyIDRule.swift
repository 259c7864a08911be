// SPDX-License-Identifier: Apache-2.0

/// The rule by which a token names the key that it is checked or opened with.
public enum KeyIDRule: Sendable, Hashable {
  /// The token names exactly the key's name; for a key that has no name, the token must name none.
  case exact
  /// The token may leave the name out. A name that it has must be the key's.
  case optional
  /// The token may have any name, or none: the key alone decides. For a single key that has no
  /// name.
  case any
}

/// The keys of a verifier or decrypter, and the search for a token's key.
struct KeyRing {
  private let keys: [JSONWebKey]
  private let rule: KeyIDRule

  init(_ keys: [JSONWebKey], rule: KeyIDRule, for operation: KeyOperations, wanted: String)
    throws(JOSEError)
  {
    for key in keys where key.operations.isDisjoint(with: operation) {
      if key.algorithm.isPublicKeyEncryption && !key.isPrivate { throw .keyNotPrivate }
      throw .keyForOtherUse(key.algorithm, wanted: wanted)
    }
    self.keys = keys
    self.rule = rule
  }

  /// Finds the key of a header by its name alone. The header's algorithm must then be that key's.
  func key(for header: TokenHeader) throws(JOSEError) -> JSONWebKey {
    let mayBeUnnamed = rule != .exact && keys.count == 1
    let mayHaveAnyName = rule == .any && keys.count == 1
    let key = keys.first { key in
      ExactText.areEqual(key.id, header.keyID) || (mayBeUnnamed && header.keyID == nil)
        || (mayHaveAnyName && key.id == nil)
    }
    guard let key else { throw .keyUnknown(header.keyID.map(ExactText.quoted)) }
    guard key.algorithm == header.algorithm else {
      throw .algorithmMismatch(token: header.algorithm, key: key.algorithm)
    }
    return key
  }
}

// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

/// The kinds of the account's own keys, which are in no key set. Each kind is rotated by itself.
public enum OwnKey: String, Sendable, CaseIterable {
  /// Signs the tokens of APIs (HS256).
  case secret
  /// Signs custom tokens (HS256).
  case custom = "customkey"
  /// Seals the tokens of measurement APIs (`dir`, A256GCM).
  case sealing
  /// Apps sign messages with it (HMAC-SHA-256).
  case message = "messagekey"

  /// The algorithm of its keys. Backends check messages as they check HS256.
  public var algorithm: KeyAlgorithm { self == .sealing ? .direct : .hs256 }

  /// The length of its keys.
  var byteCount: Int {
    switch self {
    case .secret, .custom: 64
    case .sealing, .message: 32
    }
  }

  var document: AccountDocument {
    switch self {
    case .secret: .secret
    case .custom: .customKey
    case .sealing: .sealingKey
    case .message: .messageKey
    }
  }
}

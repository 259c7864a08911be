// SPDX-License-Identifier: Apache-2.0

public import ProofModel

extension EventVerifier {
  /// A question about a token.
  public struct Question: Sendable, Hashable {
    /// 88 characters.
    public var token: String
    /// The event that it must be for.
    public var event: UInt16
    /// The user account, as the backend knows it; nil for none.
    public var account: String?
    /// The business data, byte for byte as the app took it; nil for none.
    public var data: [UInt8]?
    /// SHA-256 of the business data, for a caller that has no more of it; it counts in the place of `data`.
    package var digest: Digest?
    /// The digest of the user account, for a caller that has no more of it; it counts in the place of `account`.
    package var accountDigest: EventAccount?
    /// The installation that the token must be of; nil for any.
    package var instance: InstanceID?
    /// A name of this question, chosen by the backend: asked again under the same name, it gets the same judgement.
    public var idempotencyKey: String?
    /// The address of the client that sent the token; nil if the backend does not say. Tokens that do not count are
    /// counted for it.
    public var address: String?

    /// Describes a question.
    public init(
      _ token: String, event: UInt16, account: String? = nil, data: [UInt8]? = nil,
      idempotencyKey: String? = nil, address: String? = nil
    ) {
      self.token = token
      self.event = event
      self.account = account
      self.data = data
      self.idempotencyKey = idempotencyKey
      self.address = address
    }

    /// SHA-256 of the business data; nil for none.
    var bound: Digest? { digest ?? data.map { Digest(hashing: $0) } }

    /// Whether it names a user account.
    var namesAccount: Bool { account != nil || accountDigest != nil }
  }
}

/// The digest of a user account under one of a gate's account keys, as an app writes it into `Proof-Account`.
public struct EventAccount: Sendable, Hashable {
  /// The number of the account key, 1 to 255.
  public let key: UInt8
  /// The digest.
  public let digest: Digest

  /// A digest under the key of a number; nil for the number 0.
  public init?(_ digest: Digest, key: UInt8) {
    guard key > 0 else { return nil }
    self.key = key
    self.digest = digest
  }

  /// Reads the value of `Proof-Account`: the number, a dot, and the digest in base64url. Nil for another text.
  public init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let key = UInt8(parts[0]), String(key) == parts[0],
      let bytes = Base64.decode(String(parts[1]), .url), let digest = try? Digest(bytes)
    else { return nil }
    self.init(digest, key: key)
  }

  /// The value of `Proof-Account`.
  public var text: String { "\(key)." + Base64.encode(digest.bytes, .url) }

  /// Whether it is the digest of an account.
  ///
  /// - Parameters:
  ///   - name: The user account, as the backend knows it.
  ///   - keys: The account keys of the gate's configuration, or of its part for the redeemers of an audience.
  /// - Returns: False also if the key of its number is not among them.
  public func isOf(_ name: String, _ keys: [GateAccountKey]) -> Bool {
    keys.contains { $0.number == key && (try? $0.digest(of: name)) == digest }
  }
}

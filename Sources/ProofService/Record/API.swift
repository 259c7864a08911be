// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

/// An API of the account: a host, and the kind of its tokens.
public struct API: Record, Hashable {
  /// The kind of its tokens.
  public enum Kind: String, Sendable, CaseIterable {
    /// Signed, by the account's secret or a key of a key set.
    case token
    /// Sealed, so that they may carry measurements.
    case measurement
    /// No tokens: the host is pinned only.
    case none
    /// None: each request carries a proof for its gate.
    case proof
  }

  /// The host.
  public var host: String
  /// The kind of its tokens.
  public var kind: Kind
  /// The key that signs or seals its tokens; nil for the account's own.
  public var keyID: String?
  /// Whether its tokens name it in `aud`; nil for the policy's default.
  public var hasAudience: Bool?
  /// The key that signs the token inside a sealed one; nil if the sealed token holds the claims
  /// themselves.
  public var signerID: String?
  /// The gate that judges its requests, of ``Kind/proof``.
  public var gate: String?

  /// Makes an API.
  ///
  /// - Parameters:
  ///   - host: The host, in lower case.
  ///   - kind: The kind of its tokens.
  ///   - keyID: The key that signs or seals them; nil for the account's own.
  ///   - hasAudience: Whether they name it in `aud`; nil for the policy's default.
  ///   - signerID: The key that signs the token inside a sealed one, of ``Kind/measurement``.
  ///   - gate: The gate that judges its requests, of ``Kind/proof``.
  /// - Throws: ``ServiceError/invalid(_:value:allowed:)``.
  public init(
    _ host: String, _ kind: Kind = .token, keyID: String? = nil, hasAudience: Bool? = nil,
    signerID: String? = nil, gate: String? = nil
  ) throws(ServiceError) {
    self.host = try Host.checked(host)
    self.kind = kind
    self.keyID = keyID
    self.hasAudience = hasAudience
    self.signerID = signerID
    self.gate = gate
    try check()
  }

  /// Refuses parts that contradict each other.
  func check() throws(ServiceError) {
    guard signerID == nil || kind == .measurement else {
      throw .invalid(
        "key that signs inside", value: signerID ?? "", allowed: "none: its tokens are not sealed")
    }
    guard (gate != nil) == (kind == .proof) else {
      throw .invalid(
        "gate of the API", value: gate ?? "missing",
        allowed: "one with an API of kind “proof”, and none with others")
    }
    guard keyID == nil || kind != .none && kind != .proof else {
      throw .invalid("key of an API without tokens", value: keyID ?? "", allowed: "none")
    }
  }

  /// The keys of key sets that its tokens are made with.
  var keyIDs: [String] { [keyID, signerID].compactMap(\.self) }

  /// The record's table.
  public static var table: StoreTable { .api }
  /// The word that people use for the record, for errors.
  public static var noun: String { "API" }
  /// The record's key in its table.
  public var key: String { host }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields: JSONObject = ["kind": .string(kind.rawValue)]
    fields.set("kid", keyID)
    fields["audience"] = hasAudience.map { .bool($0) }
    fields.set("signedBy", signerID)
    fields.set("gate", gate)
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let kind = fields.text("kind").flatMap(Kind.init),
      let checked = try? Host.checked(key)
    else { return nil }
    host = checked
    self.kind = kind
    keyID = fields.text("kid")
    hasAudience = fields.flag("audience")
    signerID = fields.text("signedBy")
    gate = fields.text("gate")
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown = fields
    shown.set("host", host)
    return shown
  }
}

/// Names of hosts, as accounts write them.
enum Host {
  /// A host in lower case: letters, digits, dots and hyphens, or an IPv6 address in brackets; a port
  /// may follow.
  static func checked(_ host: String, orRoots: Bool = false) throws(ServiceError) -> String {
    if orRoots && host == "*" { return host }
    let lower = host.lowercased()
    let isPlain = lower.utf8.allSatisfy { byte in
      switch byte {
      case 0x61...0x7A, 0x30...0x39, 0x2D, 0x2E, 0x3A, 0x5B, 0x5D: true
      default: false
      }
    }
    guard isPlain, (1...253).contains(lower.utf8.count), !lower.hasPrefix("."),
      !lower.hasPrefix("-")
    else {
      throw .invalid(
        "host", value: String(host.prefix(80)), allowed: "a name such as api.example.com")
    }
    return lower
  }
}

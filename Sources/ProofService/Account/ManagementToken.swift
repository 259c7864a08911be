// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
internal import ProofModel

/// The verbs that a management token covers.
public enum ManagementRole: String, Sendable, CaseIterable {
  /// Every verb.
  case all
  /// Verbs that change nothing and reveal no secret.
  case read
  /// Verbs that list hardware and its sealed factory secrets, for backends on other machines.
  case hardware
  /// Verbs that register builds of apps, for a build machine.
  case enrol
  /// The configurations of gates, with the keys in them: for gates that pull theirs.
  case gate

  private static let reading: Set<String> = [
    "api/list", "registration/list", "policy/show", "device/list", "pin/list", "config/show",
    "config/keys", "keyset/list", "keyset/jwks", "sdk/list", "sdk/config-string", "hardware/list",
    "string/list", "metrics/show", "token/check", "arc/read", "management/list", "secret/list",
    "sealing/list", "customkey/list", "messagekey/list", "stringkey/list", "saltkey/list",
    "gate/list", "gate/show",
    "event/list", "challenge/list", "risk/list",
  ]

  /// Whether it covers a verb, such as `api/list`.
  ///
  /// - Parameter verb: Noun and verb.
  /// - Returns: Whether a token of this role may use the verb.
  public func covers(_ verb: String) -> Bool {
    switch self {
    case .all: true
    case .read: Self.reading.contains(verb)
    case .gate: verb == "gate/configuration"
    case .hardware: ["hardware/list", "hardware/sealed-secret"].contains(verb)
    case .enrol:
      ["registration/add", "registration/list", "registration/remove", "sdk/config-string"]
        .contains(verb)
    }
  }
}

/// A management token without its text.
public struct ManagementTokenEntry: Sendable, Hashable {
  /// Its name.
  public var name: String
  /// The verbs that it covers.
  public var role: ManagementRole
  /// The time when it was drawn; nil if an earlier version made the account.
  public var added: UnixTime?
  /// The one gate whose configuration it fetches; nil for a token of the management API.
  public var gate: String?
  let hash: [UInt8]

  /// The fields as JSON.
  public var shown: JSONObject {
    var shown: JSONObject = ["name": .string(name), "role": .string(role.rawValue)]
    shown.set("added", added)
    shown.set("gate", gate)
    return shown
  }
}

/// Operators' tools send one to a running service. The store keeps a hash of each.
enum ManagementToken {
  static let label: StaticString = "pfs1.management."
  /// The name of the token that an account is made with.
  static let ownerName = "owner"

  static func fresh(
    _ name: String, _ role: ManagementRole, at time: UnixTime
  ) -> (text: String, entry: ManagementTokenEntry) {
    let text = Base64.encode(RandomSource.bytes(32), .url)
    let hash = CoreSodium.hash(label, Array(text.utf8))
    return (text, ManagementTokenEntry(name: name, role: role, added: time, hash: hash))
  }
}

/// The management tokens of an account.
struct ManagementTokens: Sendable, Hashable, DocumentValue {
  static let countMax = 64
  var entries: [ManagementTokenEntry]

  init(_ entries: [ManagementTokenEntry]) { self.entries = entries }

  /// Reads the output of ``fields``, and the one token of an account that an earlier version made.
  init?(_ fields: JSONObject) {
    guard let list = fields["tokens"] else {
      guard let hash = fields.bytes("hash") else { return nil }
      entries = [
        ManagementTokenEntry(name: ManagementToken.ownerName, role: .all, added: nil, hash: hash)
      ]
      return
    }
    guard case .array(let values) = list else { return nil }
    entries = []
    for value in values {
      guard case .object(let object) = value, let name = object.text("name"),
        let role = object.text("role").flatMap(ManagementRole.init), let hash = object.bytes("hash")
      else { return nil }
      entries.append(
        ManagementTokenEntry(
          name: name, role: role, added: object.time("added"), gate: object.text("gate"),
          hash: hash))
    }
  }

  var fields: JSONObject {
    let list = entries.map { entry in
      var object = entry.shown
      object.set("hash", entry.hash)
      return JSONValue.object(object)
    }
    return ["tokens": .array(list)]
  }

  /// The token whose text was sent. The text is compared with each, in constant time.
  func entry(of text: String) -> ManagementTokenEntry? {
    let hash = CoreSodium.hash(ManagementToken.label, Array(text.utf8))
    var found: ManagementTokenEntry?
    for entry in entries where CoreSodium.areEqual(entry.hash, hash) { found = entry }
    return found
  }
}

public import ProofBackend
public import ProofJOSE
internal import ProofModel

/// Makes hardware a record of the account, its only place.
extension RegisteredHardware: Record {
  /// The record's table.
  public static var table: StoreTable { .hardware }
  /// The word that people use for the record, for errors.
  public static var noun: String { "hardware" }
  /// The record's key in its table.
  public var key: String { identity.id.description }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields: JSONObject = [
      "name": .string(name), "publicKey": .string(identity.publicKey.description),
      "mode": .string(mode.word), "literal": .bool(allowsLiteral), "revoked": .bool(isRevoked),
    ]
    fields.set("added", added)
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let idBytes = Hexadecimal.decode(key), let id = try? HardwareID(idBytes),
      let keyBytes = fields.text("publicKey").flatMap(Hexadecimal.decode),
      let publicKey = try? HardwarePublicKey(keyBytes),
      let mode = fields.text("mode").flatMap(Mode.init(word:)),
      let allowsLiteral = fields.flag("literal"), let isRevoked = fields.flag("revoked"),
      let name = fields.text("name"), let added = fields.integer("added")
    else { return nil }
    self.init(
      HardwareIdentity(id: id, publicKey: publicKey), mode: mode, allowsLiteral: allowsLiteral,
      name: name, added: added, isRevoked: isRevoked)
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown = fields
    shown.set("id", key)
    return shown
  }
}

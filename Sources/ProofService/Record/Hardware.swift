public import ProofJOSE
public import ProofModel

/// A piece of hardware that measurement tokens may be issued for.
public struct Hardware: Record, Hashable {
  /// Its name and the key to seal to.
  public var identity: HardwareIdentity
  /// What people call it.
  public var name: String
  /// When it was registered, in Unix seconds.
  public var added: Int64
  /// Whether nothing is issued for it any more.
  public var isRevoked: Bool

  /// A piece of hardware of these parts.
  public init(
    _ identity: HardwareIdentity, name: String, added: Int64, isRevoked: Bool = false
  ) {
    self.identity = identity
    self.name = name
    self.added = added
    self.isRevoked = isRevoked
  }

  public static var table: StoreTable { .hardware }
  public static var noun: String { "hardware" }
  public var key: String { identity.id.description }

  public var fields: JSONObject {
    var fields: JSONObject = ["name": .string(name), "revoked": .bool(isRevoked)]
    fields.set("publicKey", identity.publicKey.bytes)
    fields.set("added", added)
    return fields
  }

  public init?(key: String, fields: JSONObject) {
    guard let idBytes = Hexadecimal.decode(key), let id = try? HardwareID(idBytes),
      let keyBytes = fields.bytes("publicKey"), let publicKey = try? HardwarePublicKey(keyBytes),
      let name = fields.text("name"), let added = fields.integer("added")
    else { return nil }
    self.init(
      HardwareIdentity(id: id, publicKey: publicKey), name: name, added: added,
      isRevoked: fields.flag("revoked") ?? false)
  }

  public var shown: JSONObject {
    var shown = fields
    shown.set("id", key)
    return shown
  }
}

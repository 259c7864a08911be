// SPDX-License-Identifier: Apache-2.0

public import ProofBackend
public import ProofJOSE
public import ProofModel

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
    fields.set("features", features.words)
    fields.set("added", added)
    if let sealedFactorySecret { fields.set("factorySecret", sealedFactorySecret) }
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let id = try? HardwareID(key),
      let keyBytes = fields.text("publicKey").flatMap(Hexadecimal.decode),
      let publicKey = try? HardwarePublicKey(keyBytes),
      let mode = fields.text("mode").flatMap(Mode.init(word:)),
      let allowsLiteral = fields.flag("literal"), let isRevoked = fields.flag("revoked"),
      let name = fields.text("name"), let added = fields.time("added")
    else { return nil }
    self.init(
      HardwareIdentity(id: id, publicKey: publicKey), mode: mode, allowsLiteral: allowsLiteral,
      name: name, added: added, isRevoked: isRevoked)
    // Rows of earlier versions have no features.
    if fields["features"] != nil {
      guard let words = fields.texts("features"), let read = HardwareFeatures(words: words) else {
        return nil
      }
      features = read
    }
    if fields["factorySecret"] != nil {
      guard let sealed = fields.bytes("factorySecret"), features.contains(.factorySecret) else {
        return nil
      }
      sealedFactorySecret = sealed
    }
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown = fields
    shown["factorySecret"] = nil
    shown.set("id", key)
    return shown
  }
}

extension HardwareFeatures {
  private static let names: [(word: String, feature: HardwareFeatures)] = [
    ("token-2", .tokenVersionTwo), ("ratchet", .ratchet), ("sealed", .sealedCommands),
    ("log", .log), ("grants", .grants), ("factory-secret", .factorySecret), ("upcoming", .upcoming),
    ("channels", .channels),
  ]

  /// The features that this version knows, as words.
  public var words: [String] { Self.names.filter { contains($0.feature) }.map(\.word) }

  /// Reads the output of ``words``, in any order; nil if a word is unknown or stands there twice.
  public init?(words: [String]) {
    self = []
    for word in words {
      guard let feature = Self.names.first(where: { $0.word == word })?.feature,
        insert(feature).inserted
      else { return nil }
    }
  }
}

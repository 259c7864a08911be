public import ProofJOSE

/// A key of the account's key sets: it signs or seals the tokens of the APIs that name it.
public struct KeySetKey: Record, Hashable {
  /// Its name, the `kid` of tokens.
  public var id: String
  /// What it is for.
  public var algorithm: KeyAlgorithm
  /// When it was made, in Unix seconds.
  public var added: Int64
  var sealedKey: [UInt8]

  init(_ id: String, _ algorithm: KeyAlgorithm, added: Int64, sealedKey: [UInt8]) {
    self.id = id
    self.algorithm = algorithm
    self.added = added
    self.sealedKey = sealedKey
  }

  public static var table: StoreTable { .key }
  public static var noun: String { "key" }
  public var key: String { id }

  public var fields: JSONObject {
    var fields = shown
    fields["kid"] = nil
    fields.set("key", sealedKey)
    return fields
  }

  public init?(key: String, fields: JSONObject) {
    guard let algorithm = fields.text("alg").flatMap(KeyAlgorithm.init),
      let added = fields.integer("added"), let sealed = fields.bytes("key")
    else { return nil }
    self.init(key, algorithm, added: added, sealedKey: sealed)
  }

  public var shown: JSONObject {
    var shown: JSONObject = ["kid": .string(id), "alg": .string(algorithm.rawValue)]
    shown.set("added", added)
    return shown
  }
}

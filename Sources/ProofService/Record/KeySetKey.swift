// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

/// A key of the account's key sets: it signs or seals the tokens of the APIs that name it.
public struct KeySetKey: Record, Hashable {
  /// Its name, the `kid` of tokens.
  public var id: String
  /// The key's algorithm.
  public var algorithm: KeyAlgorithm
  /// The time when it was made.
  public var added: UnixTime
  /// Whether the account holds its public part alone: only the backend can open the tokens sealed
  /// to it.
  public var isPublic: Bool
  /// Whether a symmetric key was handed out.
  public internal(set) var isGiven = false
  /// The end of the last token by it; nil if an API uses it, or none ever did.
  public internal(set) var end: UnixTime?
  var sealedKey: [UInt8]

  /// Seconds for which backends may keep the published keys.
  static let publishedSeconds: Int64 = 300

  init(
    _ id: String, _ algorithm: KeyAlgorithm, added: UnixTime, isPublic: Bool = false,
    sealedKey: [UInt8]
  ) {
    self.isPublic = isPublic
    self.id = id
    self.algorithm = algorithm
    self.added = added
    self.sealedKey = sealedKey
  }

  /// The record's table.
  public static var table: StoreTable { .key }
  /// The word that people use for the record, for errors.
  public static var noun: String { "key" }
  /// The record's key in its table.
  public var key: String { id }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields = shown
    fields["kid"] = nil
    fields.set("key", sealedKey)
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let algorithm = fields.text("alg").flatMap(KeyAlgorithm.init),
      let added = fields.time("added"), let sealed = fields.bytes("key")
    else { return nil }
    self.init(
      key, algorithm, added: added, isPublic: fields.flag("public") ?? false, sealedKey: sealed)
    isGiven = fields.flag("given") ?? false
    end = fields.time("until")
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown: JSONObject = ["kid": .string(id), "alg": .string(algorithm.rawValue)]
    shown.set("added", added)
    if isPublic { shown.set("public", true) }
    if isGiven { shown.set("given", true) }
    shown.set("until", end)
    return shown
  }
}

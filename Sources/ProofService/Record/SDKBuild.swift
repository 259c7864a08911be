// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE
public import ProofModel

/// A build of the SDK whose reports are accepted: its measurement proof key, sealed.
public struct SDKBuild: Record, Hashable {
  /// The key's public name, which includes the mode.
  public var id: KeyID
  /// The key's mode.
  public var mode: Mode
  /// The name that people use for the build.
  public var name: String
  /// The time when it was made or registered.
  public var added: UnixTime
  /// Whether its reports are refused from now on.
  public var isRevoked: Bool
  /// The sources that apps with this key are not asked for, beside those of the policy.
  public var sourcesWithout = LeftOutSources.none
  var sealedKey: [UInt8]

  /// The record's table.
  public static var table: StoreTable { .sdkBuild }
  /// The word that people use for the record, for errors.
  public static var noun: String { "SDK build" }
  /// The record's key in its table.
  public var key: String { id.description }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields = shown
    fields["id"] = nil
    fields.set("key", sealedKey)
    return fields
  }

  init(_ id: KeyID, _ mode: Mode, name: String, added: UnixTime, sealedKey: [UInt8]) {
    self.id = id
    self.mode = mode
    self.name = name
    self.added = added
    isRevoked = false
    self.sealedKey = sealedKey
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let id = try? KeyID(key),
      let mode = fields.text("mode").flatMap(Mode.init(word:)), let name = fields.text("name"),
      let added = fields.time("added"), let sealed = fields.bytes("key")
    else { return nil }
    self.init(id, mode, name: name, added: added, sealedKey: sealed)
    isRevoked = fields.flag("revoked") ?? false
    if let text = fields.text("without") {
      guard let without = try? LeftOutSources(parsing: text) else { return nil }
      sourcesWithout = without
    }
  }

  /// The public fields.
  public var shown: JSONObject {
    var shown: JSONObject = [
      "id": .string(key), "mode": .string(mode.word), "name": .string(name),
      "revoked": .bool(isRevoked),
    ]
    shown.set("added", added)
    if sourcesWithout != .none { shown.set("without", sourcesWithout.text) }
    return shown
  }
}

extension Mode {
  /// `production` or `development`: the claim `mmd`.
  public var word: String { self == .production ? "production" : "development" }

  init?(word: String) {
    guard let mode = Mode.allCases.first(where: { $0.word == word }) else { return nil }
    self = mode
  }
}

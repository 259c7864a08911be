// SPDX-License-Identifier: Apache-2.0

public import ProofJOSE

/// A string that only apps that pass may have. The store has it sealed.
public struct SecureString: Record, Hashable {
  /// The longest name.
  public static let nameMax = 64

  /// Its name.
  public var name: String
  var sealedValue: [UInt8]

  init(_ name: String, sealedValue: [UInt8]) {
    self.name = name
    self.sealedValue = sealedValue
  }

  /// The record's table.
  public static var table: StoreTable { .secureString }
  /// The word that people use for the record, for errors.
  public static var noun: String { "secure string" }
  /// The record's key in its table.
  public var key: String { name }

  /// The fields, all but the key.
  public var fields: JSONObject {
    var fields = JSONObject()
    fields.set("value", sealedValue)
    return fields
  }

  /// Reads the output of ``fields``; nil for anything else.
  public init?(key: String, fields: JSONObject) {
    guard let sealed = fields.bytes("value") else { return nil }
    self.init(key, sealedValue: sealed)
  }

  /// The public fields.
  public var shown: JSONObject { ["name": .string(name)] }
}

public import ProofJOSE

/// A string that only apps which pass may have. It stands in the store sealed.
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

  public static var table: StoreTable { .secureString }
  public static var noun: String { "secure string" }
  public var key: String { name }

  public var fields: JSONObject {
    var fields = JSONObject()
    fields.set("value", sealedValue)
    return fields
  }

  public init?(key: String, fields: JSONObject) {
    guard let sealed = fields.bytes("value") else { return nil }
    self.init(key, sealedValue: sealed)
  }

  public var shown: JSONObject { ["name": .string(name)] }
}

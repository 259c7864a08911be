internal import ProofJOSE
internal import ProofModel

/// What an operator's tool shows to a running service. The store keeps a hash of it.
enum ManagementToken {
  static let label: StaticString = "pfs1.management."

  static func fresh() -> (text: String, document: JSONObject) {
    let text = Base64.encode(CoreSodium.random(count: 32), .url)
    return (text, document(for: text))
  }

  static func document(for text: String) -> JSONObject {
    var fields = JSONObject()
    fields.set("hash", CoreSodium.hash(label, Array(text.utf8)))
    return fields
  }

  /// Whether a text is the token whose hash is kept.
  static func matches(_ text: String, hash: [UInt8]) -> Bool {
    CoreSodium.areEqual(CoreSodium.hash(label, Array(text.utf8)), hash)
  }
}

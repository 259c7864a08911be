// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

/// A token's header. It is not trusted before the key has confirmed it.
struct TokenHeader {
  var algorithm: KeyAlgorithm
  var encryption: String?
  var keyID: String?
  var type: String?
  var contentType: String?
  /// The sender's part of the agreement, for ECDH-ES+A256KW alone.
  var agreement: AgreementHeader?

  /// The only content encryption.
  static let a256gcm = "A256GCM"

  /// Parameters that would change how the token is processed, or that contain a key. RFC 7515 lets
  /// recipients ignore unknown parameters, but a token with one of these is refused.
  ///
  /// `crit` demands extensions, and this library has none; `b64` is one; `zip` compresses.
  private static let refused = ["crit", "b64", "zip", "jwk", "jku", "x5u", "x5c"]

  init(
    algorithm: KeyAlgorithm, encryption: String? = nil, keyID: String?, type: String?,
    contentType: String?, agreement: AgreementHeader? = nil
  ) throws(JOSEError) {
    self.algorithm = algorithm
    self.encryption = encryption
    self.keyID = keyID
    self.type = type
    self.contentType = contentType
    self.agreement = agreement
    for (name, value) in [("typ", type), ("cty", contentType)] {
      guard Self.isHarmless(value) else { throw .headerMember(name) }
    }
  }

  init(parsing text: Span<UInt8>) throws(JOSEError) {
    let index: JSONIndex
    do {
      index = try JSONIndex(parsing: text)
    } catch {
      throw .notJSON(.header, error)
    }
    guard index.nodes[0].kind == .object else { throw .notAnObject(.header) }
    var strings: [String: String] = [:]
    var others: [String: Int] = [:]
    for member in index.members(of: 0) {
      let bytes = index.bytes(at: member.name, in: text)
      // Swift compares strings by equivalence, which is equality for ASCII.
      guard bytes.allSatisfy({ $0 < 0x80 }) else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      if Self.refused.contains(name) { throw .headerRefused(name) }
      guard ["alg", "enc", "kid", "typ", "cty"].contains(name) else {
        others[name] = member.value
        continue
      }
      guard index.nodes[member.value].kind == .string else { throw .headerMember(name) }
      strings[name] = index.string(at: member.value, in: text)
    }
    guard let algorithm = strings["alg"] else { throw .headerMember("alg") }
    guard let known = KeyAlgorithm.allCases.first(where: { $0.rawValue == algorithm }) else {
      throw .algorithmRefused(ExactText.quoted(algorithm))
    }
    self.algorithm = known
    // Parameters of other algorithms have no meaning here, and are not read.
    if known == .ecdhES { agreement = try AgreementHeader(others, index, in: text) }
    encryption = strings["enc"]
    keyID = strings["kid"]
    type = strings["typ"]
    contentType = strings["cty"]
    for name in ["kid", "typ", "cty"] {
      guard Self.isHarmless(strings[name]) else { throw .headerMember(name) }
    }
  }

  private static func isHarmless(_ text: String?) -> Bool {
    guard let text else { return true }
    return text.utf8.count <= JOSELimits.keyIDBytes && ExactText.isPrintable(text)
  }

  /// The header as it goes into a token: canonical JSON in base64url.
  func encoded() -> [UInt8] {
    var object: JSONObject = ["alg": .string(algorithm.rawValue)]
    object["epk"] = agreement?.value
    object["enc"] = encryption.map(JSONValue.string)
    object["kid"] = keyID.map(JSONValue.string)
    object["typ"] = type.map(JSONValue.string)
    object["cty"] = contentType.map(JSONValue.string)
    let json = TextWriter.bytes { writer, text in writer.json(.object(object), into: &text) }
    return TextWriter.bytes { writer, text in writer.base64(json.span, .url, into: &text) }
  }
}

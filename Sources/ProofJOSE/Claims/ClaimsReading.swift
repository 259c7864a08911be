// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

extension Claims {
  /// Reads a payload. Duplicate claims are refused, unknown ones kept.
  ///
  /// The claims are not trusted by themselves: a verifier or decrypter calls this after it has
  /// found the token authentic.
  package init(parsing text: Span<UInt8>) throws(JOSEError) {
    let members = try ClaimMembers(text)
    expiry = try members.time("exp", in: text)
    issuedAt = try members.time("iat", in: text)
    notBefore = try members.time("nbf", in: text)
    issuer = try members.text("iss", in: text)
    audience = try members.audience(in: text)
    subject = try members.text("sub", in: text)
    instance = try members.bytes("did", count: Self.instanceByteCount, in: text)
    address = try members.text("ip", in: text)
    attestationCode = try members.text("arc", in: text)
    annotations = try members.texts("anno", in: text)
    binding = try members.bytes("pay", count: Binding.byteCount, in: text)
      .map { bytes throws(JOSEError) in try Binding(digest: bytes) }
    messageKeyID = try members.text("mskid", in: text)
    let keyByteCount = SubjectPublicKeyInfo.p256.count + CoreKey.Kind.p256.publicByteCounts[0]
    installPublicKey = try members.bytes("ipk", count: keyByteCount, form: .publicKey, in: text)
    measurement = try members.measurement(in: text)
    others = members.others(in: text)
    try checkForms()
  }

  /// Checks the forms of texts, times and keys, which types alone do not enforce. The same checks
  /// apply to written and read claims.
  func checkForms() throws(JOSEError) {
    for (name, time) in [("exp", expiry), ("iat", issuedAt), ("nbf", notBefore)] {
      guard let time else { continue }
      guard (0...JOSELimits.lastSecond).contains(time.seconds) else {
        throw .claimInvalid(name, .time)
      }
    }
    for (name, text) in [("iss", issuer), ("sub", subject), ("mskid", messageKeyID)] {
      guard let text else { continue }
      guard Self.isText(text) else { throw .claimInvalid(name, .text) }
    }
    for (name, texts) in [("aud", audience), ("anno", annotations ?? [])] {
      guard texts.count <= JOSELimits.claimTexts, texts.allSatisfy(Self.isText) else {
        throw .claimInvalid(name, .texts)
      }
    }
    if let instance, instance.count != Self.instanceByteCount {
      throw .claimInvalid("did", .bytes(Self.instanceByteCount))
    }
    if let address {
      let isAddress = address.utf8.allSatisfy { character in
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
          UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."):
          true
        default: false
        }
      }
      guard isAddress, (2...45).contains(address.utf8.count) else {
        throw .claimInvalid("ip", .address)
      }
    }
    if let attestationCode {
      let isBase32 = attestationCode.utf8.allSatisfy { character in
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "2")...UInt8(ascii: "7"): true
        default: false
        }
      }
      guard isBase32, (1...32).contains(attestationCode.utf8.count) else {
        throw .claimInvalid("arc", .base32)
      }
    }
    if let installPublicKey {
      let prefix = SubjectPublicKeyInfo.p256
      let point = Array(installPublicKey.dropFirst(prefix.count))
      guard installPublicKey.starts(with: prefix),
        (try? JSONWebKey(publicBytes: point, algorithm: .es256)) != nil
      else { throw .claimInvalid("ipk", .publicKey) }
    }
    for member in others.members where Self.typedNames.contains(member.name) {
      throw .claimInvalid(member.name, .otherName)
    }
  }

  private static func isText(_ text: String) -> Bool {
    text.utf8.count <= JOSELimits.claimTextBytes && ExactText.isPrintable(text)
  }
}

/// The members of a payload, found by name.
private struct ClaimMembers {
  private let index: JSONIndex
  private var typed: [String: Int] = [:]
  private var untyped: [(name: Int, value: Int)] = []

  init(_ text: Span<UInt8>) throws(JOSEError) {
    do {
      index = try JSONIndex(parsing: text)
    } catch {
      throw .notJSON(.payload, error)
    }
    guard index.nodes[0].kind == .object else { throw .notAnObject(.payload) }
    for member in index.members(of: 0) {
      let bytes = index.bytes(at: member.name, in: text)
      if let name = Claims.typedNames.first(where: { bytes.elementsEqual($0.utf8) }) {
        typed[name] = member.value
      } else {
        untyped.append(member)
      }
    }
  }

  func time(_ name: String, in text: Span<UInt8>) throws(JOSEError) -> UnixTime? {
    guard let node = typed[name] else { return nil }
    guard index.nodes[node].kind == .number,
      let time = UnixTime(index.number(at: node, in: text))
    else { throw .claimInvalid(name, .time) }
    return time
  }

  func text(_ name: String, in text: Span<UInt8>) throws(JOSEError) -> String? {
    guard let node = typed[name] else { return nil }
    guard index.nodes[node].kind == .string else { throw .claimInvalid(name, .text) }
    return index.string(at: node, in: text)
  }

  func texts(_ name: String, in text: Span<UInt8>) throws(JOSEError) -> [String]? {
    guard let node = typed[name] else { return nil }
    guard index.nodes[node].kind == .array else { throw .claimInvalid(name, .texts) }
    let elements = index.elements(of: node)
    guard elements.allSatisfy({ index.nodes[$0].kind == .string }) else {
      throw .claimInvalid(name, .texts)
    }
    var texts: [String] = []
    for element in elements { texts.append(index.string(at: element, in: text)) }
    return texts
  }

  /// RFC 7519, 4.1.3: one string may stand without its array. An empty array is for no audience,
  /// which differs from a missing `aud`.
  func audience(in text: Span<UInt8>) throws(JOSEError) -> [String] {
    guard let node = typed["aud"] else { return [] }
    if index.nodes[node].kind == .string { return [index.string(at: node, in: text)] }
    guard let names = try texts("aud", in: text), !names.isEmpty else {
      throw .claimInvalid("aud", .texts)
    }
    return names
  }

  func bytes(
    _ name: String, count: Int, form: ClaimForm? = nil, in text: Span<UInt8>
  ) throws(JOSEError) -> [UInt8]? {
    guard let node = typed[name] else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    var span = bytes.mutableSpan
    guard index.decodeBase64(at: node, in: text, .standard, into: &span, 0..<count) else {
      throw .claimInvalid(name, form ?? .bytes(count))
    }
    return bytes
  }

  /// Decodes the claims in place, into memory for secrets.
  func measurement(in text: Span<UInt8>) throws(JOSEError) -> MeasurementClaims? {
    var parts = MeasurementClaims.parts
    let optional = MeasurementClaims.optionalPart
    if typed[optional.0] != nil { parts.append(optional) }
    let nodes = parts.map { typed[$0.0] }
    if nodes.allSatisfy({ $0 == nil }) { return nil }
    let count = parts.last?.1.upperBound ?? 0
    return MeasurementClaims(
      try JOSESecret(count: count) { bytes throws(JOSEError) in
        for ((name, range), node) in zip(parts, nodes) {
          guard let node else { throw .claimInvalid(name, .together) }
          guard index.decodeBase64(at: node, in: text, .standard, into: &bytes, range) else {
            throw .claimInvalid(name, .bytes(range.count))
          }
        }
      })
  }

  func others(in text: Span<UInt8>) -> JSONObject {
    var object = JSONObject()
    for member in untyped {
      let name = index.string(at: member.name, in: text)
      object[name] = JSONValue(index, at: member.value, in: text)
    }
    return object
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofBytes

/// Derives a wrapping key from the secret of a key agreement (RFC 7518, 4.6).
enum KeyAgreement {
  /// Derives the key for `alg`: one round of the Concat KDF of NIST SP 800-56A with SHA-256.
  ///
  /// - Parameters:
  ///   - agreed: The secret that both key pairs agree on.
  ///   - algorithm: The name of the algorithm that the key is for.
  ///   - partyU: The sender, as the token's header names it.
  ///   - partyV: The recipient, as the token's header names it.
  ///   - byteCount: The length of the key, at most 32.
  /// - Returns: The key.
  /// - Throws: ``JOSEError/libraryFailed``.
  static func key(
    from agreed: borrowing JOSESecret, for algorithm: String, partyU: [UInt8], partyV: [UInt8],
    byteCount: Int = GCM.keyByteCount
  ) throws(JOSEError) -> JOSESecret {
    precondition(byteCount <= Digest.byteCount)
    var context: [UInt8] = []
    for text in [Array(algorithm.utf8), partyU, partyV] {
      context += bigEndian(text.count) + text
    }
    context += bigEndian(byteCount * 8)
    let input = agreed.withBytes { agreed in
      JOSESecret(count: 4 + agreed.count + context.count) { input in
        input[3] = 1  // the round
        for index in agreed.indices { input[4 + index] = agreed[index] }
        for (index, byte) in context.enumerated() { input[4 + agreed.count + index] = byte }
      }
    }
    let digest = try JOSESecret(count: Digest.byteCount) { digest throws(JOSEError) in
      try input.withBytes { input throws(JOSEError) in try Digest.sha256(input, into: &digest) }
    }
    return digest.withBytes { JOSESecret(copying: $0.extracting(0..<byteCount)) }
  }

  private static func bigEndian(_ count: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) }
  }
}

/// The sender's part of a key agreement, which a token's header carries: `epk`, `apu` and `apv`.
struct AgreementHeader {
  /// x and y of the sender's public key, made for this token alone.
  let point: [UInt8]
  /// The sender (`apu`) and the recipient (`apv`); empty unless the header names them.
  var partyU: [UInt8] = []
  var partyV: [UInt8] = []

  init(point: [UInt8]) { self.point = point }

  /// Reads the parameters. Refuses a key of another curve, one with a private part, and a point
  /// that is not 64 bytes. The use of the point checks whether it is on the curve.
  init(_ members: [String: Int], _ index: JSONIndex, in text: Span<UInt8>) throws(JOSEError) {
    guard let node = members["epk"], index.nodes[node].kind == .object else {
      throw .headerKeyInvalid
    }
    var names: [String: Int] = [:]
    for member in index.members(of: node) {
      let name = index.bytes(at: member.name, in: text)
      if name.allSatisfy({ $0 < 0x80 }) {
        names[String(decoding: name, as: UTF8.self)] = member.value
      }
    }
    for (name, expected) in [("kty", "EC"), ("crv", "P-256")] {
      guard let node = names[name], index.nodes[node].kind == .string,
        ExactText.areEqual(index.string(at: node, in: text), expected)
      else { throw .headerKeyInvalid }
    }
    guard names["d"] == nil, let x = names["x"], let y = names["y"] else {
      throw .headerKeyInvalid
    }
    var point = [UInt8](repeating: 0, count: 64)
    var span = point.mutableSpan
    guard index.decodeBase64(at: x, in: text, .url, into: &span, 0..<32),
      index.decodeBase64(at: y, in: text, .url, into: &span, 32..<64)
    else { throw .headerKeyInvalid }
    self.point = point
    partyU = try Self.party("apu", members, index, in: text)
    partyV = try Self.party("apv", members, index, in: text)
  }

  private static func party(
    _ name: String, _ members: [String: Int], _ index: JSONIndex, in text: Span<UInt8>
  ) throws(JOSEError) -> [UInt8] {
    guard let node = members[name] else { return [] }
    guard index.nodes[node].kind == .string,
      let bytes = Base64Alphabet.url.decode(index.bytes(at: node, in: text).span),
      bytes.count <= JOSELimits.partyBytes
    else { throw .headerMember(name) }
    return bytes
  }

  /// The sender's key in the form of the header.
  var value: JSONValue {
    func text(_ range: Range<Int>) -> JSONValue {
      let bytes = TextWriter.bytes { writer, text in
        writer.base64(point.span.extracting(range), .url, into: &text)
      }
      return .string(String(decoding: bytes, as: UTF8.self))
    }
    return ["kty": "EC", "crv": "P-256", "x": text(0..<32), "y": text(32..<64)]
  }
}

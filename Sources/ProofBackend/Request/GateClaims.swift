// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
import ProofModel

/// The claims of a signed text, read strictly.
struct GateClaims {
  /// The type of the signed text.
  let type: String
  private let members: JSONObject

  private init(_ members: JSONObject) {
    type = ""
    self.members = members
  }

  /// Checks the signature and the way from a fingerprint to its key.
  init(
    _ text: String, types: [String], trusting fingerprint: Digest
  ) throws(GateConfigurationError) {
    let unverified: UnverifiedToken
    do throws(JOSEError) { unverified = try UnverifiedToken(reading: text) } catch {
      throw .unsigned(reason: error.description)
    }
    members = unverified.payload
    type = unverified.type ?? "not told"
    guard types.contains(where: { $0 == unverified.type }) else {
      throw .unsigned(reason: "its type is \(type), not \(types.joined(separator: " or "))")
    }
    let key = try value("key", IssuerPublicKey.init)
    guard try trusted(from: fingerprint).contains(Self.fingerprint(of: key)) else {
      throw .untrusted
    }
    try Self.verify(text, with: key)
  }

  private static func fingerprint(of key: IssuerPublicKey) -> Digest {
    Digest(hashing: Array("pfa1.config-key.".utf8) + key.bytes)
  }

  private static func verify(
    _ text: String, with key: IssuerPublicKey
  ) throws(GateConfigurationError) {
    do throws(JOSEError) {
      let key = try JSONWebKey(publicBytes: key.bytes, algorithm: .edDSA)
      _ = try JWSVerifier(key, keyID: .any).verify(text)
    } catch {
      throw .unsigned(reason: error.description)
    }
  }

  /// The fingerprint, and those that the handovers lead to: docs/SERVICE.md, section 6.
  private func trusted(from fingerprint: Digest) throws(GateConfigurationError) -> [Digest] {
    var trusted = [fingerprint]
    guard has("hnd") else { return trusted }
    let handovers = try texts("hnd")
    guard handovers.count <= 8 else { throw .malformed(claim: "hnd") }
    for text in handovers {
      guard let token = try? UnverifiedToken(reading: text), token.type == "handover+jwt" else {
        throw .malformed(claim: "hnd")
      }
      let claims = GateClaims(token.payload)
      guard try claims.text("acc") == self.text("acc") else { throw .untrusted }
      // Handovers from before the fingerprint begin with keys that are not known here.
      let old = try claims.value("key", IssuerPublicKey.init)
      guard trusted.last == Self.fingerprint(of: old) else { continue }
      try Self.verify(text, with: old)
      trusted.append(Self.fingerprint(of: try claims.value("nxt", IssuerPublicKey.init)))
    }
    return trusted
  }

  func has(_ name: String) -> Bool { members[name] != nil }

  func text(_ name: String) throws(GateConfigurationError) -> String {
    guard case .string(let text)? = members[name] else { throw .malformed(claim: name) }
    return text
  }

  func flag(_ name: String) throws(GateConfigurationError) -> Bool {
    guard case .bool(let flag)? = members[name] else { throw .malformed(claim: name) }
    return flag
  }

  func integer(
    _ name: String, _ range: ClosedRange<Int64>
  ) throws(GateConfigurationError) -> Int64 {
    guard case .number(let number)? = members[name], let value = number.integer,
      range.contains(value)
    else { throw .malformed(claim: name) }
    return value
  }

  func texts(_ name: String) throws(GateConfigurationError) -> [String] {
    guard case .array(let values)? = members[name] else { throw .malformed(claim: name) }
    var texts: [String] = []
    for value in values {
      guard case .string(let text) = value else { throw .malformed(claim: name) }
      texts.append(text)
    }
    return texts
  }

  func object(_ name: String) throws(GateConfigurationError) -> GateClaims {
    guard case .object(let members)? = members[name] else { throw .malformed(claim: name) }
    return GateClaims(members)
  }

  func objects<Value>(
    _ name: String, _ read: (GateClaims) throws(GateConfigurationError) -> Value
  ) throws(GateConfigurationError) -> [Value] {
    guard case .array(let values)? = members[name] else { throw .malformed(claim: name) }
    var found: [Value] = []
    for value in values {
      guard case .object(let members) = value else { throw .malformed(claim: name) }
      found.append(try read(GateClaims(members)))
    }
    return found
  }

  /// Bytes in base64url that make a value.
  func value<Value>(
    _ name: String, _ make: ([UInt8]) throws(ProofError) -> Value
  ) throws(GateConfigurationError) -> Value {
    guard let bytes = Base64.decode(try text(name), .url) else { throw .malformed(claim: name) }
    do throws(ProofError) { return try make(bytes) } catch { throw .malformed(claim: name) }
  }
}

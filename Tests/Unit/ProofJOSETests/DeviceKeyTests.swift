// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofJOSE

/// Measurements with the device's proof key, and the parties of an agreement.
@Suite struct DeviceKeyTests {
  private static let bytes = (0..<96).map { UInt8($0) }

  private static func measurement(
    _ counts: [Int] = [32, 32, 16, 16]
  ) throws -> MeasurementClaims {
    let span = bytes.span
    return try MeasurementClaims(
      integrityMeasurement: span.extracting(0..<counts[0]),
      deviceMeasurement: span.extracting(32..<32 + counts[1]),
      proofKey: span.extracting(64..<64 + counts[2]),
      deviceKey: span.extracting(79..<79 + counts[3]))
  }

  private static func read(_ members: [(String, [UInt8])]) throws -> Claims {
    let text = members.map { #""\#($0)":"\#(Claims.base64($1))""# }.joined(separator: ",")
    return try Claims(parsing: Array("{\(text)}".utf8).span)
  }

  private static let members: [(String, [UInt8])] = [
    ("dmh", Array(32..<64)), ("dpk", Array(79..<95)), ("imh", Array(0..<32)),
    ("mpk", Array(64..<80)),
  ]

  @Test("A measurement with a device key has four parts, each under its name")
  func parts() throws {
    var claims = Claims()
    claims.measurement = try Self.measurement()
    let text = try claims.secretJSON().withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
    let expected = Self.members.map { #""\#($0)":"\#(Claims.base64($1))""# }
    #expect(text == "{" + expected.joined(separator: ",") + "}")
    for measurement in [claims.measurement, try Self.read(Self.members).measurement] {
      let found = try #require(measurement)
      #expect(found.hasDeviceKey)
      #expect(found.withIntegrityMeasurement { b in b.indices.map { b[$0] } } == Array(0..<32))
      #expect(found.withDeviceMeasurement { b in b.indices.map { b[$0] } } == Array(32..<64))
      #expect(found.withProofKey { b in b.indices.map { b[$0] } } == Array(64..<80))
      #expect(try found.withDeviceKey { b in b.indices.map { b[$0] } } == Array(79..<95))
    }
    #expect(MeasurementClaims.measurementByteCount == 32)
    #expect(MeasurementClaims.proofKeyByteCount == 16)
    let without = try Sample.measurement()
    #expect(!without.hasDeviceKey)
    #expect(error { try without.withDeviceKey { $0.count } } == .claimMissing("dpk"))
  }

  @Test("Each part has its length, given and read, and the device key comes with the others")
  func lengths() throws {
    for (index, (name, count)) in [("imh", 32), ("dmh", 32), ("mpk", 16), ("dpk", 16)].enumerated()
    {
      for other in [count - 1, count + 1] {
        var counts = [32, 32, 16, 16]
        counts[index] = other
        #expect(error { try Self.measurement(counts) } == .claimInvalid(name, .bytes(count)))
        let members = Self.members.map { member in
          member.0 == name ? (name, [UInt8](repeating: 7, count: other)) : member
        }
        #expect(error { try Self.read(members) } == .claimInvalid(name, .bytes(count)))
      }
      // A part that is missing; without the device key it is a measurement of three parts.
      let rest = Self.members.filter { $0.0 != name }
      #expect(
        error { try Self.read(rest) } == (name == "dpk" ? nil : .claimInvalid(name, .together)))
    }
    #expect(error { try Self.read([Self.members[1]]) } == .claimInvalid("imh", .together))
  }

  @Test("A token whose header names both parties of the agreement is opened")
  func parties() throws {
    let recipient = try Sample.key(.ecdhES)
    let pair = try JSONWebKey.random(.ecdhES)
    let (point, core) = (try #require(pair.publicBytes), try #require(pair.material.coreKey))
    let payload = Array("for Bob".utf8)
    func token(_ partyU: String, _ partyV: String) throws -> String {
      let text =
        #"{"alg":"ECDH-ES+A256KW","apu":"QWxpY2U","apv":"Qm9i","enc":"A256GCM","kid":"k1","#
        + #""epk":{"kty":"EC","crv":"P-256","x":"\#(Forge.base64(point.prefix(32)))","#
        + #""y":"\#(Forge.base64(point.suffix(32)))"}}"#
      let header = Forge.base64(text.utf8)
      guard let agreed = try core.agreed(with: #require(recipient.publicBytes)) else { return "" }
      let wrapping = try KeyAgreement.key(
        from: agreed, for: "ECDH-ES+A256KW", partyU: Array(partyU.utf8),
        partyV: Array(partyV.utf8))
      let iv = [UInt8](repeating: 7, count: 12)
      let key = JOSESecret(copying: [UInt8](repeating: 5, count: 32).span)
      let wrapped = try wrapping.withBytes { bytes throws(JOSEError) in
        try KeyWrap.wrap(key, under: bytes)
      }
      let sealed = try key.withBytes { bytes throws(JOSEError) in
        try GCM.seal(
          payload.span, key: bytes, iv: iv.span, additionalData: Array(header.utf8).span)
      }
      return ([header] + [wrapped, iv, sealed.ciphertext, sealed.tag].map { Forge.base64($0) })
        .joined(separator: ".")
    }
    let decrypter = try JWEDecrypter(recipient)
    let opened = try decrypter.open(token("Alice", "Bob"))
    let isRight = opened.payload.matches(JOSESecret(copying: payload.span))
    #expect(isRight)
    for (partyU, partyV) in [("Bob", "Alice"), ("Alice", ""), ("", "Bob"), ("", "")] {
      #expect(error { try decrypter.open(token(partyU, partyV)) } == .decryptionFailed)
    }
  }
}

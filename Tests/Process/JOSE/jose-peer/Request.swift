// SPDX-License-Identifier: Apache-2.0

import ProofJOSE

/// One line that came in.
struct Request {
  private let object: JSONObject

  init(_ line: String) throws {
    guard case .object(let object) = try JSONValue(parsing: line) else {
      throw JOSEError.notAnObject(.payload)
    }
    self.object = object
  }

  func optionalText(_ name: String) -> String? {
    guard case .string(let text)? = object[name] else { return nil }
    return text
  }

  func text(_ name: String) throws -> String {
    guard let text = optionalText(name) else { throw JOSEError.claimMissing(name) }
    return text
  }

  func key(_ name: String = "key") throws -> JSONWebKey {
    guard let key = object[name] else { throw JOSEError.claimMissing(name) }
    return try JSONWebKey(parsing: key.text)
  }

  func keys() throws -> [JSONWebKey] {
    guard case .array(let keys)? = object["keys"] else { throw JOSEError.claimMissing("keys") }
    return try keys.map { try JSONWebKey(parsing: $0.text) }
  }

  var keyIDRule: KeyIDRule { optionalText("kid") == "optional" ? .optional : .exact }

  /// A policy whose clock stands where the request says.
  func policy() throws -> ClaimsPolicy {
    guard case .number(let now)? = object["now"], let seconds = now.integer else {
      throw JOSEError.claimMissing("now")
    }
    return try ClaimsPolicy(
      clock: .fixed(UnixTime(seconds: seconds)), audience: optionalText("audience"),
      binding: optionalText("bound").map { try Claims.Binding(to: $0) })
  }

  /// Claims whose bytes come in hex and whose binding comes as the bound text.
  func claims() throws -> Claims {
    guard case .object(let values)? = object["claims"] else {
      throw JOSEError.claimMissing("claims")
    }
    var claims = Claims()
    var measurement: [String: [UInt8]] = [:]
    for (name, value) in values.members {
      switch (name, value) {
      case ("exp", .number(let number)): claims.expiry = Self.time(number)
      case ("iat", .number(let number)): claims.issuedAt = Self.time(number)
      case ("nbf", .number(let number)): claims.notBefore = Self.time(number)
      case ("iss", .string(let text)): claims.issuer = text
      case ("aud", .array(let names)): claims.audience = Self.texts(names)
      case ("sub", .string(let text)): claims.subject = text
      case ("did", .string(let text)): claims.instance = Self.bytes(text)
      case ("ip", .string(let text)): claims.address = text
      case ("arc", .string(let text)): claims.attestationCode = text
      case ("anno", .array(let names)): claims.annotations = Self.texts(names)
      case ("bound", .string(let text)): claims.binding = try Claims.Binding(to: text)
      case ("mskid", .string(let text)): claims.messageKeyID = text
      case ("imh", .string(let text)), ("dmh", .string(let text)), ("mpk", .string(let text)):
        measurement[name] = Self.bytes(text)
      default: claims.others[name] = value
      }
    }
    if !measurement.isEmpty {
      let integrity = measurement["imh"] ?? []
      let device = measurement["dmh"] ?? []
      let key = measurement["mpk"] ?? []
      claims.measurement = try MeasurementClaims(
        integrityMeasurement: integrity.span, deviceMeasurement: device.span, proofKey: key.span)
    }
    return claims
  }

  /// Halves of seconds are as fine as these tests go.
  private static func time(_ number: JSONNumber) -> UnixTime {
    let double = number.double
    let seconds = Int64(double.rounded(.down))
    return UnixTime(seconds: seconds, nanoseconds: double > Double(seconds) ? 500_000_000 : 0)
  }

  private static func texts(_ values: [JSONValue]) -> [String] {
    values.compactMap { value in
      guard case .string(let text) = value else { return nil }
      return text
    }
  }

  private static func bytes(_ hex: String) -> [UInt8] {
    let digits = hex.compactMap(\.hexDigitValue)
    return stride(from: 0, to: digits.count - 1, by: 2).map { place in
      UInt8(digits[place] * 16 + digits[place + 1])
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofJOSE

/// Answers every line of the standard input, each at once: `print` would wait for a full buffer.
func serve() {
  while let line = readLine() {
    FileHandle.standardOutput.write(Data((answer(to: line).text + "\n").utf8))
  }
}

/// Answers a request, by name.
private func answer(to line: String) -> JSONValue {
  do {
    let request = try Request(line)
    switch try request.text("do") {
    case "generate": return try ["key": generate(request)]
    case "public": return try ["key": JSONValue(parsing: request.key().publicJSON())]
    case "private": return try ["key": secretJSON(request.key().privateJSON())]
    case "thumbprint": return try ["thumbprint": .string(request.key().thumbprintText())]
    case "publish": return try ["keys": JSONValue(parsing: JWKS(request.keys()).publicJSON)]
    case "sign": return try ["token": .string(JWSSigner(request.key()).sign(request.claims()))]
    case "seal": return try ["token": .string(JWEEncrypter(request.key()).seal(request.claims()))]
    case "nest": return try ["token": .string(nest(request))]
    case "unnest": return try ["claims": unnest(request)]
    case "pem": return try ["pem": .string(request.key().publicPEM())]
    case "from-pem": return try ["key": JSONValue(parsing: readPEM(request).publicJSON())]
    case "verify": return try ["claims": verify(request)]
    case "open": return try ["claims": open(request)]
    case "canonical": return try ["text": .string(JSONValue(parsing: request.text("text")).text)]
    case let name: return ["error": .string("no such request: \(name)")]
    }
  } catch let error as JOSEError {
    return ["error": .string(error.description)]
  } catch let error as JSONError {
    return ["error": .string(error.description)]
  } catch {
    return ["error": "unexpected"]
  }
}

private func generate(_ request: Request) throws -> JSONValue {
  guard let algorithm = KeyAlgorithm(rawValue: try request.text("alg")) else {
    throw JOSEError.keyUnsupported("algorithm")
  }
  let bits = algorithm.rawValue.hasPrefix("RS") ? 2_048 : nil
  return try secretJSON(
    JSONWebKey.random(algorithm, bits: bits, id: request.optionalText("kid")).privateJSON())
}

private func nest(_ request: Request) throws -> String {
  try JWEEncrypter(request.key()).seal(
    request.claims(), signedBy: JWSSigner(request.key("signer")))
}

private func unnest(_ request: Request) throws -> JSONValue {
  let verifier = try JWSVerifier(request.key("signer"))
  return claimsJSON(
    try JWEDecrypter(request.key()).claims(
      of: request.text("token"), signedBy: verifier, under: request.policy()))
}

private func readPEM(_ request: Request) throws -> JSONWebKey {
  guard let algorithm = KeyAlgorithm(rawValue: try request.text("alg")) else {
    throw JOSEError.keyUnsupported("algorithm")
  }
  return try JSONWebKey(
    publicPEM: request.text("pem"), algorithm: algorithm, id: request.optionalText("kid"))
}

private func verify(_ request: Request) throws -> JSONValue {
  let verifier = try JWSVerifier(request.key(), keyID: request.keyIDRule)
  return claimsJSON(try verifier.claims(of: request.text("token"), under: request.policy()))
}

private func open(_ request: Request) throws -> JSONValue {
  let decrypter = try JWEDecrypter(request.key(), keyID: request.keyIDRule)
  return claimsJSON(try decrypter.claims(of: request.text("token"), under: request.policy()))
}

/// A secret as JSON. These keys protect nothing but a test.
private func secretJSON(_ secret: borrowing JOSESecret) throws -> JSONValue {
  try secret.withBytes { bytes in try JSONValue(parsing: bytes) }
}

/// The claims as a reader sees them, each by its name in tokens.
private func claimsJSON(_ claims: Claims) -> JSONValue {
  var object = claims.others
  object["exp"] = claims.expiry.map { .string($0.description) }
  object["iat"] = claims.issuedAt.map { .string($0.description) }
  object["nbf"] = claims.notBefore.map { .string($0.description) }
  object["iss"] = claims.issuer.map(JSONValue.string)
  object["aud"] = .array(claims.audience.map(JSONValue.string))
  object["sub"] = claims.subject.map(JSONValue.string)
  object["did"] = claims.instance.map { .string(Claims.base64($0)) }
  object["ip"] = claims.address.map(JSONValue.string)
  object["arc"] = claims.attestationCode.map(JSONValue.string)
  object["anno"] = claims.annotations.map { .array($0.map(JSONValue.string)) }
  object["pay"] = (claims.binding?.text).map(JSONValue.string)
  object["mskid"] = claims.messageKeyID.map(JSONValue.string)
  if let measurement = claims.measurement {
    object["imh"] = measurement.withIntegrityMeasurement { hex($0) }
    object["dmh"] = measurement.withDeviceMeasurement { hex($0) }
    object["mpk"] = measurement.withProofKey { hex($0) }
  }
  return .object(object)
}

private func hex(_ bytes: Span<UInt8>) -> JSONValue {
  var text = ""
  for index in bytes.indices {
    text += String(bytes[index] >> 4, radix: 16) + String(bytes[index] & 15, radix: 16)
  }
  return .string(text)
}

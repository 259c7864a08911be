// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import ProofBackend
import ProofJOSE
import ProofModel
import ProofService

/// Verbs about the service's tokens and about proofs.
enum TokenVerbs {
  static let all: [Verb] = [check, example, compute]

  private static let check = Verb(
    "token check", [Operand("TOKEN|@FILE|-")],
    [
      Option("--key", "FILE,…", help: "keys instead of an account: a JWK or a JWKS in each file"),
      Option("--audience", "NAME", help: "with --key: the API that the token must name, if any"),
      Option("--data-hash", "TEXT", help: "what the token must be bound to"),
    ], "checks a token, and shows its claims"
  ) { invocation in
    let token = try Invocation.text(of: invocation.operands[0])
    if let files = invocation.value("--key") {
      return try check(
        token, with: keys(files), for: invocation.value("--audience"),
        boundTo: invocation.value("--data-hash"))
    }
    guard invocation.value("--audience") == nil else {
      throw Failure.usage("--audience goes with --key: an account's APIs are known")
    }
    let value = try AccountAccess(invocation).perform("token/check", ["token": .string(token)])
    guard case .object(var object) = value else { return Answer(value) }
    var isGood = object.flag("valid") ?? false
    if let text = invocation.value("--data-hash"), case .object(let claims)? = object["claims"] {
      let isBound = claims.text("pay") == (try Claims.Binding(to: text).text)
      object["bound"] = .bool(isBound)
      isGood = isGood && isBound
    }
    return Answer(.object(object), isGood: isGood)
  }

  private static func check(
    _ token: String, with keys: [JSONWebKey], for audience: String?, boundTo text: String?
  ) throws -> Answer {
    do throws(TokenRefusal) {
      let claims = try TokenVerifier(verifying: keys, for: audience)
        .claims(of: token, boundTo: text)
      return Answer(["valid": true, "claims": shown(claims)])
    } catch {
      return Answer(
        ["valid": false, "reason": .string(error.reason.rawValue), "problem": .string("\(error)")],
        isGood: false)
    }
  }

  static func keys(_ files: String) throws -> [JSONWebKey] {
    try files.split(separator: ",").flatMap { file in
      let text = try SecretFile.read(String(file), limit: 65_536)
      return try JSONWebKey.keys(parsing: text.span)
    }
  }

  /// A token's claims, free of secrets.
  private static func shown(_ claims: Claims) -> JSONValue {
    var object = claims.others
    func set(_ name: String, _ value: String?) {
      if let value { object[name] = .string(value) }
    }
    // Show Unix seconds as a number, with a key file as with the account.
    if let expiry = claims.expiry { object["exp"] = .number(JSONNumber(expiry.seconds)) }
    set("iss", claims.issuer)
    set("sub", claims.subject)
    set("did", claims.instance.map { Base64.encode($0) })
    set("ip", claims.address)
    set("arc", claims.attestationCode)
    set("pay", claims.binding?.text)
    if !claims.audience.isEmpty { object["aud"] = .array(claims.audience.map { .string($0) }) }
    if let names = claims.annotations { object["anno"] = .array(names.map { .string($0) }) }
    if let measurement = claims.measurement {
      for name in ["imh", "dmh", "mpk"] + (measurement.hasDeviceKey ? ["dpk"] : []) {
        set(name, "(secret)")
      }
    }
    return .object(object)
  }

  private static let example = Verb(
    "token example", [Operand("DOMAIN")],
    [
      Option("--invalid", help: "one that looks right and is not, as a failing app gets it"),
      Option("--data-hash", "TEXT", help: "binds it to this text"),
      Option("--measurement", help: "with a measurement of random bytes, for an API with --jwe"),
    ], "makes a token, for tests of an API backend"
  ) { invocation in
    var arguments: JSONObject = [
      "host": .string(invocation.operands[0]), "valid": .bool(!invocation.has("--invalid")),
    ]
    if let text = invocation.value("--data-hash") { arguments["boundTo"] = .string(text) }
    if invocation.has("--measurement") { arguments["measured"] = true }
    let value = try AccountAccess(invocation).perform("token/example", arguments)
    guard case .object(let object) = value else { return Answer(value) }
    return Answer(value, text: object.text("token"))
  }

  private static let compute = Verb(
    "proof compute", [],
    [
      Option("--key", "HEX|@FILE|-", help: "MPK or DPK, 16 bytes"),
      Option("--nonce", "HEX", help: "16 bytes"),
      Option("--measurement", "HEX|@FILE|-", help: "IM or DM, 32 bytes"),
    ], "computes a proof, for those who integrate: HMAC-SHA-256(key, nonce ‖ measurement)"
  ) { invocation in
    let proof = try compute(invocation)
    return Answer(["proof": .string(proof.description)], text: proof.description)
  }

  private static func compute(_ invocation: Invocation) throws -> Proof {
    let nonce = try invocation.hexadecimal("--nonce", ProofNonce.self)
    let key = try invocation.secret("--key", count: 16)
    let measured = try invocation.secret("--measurement", count: 32)
    // IM and DM have the same formula.
    let measurement = try Measurement(integrity: measured, device: measured, deviceKey: key)
    let unused = try MeasurementProofKey(.random(count: 16), mode: .development)
    return measurement.proof(of: .device, for: nonce, with: unused)
  }
}

extension TokenVerifier {
  /// A verifier for keys that were read from files.
  fileprivate init(
    verifying keys: [JSONWebKey], for audience: String?
  ) throws(TokenRefusal) {
    var rules = Rules()
    rules.audience = audience
    do throws(JOSEError) {
      try self.init(keys, rules: rules)
    } catch {
      throw TokenRefusal(of: error)
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// Requests whose digest travels in a header field of its own.
@Suite struct DigestFieldTests {
  private static let field = "ali_sign_whash"

  private static var route: RequestRoute {
    var route = RequestRoute(Gate.host)
    route.fields.digest = field
    return route
  }

  /// A request with its proof, and with the digest that the proof covers.
  private static func request(
    _ app: GateApp, _ target: String = "/pay?to=7", body: [UInt8] = Gate.body, count: UInt32 = 1
  ) throws -> ReceivedRequest {
    var request = try app.compact("POST", target, body: body, count: count)
    try request.fields.set(field, Base64.encode(digest(target, body).bytes, .url))
    return request
  }

  private static func digest(_ target: String, _ body: [UInt8]) throws -> RequestDigest {
    try RequestDigest(
      method: "POST", scheme: "https", authority: Gate.host, target: target,
      body: Digest(hashing: body), authorization: "Bearer abc")
  }

  private func rejection(
    _ verifier: RequestVerifier, _ request: ReceivedRequest
  ) -> DigestFieldRefusal? {
    guard case .digestField(let refusal) = verifier.judge(request, on: Self.route).rejection else {
      return nil
    }
    return refusal
  }

  @Test("a request as it was proved counts once; a mismatch says which of URL and body differs")
  func mismatches() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    let good = try Self.request(app)
    var request = good
    request.target = "/pay?to=8"
    #expect(rejection(verifier, request) == .otherURL)
    request = good
    request.method = "PUT"
    #expect(rejection(verifier, request) == .otherURL)
    request = good
    try request.fields.set("Authorization", "Bearer abd")
    #expect(rejection(verifier, request) == .otherURL)
    request = good
    request.body = Digest(hashing: [2])
    #expect(rejection(verifier, request) == .otherBody)
    request.target = "/pay?to=8"
    #expect(rejection(verifier, request) == .otherBody)
    // A refused request used nothing up.
    #expect(verifier.judge(good, on: Self.route).verdict?.form == .compact)
    let replayed = verifier.judge(good, on: Self.route)
    #expect(replayed.verdict == nil && replayed.rejection?.told == .proof)
  }

  @Test("a changed field, a missing one, two of them, and one that is no digest are refused")
  func fields() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    let good = try Self.request(app)
    let value = try #require(good.fields.values(of: Self.field).first)
    let other = Base64.encode(try Self.digest("/pay?to=8", Gate.body).bytes, .url)
    // The digest of another request, also together with that request: the proof is over the first one.
    for target in ["/pay?to=7", "/pay?to=8"] {
      var request = good
      request.target = target
      try request.fields.set(Self.field, other)
      #expect(rejection(verifier, request) == .notProved)
    }
    var request = try app.compact()
    #expect(rejection(verifier, request) == .missing)
    for second in [value, other] {
      request = good
      try request.fields.append(Self.field, second)
      #expect(rejection(verifier, request) == .repeated)
    }
    let short = String(value.dropLast())
    for text in ["", "x", short, value + "A", value + "=", "\(value), \(value)"] {
      request = good
      try request.fields.set(Self.field, text)
      #expect(rejection(verifier, request) == .malformed, "“\(text)”")
    }
    // A proof that was changed, and one of another installation.
    request = good
    var proof = Array(try #require(good.fields.values(of: "proof").first).utf8)
    proof[80] = proof[80] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
    try request.fields.set("Proof", String(decoding: proof, as: UTF8.self))
    #expect(rejection(verifier, request) == .notProved)
    #expect(verifier.judge(good, on: Self.route).verdict != nil)
  }

  @Test("a client gets a class alone, and the log a sentence; routes without the field ignore it")
  func words() throws {
    for refusal in DigestFieldRefusal.allCases {
      let rejection = RejectedRequest.digestField(refusal)
      #expect(rejection.description == refusal.description && rejection.told == refusal.told)
      #expect([401, 403].contains(rejection.status))
    }
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var request = try Self.request(app)
    try request.fields.set(Self.field, "anything")
    #expect(verifier.judge(request, on: RequestRoute(Gate.host)).verdict != nil)
    let missing = verifier.judge(try app.compact(count: 2), on: Self.route)
    #expect(RequestVerifierTests.field(missing, "Proof-Refusal") == "proof")
  }
}

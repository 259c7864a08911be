// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitKeys
import ProofModel
import Testing

@testable import ProofBackend
@testable import ProofRequest

/// Two proofs of one request, and the bounds of a proof's own times.
@Suite struct RequestFormTests {
  private static let route = RequestRoute(Gate.host)

  @Test("Beside a standard proof a compact one counts where the route takes no standard one")
  func both() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    for (forms, bodyOnly, form) in [
      ([.compact], false, .compact), ([.bodyOnly], true, .bodyOnly),
      ([.compact, .bodyOnly], false, .compact),
    ] as [(RequestForms, Bool, RequestForms)] {
      var route = Self.route
      route.forms = forms
      // Another count each time, so that each proof is new.
      let count = UInt32(forms.rawValue)
      let proof = try app.compact(
        fields: [("Content-Type", "application/json")], count: count, bodyOnly: bodyOnly)
      var request = try app.standard()
      try request.fields.append("Proof", try #require(proof.fields.first("proof")))
      #expect(verifier.judge(request, on: route).verdict?.form == form, "\(forms)")
      route.forms.insert(.standard)
      #expect(verifier.judge(request, on: route).rejection == .request(.severalSignatures))
    }
  }

  @Test("A compact proof stands beside the installation's signature where the route demands that")
  func installation() throws {
    let folder = TestFolder()
    let key = StoredInstallationKey(folder: folder.path("app"))
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var request = try app.compact()
    var head = try RequestHead(
      method: request.method, scheme: .https, authority: Gate.host, target: request.target,
      fields: request.fields)
    try StandardForm().sign(
      &head, body: ContentDigest(try #require(request.body)), keyID: app.handleText,
      created: Gate.start, nonce: ReplayKey.fresh(), byInstallation: key.signature)
    request.fields = head.fields
    request.installationKey = try key.identity().point
    #expect(verifier.judge(request, on: Self.route).rejection == .request(.severalSignatures))
    var route = Self.route
    route.needsInstallationKey = true
    let verdict = try #require(verifier.judge(request, on: route).verdict)
    #expect(verdict.form == .compact && verdict.isSignedByInstallation)
  }

  /// The request with a parameter in its proof, signed again.
  private static func standard(
    _ app: GateApp, expires: UnixTime
  ) throws -> ReceivedRequest {
    var request = try app.standard()
    var head = try RequestHead(
      method: request.method, scheme: .https, authority: Gate.host, target: request.target,
      fields: request.fields)
    let input = try #require(head.fields.first("signature-input"))
    try head.fields.set(
      "signature-input", input.replacing(";nonce", with: ";expires=\(expires.seconds);nonce"))
    let base = try ReadSignature(.hmac, head, StandardForm()).base
    let tag = app.keys.withRequestKey { CoreCrypto.hmac(key: $0, base.span) }
    let label = input.prefix { $0 != "=" }
    try head.fields.set("signature", "\(label)=:\(Base64.encode(tag.bytes)):")
    request.fields = head.fields
    return request
  }

  @Test("A proof that says its end counts through that second")
  func expires() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    for (end, isGood) in [(0, true), (1, true), (-1, false), (-100, false)] as [(Int64, Bool)] {
      let judged = verifier.judge(
        try Self.standard(app, expires: Gate.start + end), on: Self.route)
      #expect(judged.rejection == (isGood ? nil : .request(.expired)), "\(end)")
    }
  }

  @Test(
    "A proof of the first second of 1970 is in time where the clock says so, an earlier one is not")
  func first() throws {
    let gate = try Gate()
    let app = try GateApp(at: gate)
    gate.clock.now = 30
    let verifier = try gate.verifier()
    _ = try verifier.admit(app.grant)
    for (seconds, isGood) in [(0, true), (1, true), (-1, false)] as [(Int64, Bool)] {
      let request = try app.standard(created: UnixTime(seconds: seconds), withToken: false)
      let judged = verifier.judge(request, on: Self.route)
      #expect(judged.rejection == (isGood ? nil : .request(.stale)), "\(seconds)")
    }
  }
}

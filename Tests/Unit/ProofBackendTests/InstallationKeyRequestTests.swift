// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofKitKeys
import ProofModel
import ProofRequest
import Testing

@testable import ProofBackend

/// Requests that the installation's own key signs as well (ES256).
@Suite struct InstallationKeyRequestTests {
  static func signed(
    _ app: GateApp, by key: any InstallationKey, name: String? = nil, at now: UnixTime = Gate.start
  ) throws -> ReceivedRequest {
    var request = try app.standard()
    var head = try RequestHead(
      method: request.method, scheme: .https, authority: Gate.host, target: request.target,
      fields: request.fields)
    try StandardForm().sign(
      &head, body: ContentDigest(try #require(request.body)), keyID: name ?? app.handleText,
      created: now, nonce: ReplayKey.fresh(), byInstallation: key.signature)
    request.fields = head.fields
    request.installationKey = try key.identity().point
    return request
  }

  @Test("A route that demands the installation's key gets it, beside the proof of the gate's key")
  func honest() throws {
    let folder = TestFolder()
    let key = StoredInstallationKey(folder: folder.path("app"))
    let other = StoredInstallationKey(folder: folder.path("other"))
    let gate = try Gate()
    let app = try GateApp(at: gate)
    let verifier = try gate.verifier()
    var route = RequestRoute(Gate.host)
    route.needsInstallationKey = true
    let plain = verifier.judge(try app.standard(), on: route)
    #expect(plain.rejection == .request(.noSignature))
    let judged = verifier.judge(try Self.signed(app, by: key), on: route)
    #expect(judged.verdict?.isSignedByInstallation == true)
    // Another key, a key that is not known, another installation's name, another request.
    var request = try Self.signed(app, by: key)
    request.installationKey = try other.identity().point
    #expect(verifier.judge(request, on: route).rejection == .request(.wrongSignature))
    request.installationKey = nil
    #expect(verifier.judge(request, on: route).rejection == .request(.unknownKey))
    request = try Self.signed(app, by: key, name: GateApp(at: gate).handleText)
    #expect(verifier.judge(request, on: route).rejection == .request(.unknownKey))
    let donor = try Self.signed(app, by: key)
    request = try app.standard("POST", "/pay?to=8")
    try request.fields.set(
      "Signature-Input",
      (donor.fields.values(of: "signature-input").suffix(1)
        + request.fields.values(of: "signature-input")).joined(separator: ", "))
    try request.fields.set(
      "Signature",
      (donor.fields.values(of: "signature").suffix(1)
        + request.fields.values(of: "signature")).joined(separator: ", "))
    request.installationKey = donor.installationKey
    #expect(verifier.judge(request, on: route).rejection == .request(.wrongSignature))
    // One signature does not stand for the other.
    let without = verifier.judge(try Self.signed(app, by: key), on: RequestRoute(Gate.host))
    #expect(without.verdict?.isSignedByInstallation == false)
  }
}

// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// A gate's own credential, with which it fetches its configuration and nothing else.
@Suite struct GateCredentialTests {
  private let world: GateBench
  private let credential: String

  init() throws {
    world = try GateBench()
    credential = try world.bench.management.addGateCredential(for: GateBench.name).text
  }

  private func ask(
    _ token: String?, tag: String? = nil, method: String = "GET",
    path: String = "/v1/gate/configuration"
  ) -> HTTPResponse {
    var headers: [String: String] = [:]
    if let token { headers["authorization"] = "Bearer \(token)" }
    if let tag { headers["if-none-match"] = tag }
    return world.bench.service.respond(
      to: HTTPRequest(method: method, path: path, headers: headers, peer: "192.0.2.9"))
  }

  @Test func `the credential fetches the configuration of its gate`() throws {
    let answer = ask(credential)
    #expect(answer.status == 200 && answer.headers["cache-control"] == "no-store")
    let token = try UnverifiedToken(reading: String(decoding: answer.body, as: UTF8.self))
    #expect(token.type == "gate+jwt" && token.payload.text("nam") == GateBench.name)
    #expect(ask(credential, method: "POST").status == 405)
  }

  @Test func `nothing is sent twice within a quarter of an hour, unless something has changed`()
    throws
  {
    // Handing out the next keys is a change of its own, which the first question makes.
    _ = ask(credential)
    let tag = try #require(ask(credential).headers["etag"])
    let again = ask(credential, tag: tag)
    #expect(again.status == 304 && again.body.isEmpty && again.headers["etag"] == tag)
    try world.bench.management.changeGate(GateBench.name, settings(life: 120))
    let changed = ask(credential, tag: tag)
    #expect(changed.status == 200 && changed.headers["etag"] != tag)
    let next = try #require(changed.headers["etag"])
    #expect(ask(credential, tag: next).status == 304)
    world.bench.clock.advance(by: 900)
    let later = ask(credential, tag: next)
    #expect(later.status == 200, "its age must tell how long the service has been gone")
  }

  private func settings(life: Int) -> GateSettings {
    var settings = GateSettings()
    settings.life = life
    return settings
  }

  @Test func `no other token fetches it, and the credential does nothing else`() throws {
    #expect(ask(nil).status == 401 && ask("").status == 401 && ask("x").status == 401)
    #expect(ask(world.bench.managementToken).status == 401)
    let role = try world.bench.management.addManagementToken("tool", role: .gate)
    #expect(ask(role).status == 401, "the role names no gate")
    for verb in ["gate/configuration", "gate/list", "gate/credential", "management/list"] {
      let answer = ask(credential, method: "POST", path: "/v1/manage/\(verb)")
      #expect(answer.status == 403, "\(verb)")
    }
  }

  @Test func `a credential is replaced, revoked, and ends with its gate`() throws {
    let management = world.bench.management
    let changed = try management.changeManagementToken("gate.door")
    #expect(ask(credential).status == 401 && ask(changed).status == 200)
    let second = try management.addGateCredential(for: GateBench.name, named: "node-2")
    #expect(ask(second.text).status == 200)
    try management.removeManagementToken("gate.door")
    #expect(ask(changed).status == 401 && ask(second.text).status == 200)
    #expect(throws: ServiceError.self) {
      try management.addGateCredential(for: GateBench.name, named: "node-2")
    }
    #expect(throws: ServiceError.self) { try management.addGateCredential(for: "none") }
    let shown = try management.managementTokens().first { $0.name == "node-2" }
    #expect(shown?.gate == GateBench.name && shown?.role == .gate)
    try management.removeAPI(GateBench.host)
    try management.removeGate(GateBench.name)
    try management.addGate(
      GateBench.name, publicKey: GateBench.publicKey(of: world.secretKey))
    #expect(ask(second.text).status == 401, "a later gate of the name must not meet it")
  }
}

// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Management tokens, each with a role.
@Suite struct ManagementRoleTests {
  private func status(_ bench: Bench, _ verb: String, _ token: String) -> Int {
    bench.service.respond(
      to: HTTPRequest(
        method: "POST", path: "/v1/manage/\(verb)", headers: ["authorization": "Bearer \(token)"],
        body: [], peer: "192.0.2.9")
    ).status
  }

  @Test(arguments: [
    (ManagementRole.read, ["api/list", "metrics/show", "hardware/list", "secret/list"]),
    (.hardware, ["hardware/list", "hardware/sealed-secret"]), (.gate, ["gate/configuration"]),
    (
      .enrol, ["registration/list", "registration/add", "registration/remove", "sdk/config-string"]
    ),
  ])
  func `a role covers its verbs, and no other`(_ role: ManagementRole, _ covered: [String]) throws {
    let bench = try Bench(policy: [.addressRate: "0"])
    let token = try bench.management.addManagementToken("x", role: role)
    for verb in covered { #expect(status(bench, verb, token) != 403, "\(verb)") }
    let verbs = [
      "secret/get", "secret/keys", "secret/next", "sealing/get", "customkey/keys", "messagekey/get",
      "devkey/get", "keyset/get", "keyset/add", "api/add", "api/change", "policy/set", "pin/force",
      "sdk/new", "sdk/revoke", "hardware/add", "hardware/revoke", "hardware/change",
      "hardware/sealed-secret", "hardware/factory-key", "hardware/replace-factory-key",
      "string/set", "device/pass",
      "token/example", "management/add", "management/change", "config/change-key", "none/none",
      "config/retire-keys", "api/list ", "", "gate/add", "gate/rotate", "gate/revoke",
      "gate/configuration", "event/add", "challenge/add", "challenge/remove", "gate/watch",
      "risk/add", "risk/remove",
    ]
    for verb in verbs where !covered.contains(verb) {
      #expect([403, 404].contains(status(bench, verb, token)), "\(verb)")
    }
    #expect(bench.service.metrics[.managementRefused] >= 20)
    #expect(status(bench, "secret/get", bench.managementToken) == 200)
  }

  @Test func `verbs of the role that reads change nothing`() throws {
    let bench = try Bench(policy: [.addressRate: "0"])
    let token = try bench.management.addManagementToken("x", role: .read)
    let before = try bench.store.revision()
    for verb in ["api/list", "keyset/jwks", "config/show", "policy/show", "sealing/list"] {
      #expect(status(bench, verb, token) == 200, "\(verb)")
    }
    #expect(try bench.store.revision() == before)
  }

  @Test func `tokens are replaced one after the other, and one that covers all stays`() throws {
    let bench = try Bench()
    let management = bench.management
    #expect(try management.managementTokens().map(\.name) == ["owner"])
    #expect(throws: ServiceError.self) { try management.removeManagementToken("owner") }
    _ = try management.addManagementToken("ci", role: .enrol)
    #expect(throws: ServiceError.self) { try management.removeManagementToken("owner") }
    let second = try management.addManagementToken("second", role: .all)
    #expect(throws: ServiceError.self) { try management.addManagementToken("ci", role: .all) }
    try management.removeManagementToken("owner")
    #expect(status(bench, "api/list", bench.managementToken) == 401)
    #expect(status(bench, "api/list", second) == 200)
    let third = try management.changeManagementToken("second")
    #expect(status(bench, "api/list", second) == 401 && status(bench, "api/list", third) == 200)
    for name in ["", "a b", String(repeating: "a", count: 65), "ä"] {
      #expect(throws: ServiceError.self) { try management.addManagementToken(name, role: .read) }
    }
  }

  @Test func `the one token of an account of before is the owner's`() throws {
    let bench = try Bench()
    let hash = CoreSodium.hash(ManagementToken.label, Array("old token".utf8))
    var fields = JSONObject()
    fields.set("hash", hash)
    try bench.store.apply([AccountDocument.management.put(fields)])
    #expect(status(bench, "api/list", "old token") == 200)
    _ = try bench.management.addManagementToken("ci", role: .enrol)
    #expect(status(bench, "api/list", "old token") == 200)
    #expect(try bench.management.managementTokens().map(\.name) == ["owner", "ci"])
  }
}

// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite struct StringKeyTests {
  private static let rate: [PolicySetting: String] = [.secureStrings: "on", .deviceRate: "0"]

  private func keys(_ bench: Bench, _ app: TestApp? = nil) throws -> [StringKey] {
    let answer = try bench.attest(app ?? bench.app, AttestationReport.Subject(.stringKey))
    guard answer.outcome == .done else { return [] }
    return answer.stringKeys
  }

  @Test func `an installation's key is the same after a restart and an update of the app`() throws {
    let bench = try Bench(policy: Self.rate)
    let key = try keys(bench)
    #expect(key.count == 1)
    var updated = bench.app
    updated.evidence[TestApp.Name(.app, 3, "rules")] = Digest(hashing: [9])
    try bench.management.register(updated.digest, name: "door 1.1")
    #expect(try keys(bench, updated) == key)
    // The service keeps nothing for an installation.
    #expect(try bench.store.rows(of: .deviceString) == [])
    let again = AttestationService(
      account: try Account.open(in: bench.store, with: keyFile()), clock: bench.clock.clock)
    let challenge = try bench.challenge(bench.app, .stringKey)
    let report = try bench.app.report(.init(.stringKey), answering: challenge)
    let response = again.respond(
      to: HTTPRequest(method: "POST", path: "/v1/report", body: report, peer: "192.0.2.7"))
    let answer = try AttestationAnswer(
      response.body, to: challenge.draft.salt, with: bench.app.key)
    #expect(answer.stringKeys == key)
  }

  @Test func `each installation and each account has a key of its own`() throws {
    let bench = try Bench(policy: Self.rate)
    var other = bench.app
    other.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [2])
    let all = try [keys(bench), keys(bench, other), keys(Bench(policy: Self.rate))].flatMap { $0 }
    #expect(all.count == 3 && all[0] != all[1] && all[1] != all[2] && all[0] != all[2])
    #expect(Set(all.map(\.id)).count == 3)
  }

  @Test func `a failing app gets a well-formed key, the same each time, that is not the real one`()
    throws
  {
    let bench = try Bench(policy: Self.rate.merging([.rejectionReasons: "off"]) { $1 })
    let real = try keys(bench)
    try bench.management.rotateStringKey()
    let both = try keys(bench)
    #expect(both.count == 2 && both[1] == real[0])
    func body() throws -> [UInt8] {
      let challenge = try bench.challenge(bench.app, .stringKey)
      let report = try bench.app.report(.init(.stringKey), answering: challenge)
      return bench.post("/v1/report", report).body
    }
    let passing = try body()
    try bench.management.set(.fail, for: bench.app.device)
    let failing = try keys(bench)
    #expect(failing.count == 2 && Set(failing + both).count == 4)
    #expect(try keys(bench) == failing)
    // The answers have the same outcome, serials and sizes.
    let refused = try body()
    #expect(refused.count == passing.count)
    #expect(refused[20...].prefix(18) == passing[20...].prefix(18))
    try bench.management.set(nil, for: bench.app.device)
    #expect(try keys(bench) == both)
  }

  @Test func `an account without secure strings gives no app a key`() throws {
    let bench = try Bench(policy: [.deviceRate: "0"])
    for decision in [nil, DeviceRule.Decision.fail] {
      try bench.management.set(decision, for: bench.app.device)
      let answer = try bench.attest(bench.app, AttestationReport.Subject(.stringKey))
      #expect(answer.outcome == .disabled && answer.stringKeys.isEmpty)
    }
  }

  @Test func `a rotation gives both keys until the earlier one is retired`() throws {
    let bench = try Bench(policy: Self.rate.merging([.deviceRetention: "10"]) { $1 })
    let first = try keys(bench)
    try bench.management.rotateStringKey()
    let both = try keys(bench)
    #expect(both.count == 2 && both[1] == first[0] && both[0] != first[0])
    #expect(throws: ServiceError.self) { try bench.management.rotateStringKey() }
    let early = #expect(throws: ServiceError.self) { try bench.management.retireStringKey() }
    #expect(early?.description.contains("864000 seconds") == true)
    bench.clock.advance(by: 864_000)
    try bench.management.retireStringKey()
    #expect(try keys(bench) == [both[0]])
    #expect(throws: ServiceError.self) { try bench.management.retireStringKey() }
    try bench.management.rotateStringKey()
    try bench.management.retireStringKey(atOnce: true)
    let last = try keys(bench)
    #expect(last.count == 1 && last[0] != both[0])
  }

  @Test func `an account of before gets its secret when it is opened, once`() throws {
    let bench = try Bench(policy: Self.rate)
    try bench.store.apply([.remove(.account, "stringKey")])
    #expect(bench.get("/health").status == 503)
    _ = try Account.open(in: bench.store, with: keyFile())
    let key = try keys(bench)
    _ = try Account.open(in: bench.store, with: keyFile())
    #expect(try keys(bench) == key && key.count == 1)
  }

  @Test func `the verbs list, rotate and retire, and show no secret`() throws {
    let bench = try Bench(policy: Self.rate)
    func ask(_ verb: String) throws -> String { try bench.management.perform(verb).text }
    #expect(try ask("stringkey/list").contains(#""state":"active""#))
    #expect(try ask("stringkey/rotate").contains(#""state":"active""#))
    let list = try ask("stringkey/list")
    #expect(list.contains(#""state":"old""#) && list.contains("until") && !list.contains("key\":"))
    #expect(throws: ServiceError.self) { try bench.management.perform("stringkey/retire") }
    #expect(throws: ServiceError.self) { try bench.management.perform("stringkey/get") }
    #expect(ManagementRole.read.covers("stringkey/list"))
    #expect(!ManagementRole.read.covers("stringkey/rotate"))
  }
}

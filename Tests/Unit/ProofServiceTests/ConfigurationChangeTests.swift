// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Changes of the configuration, its damage, and the configuration that a gate fetches by itself.
@Suite struct ConfigurationChangeTests {
  @Test func `a change of the configuration has the time of the change and the next serial`() throws
  {
    let bench = try Bench()
    let before = try bench.management.configuration()
    bench.clock.advance(by: 7)
    try bench.management.setURL("https://b.example.com")
    let after = try bench.management.configuration()
    #expect(after.changed == before.changed + 7 && after.serial == before.serial + 1)
    #expect(after.changed == bench.clock.now)
  }

  @Test func `a document that is missing or none is damage, and is not replaced`() throws {
    let bench = try Bench()
    let management = bench.management
    let configuration = AccountDocument.configuration
    let row = try #require(try bench.store.row("configuration", of: .account))
    guard case .object(let fields) = try JSONValue(parsing: row.span) else { return }
    for name in ["", "key", "serial", "url"] {
      var damaged = fields
      damaged[name] = nil
      try bench.store.apply([
        name == "" ? .remove(.account, "configuration") : configuration.put(damaged)
      ])
      let revision = try bench.store.revision()
      #expect(throws: ServiceError.damaged("document “configuration”"), "\(name)") {
        try management.setServicePins([])
      }
      #expect(try bench.store.revision() == revision)
    }
    try bench.store.apply([configuration.put(fields)])
    try management.setServicePins([])
    for (name, body) in [
      ("policy", { try management.changePolicy { $0.tokenLifetime = 60 } }),
      ("management", { _ = try management.changeManagementToken() }),
      ("saltKey", { try management.rotateSaltKey() }),
      ("stringKey", { try management.rotateStringKey() }),
    ] as [(String, () throws -> Void)] {
      let row = try #require(try bench.store.row(name, of: .account))
      try bench.store.apply([.remove(.account, name)])
      #expect(throws: ServiceError.damaged("document “\(name)”")) { try body() }
      #expect(try bench.store.row(name, of: .account) == nil)
      try bench.store.apply([.put(.account, name, row)])
      try body()
    }
  }

  @Test func `the key of a build is handed to tools, and builds are told by their key`() throws {
    let bench = try Bench()
    let id = bench.app.key.id
    #expect(try bench.management.measurementProofKey(id).id == id)
    let none = try KeyID([UInt8](repeating: 9, count: 8))
    #expect(throws: ServiceError.unknown("SDK build", name: none.description)) {
      try bench.management.measurementProofKey(none)
    }
    for count in [0, 15, 17] {
      #expect(
        throws: ServiceError.invalid(
          "size of the measurement proof key", value: "\(count) bytes", allowed: "16")
      ) {
        try bench.management.addSDKBuild(
          key: secret([UInt8](repeating: 3, count: count)), name: "", mode: .production)
      }
    }
    #expect(throws: ServiceError.alreadyThere("SDK build", name: id.description)) {
      try bench.management.addSDKBuild(
        key: secret([UInt8](1...16)), name: "again", mode: .production)
    }
  }

  // MARK: The configuration that a gate fetches

  private func fetch(
    _ bench: Bench, _ authorization: String?, tag: String? = nil
  ) -> HTTPResponse {
    var headers: [String: String] = [:]
    if let authorization { headers["authorization"] = authorization }
    if let tag { headers["if-none-match"] = tag }
    return bench.service.respond(
      to: HTTPRequest(
        method: "GET", path: "/v1/gate/configuration", headers: headers, peer: "192.0.2.9"))
  }

  /// An account with a gate, its credential, and its log.
  private func gate() throws -> (bench: Bench, credential: String, log: HandLog) {
    let log = HandLog()
    let bench = try Bench(policy: [.addressRate: "0"], log: log)
    try bench.management.addGate(
      "door", publicKey: GateBench.publicKey(of: [UInt8](repeating: 0x42, count: 32)))
    return (bench, try bench.management.addGateCredential(for: "door").text, log)
  }

  private func lines(_ log: HandLog) -> [String] {
    log.all.map { event in
      ([event.name] + event.details.map { "\($0.name)=\($0.value)" }).joined(separator: " ")
    }
  }

  @Test func `each configuration that a gate fetches is logged, and each refusal`() throws {
    let (bench, credential, log) = try gate()
    let refused = [nil, "", "Bearer", "Bearer ", "bearer \(credential)", credential, "Bearer x"]
    for authorization in refused {
      let answer = fetch(bench, authorization)
      #expect(answer.status == 401)
      #expect(
        String(decoding: answer.body, as: UTF8.self)
          == "Show the gate's credential as a bearer token.\n")
    }
    #expect(
      lines(log)
        == refused.map { _ in "gate configuration outcome=refused peer=192.0.2.9" })
    #expect(bench.service.metrics[.managementRefused] == refused.count)
    #expect(bench.service.metrics[.management] == 0)
    let answer = fetch(bench, "Bearer \(credential)")
    let tag = try #require(answer.headers["etag"])
    #expect(
      answer.headers == [
        "content-type": "application/jose", "cache-control": "no-store", "etag": tag,
      ])
    #expect(lines(log).last == "gate configuration outcome=done gate=door token=gate.door")
    let count = log.all.count
    let same = fetch(bench, "Bearer \(credential)", tag: tag)
    #expect(same.status == 304 && same.headers == ["etag": tag, "cache-control": "no-store"])
    // The answer that nothing has changed is counted, and no line of the log.
    #expect(bench.service.metrics[.management] == 2 && log.all.count == count)
  }

  @Test func `a configuration is made anew after 900 seconds, and no sooner`() throws {
    let (bench, credential, _) = try gate()
    // 1,800,000,000 seconds are the begin of a period.
    let tag = fetch(bench, "Bearer \(credential)").headers["etag"]
    let revision = try bench.store.revision()
    #expect(tag == "\"door.\(revision).2000000\"")
    for seconds in [1, 898] as [Int64] {
      bench.clock.advance(by: seconds)
      #expect(fetch(bench, "Bearer \(credential)", tag: tag).status == 304)
    }
    bench.clock.advance(by: 1)
    let next = fetch(bench, "Bearer \(credential)", tag: tag)
    #expect(next.status == 200 && next.headers["etag"] == "\"door.\(revision).2000001\"")
  }

  @Test func `a gate that is gone has no configuration, and one that is too long says so`() throws {
    let (bench, credential, log) = try gate()
    // More events than 40 KiB have room for.
    var ranges = EventRanges()
    ranges.all = (0..<256).map { number in
      EventRange(number...number, at: "door", for: String(repeating: "a", count: 64))
    }
    let document = AccountDocument.events
    try bench.store.apply([document.put(ranges.fields)])
    #expect(
      throws: ServiceError.invalid(
        "configuration of the gate", value: "too long for a token",
        allowed: "40 KiB with all revocations and events")
    ) { try bench.management.gateConfiguration("door") }
    let failed = fetch(bench, "Bearer \(credential)")
    #expect(failed.status == 503 && bench.service.metrics[.storeFailures] == 1)
    #expect(
      lines(log).last?.hasPrefix("request failed reason=The gate's configuration cannot be made. ")
        == true)
    try bench.store.apply([.remove(.account, document.rawValue)])
    #expect(fetch(bench, "Bearer \(credential)").status == 200)
    try bench.store.apply([.remove(.gate, "door")])
    #expect(fetch(bench, "Bearer \(credential)").status == 404)
    #expect(bench.service.metrics[.storeFailures] == 1)
  }

  @Test func `a verb that no role covers is told by its first 80 characters`() throws {
    let bench = try Bench()
    let reader = try bench.management.addManagementToken("reader", role: .read)
    let response = bench.service.respond(
      to: HTTPRequest(
        method: "POST", path: "/v1/manage/\(Desk.long)/x",
        headers: ["authorization": "Bearer \(reader)"], peer: "192.0.2.9"))
    guard case .object(let object) = try JSONValue(parsing: response.body.span) else { return }
    #expect(response.status == 403)
    #expect(object.text("error")?.contains("cover “\(Desk.cut)”.") == true)
  }
}

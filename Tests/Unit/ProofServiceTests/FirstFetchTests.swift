// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofJOSE
import ProofModel
import Synchronization
import Testing

@testable import ProofService

/// Devices that were never seen: a budget, an alarm, and an end.
@Suite struct FirstFetchTests {
  private func app(_ bench: Bench, _ number: Int) -> TestApp {
    var app = bench.app
    app.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: Array("\(number)".utf8))
    return app
  }

  private func report(_ bench: Bench, _ app: TestApp, peer: String) throws -> HTTPResponse {
    let question = bench.post("/v1/challenge", app.question().bytes, peer: peer)
    #expect(question.status == 200)
    let challenge = try AttestationChallenge(question.body)
    let report = try app.report(.init(.token, name: Bench.api), answering: challenge)
    return bench.post("/v1/report", report, peer: peer)
  }

  @Test func `beyond the account's budget first reports wait, and known devices do not`() throws {
    let bench = try Bench(policy: [.firstFetchRate: "10", .addressRate: "0"])
    // One of each address is let in.
    for number in 0..<10 {
      #expect(try report(bench, app(bench, number), peer: "192.0.2.\(number)").status == 200)
    }
    let refused = try report(bench, app(bench, 99), peer: "192.0.2.99")
    #expect(refused.status == 429 && refused.headers["retry-after"] == "360")
    #expect(bench.service.metrics[.firstFetches] == 10)
    #expect(bench.service.metrics[.firstFetchesRefused] == 1)
    #expect(bench.service.metrics[.parsed] == 10, "what is refused is not read")
    #expect(try bench.store.counts().devices == 10)
    #expect(try report(bench, app(bench, 3), peer: "192.0.2.99").status == 200)
    bench.clock.advance(by: 360)
    #expect(try report(bench, app(bench, 99), peer: "192.0.2.99").status == 200)
    #expect(try report(bench, app(bench, 98), peer: "192.0.2.98").status == 429)
  }

  @Test func `one address gets a tenth of the budget`() throws {
    let bench = try Bench(policy: [.firstFetchRate: "40", .addressRate: "0"])
    for number in 0..<4 {
      #expect(try report(bench, app(bench, number), peer: "2001:db8::\(number)").status == 200)
    }
    #expect(try report(bench, app(bench, 4), peer: "2001:db8::99").status == 429)
    #expect(try report(bench, app(bench, 4), peer: "2001:db8:1::1").status == 200)
  }

  @Test func `a report that is refused for the budget leaves its salt to be used`() throws {
    let bench = try Bench(policy: [.firstFetchRate: "1", .addressRate: "0", .saltLifetime: "600"])
    _ = try bench.attest(bench.app)
    let other = app(bench, 1)
    let challenge = try bench.challenge(other)
    let report = try other.report(.init(.token, name: Bench.api), answering: challenge)
    #expect(bench.post("/v1/report", report).status == 429)
    _ = try bench.management.perform("policy/set", ["first-fetch-rate": "0"])
    #expect(try bench.send(report, challenge.draft.salt, other).outcome == .done)
  }

  @Test func `a refused report does not use the budget`() throws {
    let bench = try Bench(policy: [.firstFetchRate: "1", .addressRate: "0", .deviceRate: "0"])
    for _ in 0..<3 {
      let challenge = try bench.challenge(bench.app)
      var bytes = try bench.app.report(.init(.token, name: Bench.api), answering: challenge)
      bytes[bytes.count - 1] ^= 1
      #expect(try bench.send(bytes, challenge.draft.salt, bench.app).outcome == .unbelievable)
    }
    #expect(try bench.attest(bench.app).outcome == .done)
  }

  @Test func `many first reports of one build raise one alarm an hour`() throws {
    let events = Mutex<[String]>([])
    let plain = try Bench(policy: [.firstFetchAlarm: "3", .addressRate: "0"])
    let service = AttestationService(
      account: plain.account, clock: plain.clock.clock,
      log: { event in
        guard event.name == "first fetches" else { return }
        events.withLock { $0.append(event.details.map(\.value).joined(separator: " ")) }
      })
    func fetch(_ number: Int) throws {
      let one = app(plain, number)
      let question = HTTPRequest(
        method: "POST", path: "/v1/challenge", body: one.question().bytes, peer: "192.0.2.1")
      let challenge = try AttestationChallenge(service.respond(to: question).body)
      let report = try one.report(.init(.token, name: Bench.api), answering: challenge)
      let answer = service.respond(
        to: HTTPRequest(method: "POST", path: "/v1/report", body: report, peer: "192.0.2.1"))
      #expect(answer.status == 200)
    }
    for number in 0..<9 { try fetch(number) }
    let id = plain.app.key.id
    #expect(events.withLock { $0 } == ["\(id) 3"])
    #expect(service.metrics[.firstFetchAlarms] == 1)
    plain.clock.advance(by: 3_600)
    for number in 10..<13 { try fetch(number) }
    #expect(events.withLock { $0.count } == 2)
    let text = service.respond(to: HTTPRequest(method: "GET", path: "/metrics", peer: "")).body
    let line = "proof_service_first_fetches_of_build_total{build=\"\(id)\"} 12\n"
    #expect(String(decoding: text, as: UTF8.self).contains(line))
  }

  @Test func `a device that fetches nothing for so many days is forgotten`() throws {
    let bench = try Bench(policy: [
      .deviceRetention: "2", .secureStrings: "on", .addressRate: "0",
    ])
    for _ in 0..<3 {
      _ = try bench.attest(bench.app, .measurement, name: Bench.lockAPI)
    }
    let defining = AttestationReport.Subject(.secureString, name: "n", payload: [1, 65])
    #expect(try bench.attest(bench.app, defining).secureString == "A")
    bench.clock.advance(by: 2 * 86_400 - 1)
    _ = try bench.attest(app(bench, 1))
    #expect(try bench.store.counts().devices == 2)
    bench.clock.advance(by: 60)
    _ = try bench.attest(app(bench, 2))
    #expect(try bench.store.device(bench.app.device) == nil)
    #expect(try bench.store.rows(of: .deviceString) == [])
    #expect(bench.service.metrics[.devicesDropped] == 1)
    // It is new again, and yet no generation comes a second time.
    let challenge = try bench.challenge(bench.app, .measurement)
    #expect(challenge.draft.generation == 4)
    let code = try bench.management.read(responseCode: bench.attest(bench.app).responseCode)
    #expect(code.properties.contains(.firstFetch))
  }

  @Test func `a device is kept as long as clones are looked for, and without a retention for ever`()
    throws
  {
    for (days, window, isKept) in [
      ("1", "864000", true), ("1", "86400", false), ("0", "60", true),
    ] {
      let bench = try Bench(policy: [.deviceRetention: days, .cloneWindow: window])
      _ = try bench.attest(bench.app)
      bench.clock.advance(by: 9 * 86_400)
      _ = try bench.attest(app(bench, 1))
      #expect(try (bench.store.device(bench.app.device) != nil) == isKept, "\(days) \(window)")
    }
  }

  @Test func `a device remembers the latest machines, four times four, and no more`() throws {
    let bench = try Bench(policy: [.cloneWindow: "60", .deviceRate: "0"])
    func attest(_ number: Int) throws -> ResponseCode {
      var app = bench.app
      app.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: [UInt8(number)])
      return try bench.management.read(responseCode: bench.attest(app).responseCode)
    }
    var sizes: [Int] = []
    for number in 0..<18 {
      _ = try attest(number)
      let row = try #require(try bench.store.device(bench.app.device))
      let note = try #require(DeviceNote(row.note))
      #expect(note.machines.count == min(number + 1, DeviceNote.machineMax))
      sizes.append(note.machines.count)
      bench.clock.advance(by: 1)
    }
    let row = try #require(try bench.store.device(bench.app.device))
    let kept = try #require(DeviceNote(row.note))
    #expect(kept.machines.map(\.lastSeen) == kept.machines.map(\.lastSeen).sorted(by: >))
    #expect(kept.machines.first?.lastSeen == bench.clock.now - 1)
    #expect(try attest(17).properties.contains(.clonedStorage))
    bench.clock.advance(by: 61)
    #expect(try !attest(17).properties.contains(.clonedStorage))
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

@Suite("Withheld facts")
struct WithheldTests {
  private func passes(_ bench: Bench, _ app: TestApp) throws -> Bool {
    let answer = try bench.attest(app)
    return (try? bench.claims(answer.token)) != nil
  }

  private func app(_ bench: Bench, _ mode: CollectionMode) -> TestApp {
    var app = bench.app
    app.withheld = mode
    return app
  }

  @Test func `a challenge asks for nothing that the question withholds`() throws {
    let bench = try Bench()
    for raw in 0...7 as ClosedRange<UInt8> {
      let mode = CollectionMode(rawValue: raw)
      let asked = try bench.challenge(app(bench, mode), .measurement).draft.sources.map(\.id)
      #expect(asked == SourcesAsked.all.map(\.id).filter { !mode.withholds($0) })
    }
  }

  @Test(arguments: [
    (CollectionMode.withoutBasicFacts, "basic", Property.withheldBasic),
    (.withoutUniqueIdentifiers, "unique", .withheldUnique),
    (.withoutExtras, "extra", .withheldExtra),
  ])
  func `the policy decides what withheld facts are worth`(
    mode: CollectionMode, name: String, property: Property
  ) throws {
    let accepting = try Bench(policy: [.withholding: name])
    #expect(try passes(accepting, app(accepting, mode)))
    #expect(try passes(accepting, accepting.app))
    #expect(try !passes(accepting, app(accepting, .notGranted)))
    let refusing = try Bench(policy: [.withholding: "none", .rejectionReasons: "on"])
    let answer = try refusing.attest(app(refusing, mode))
    #expect((try? refusing.claims(answer.token)) == nil)
    #expect(answer.rejectionReasons == property.name)
    let code = try refusing.management.read(responseCode: answer.responseCode)
    #expect(!code.isPassed && code.properties.contains(property))
    let all = try Bench(policy: [.withholding: "all"])
    #expect(try passes(all, app(all, .notGranted)))
  }

  @Test func `unless an operator says otherwise, unique identifiers may not be withheld`() throws {
    let bench = try Bench()
    #expect(try passes(bench, app(bench, [.withoutBasicFacts, .withoutExtras])))
    #expect(try !passes(bench, app(bench, .withoutUniqueIdentifiers)))
    #expect(throws: ServiceError.self) {
      var policy = Policy()
      try policy.set(.withholding, to: "serials")
    }
    #expect(Policy()[.withholding] == "basic,extra")
  }

  @Test func `a report must withhold what its question did`() throws {
    let bench = try Bench(policy: [.withholding: "all"])
    let modes: [(CollectionMode, CollectionMode)] = [
      ([], .withoutExtras), (.withoutExtras, []), (.withoutExtras, .notGranted),
    ]
    for (asked, told) in modes {
      let challenge = try bench.challenge(app(bench, asked), .token)
      let teller = app(bench, told)
      let subject = AttestationReport.Subject(.token, name: Bench.api)
      let report = try teller.report(subject, answering: challenge)
      #expect(try bench.send(report, challenge.draft.salt, teller).outcome == .unbelievable)
    }
  }

  @Test func `a device is the same under each mode, and its note says what was withheld`() throws {
    let bench = try Bench(policy: [.withholding: "all"])
    for mode in [[], .notGranted, .withoutUniqueIdentifiers, .withoutBasicFacts, []]
      as [CollectionMode]
    {
      #expect(try passes(bench, app(bench, mode)), "\(mode)")
      let device = try bench.management.device(named: "latest")
      #expect(device == bench.app.device)
      let row = try #require(try bench.account.store.device(device))
      guard case .object(let note) = try JSONValue(parsing: row.note.span) else {
        Issue.record("the note is no object")
        continue
      }
      #expect(note.text("withheld") == (mode.isEmpty ? nil : mode.text))
    }
  }

  @Test func `a copy on another machine is told as far as both show the same facts`() throws {
    let bench = try Bench(policy: [.withholding: "all"])
    #expect(try passes(bench, bench.app))
    var copy = bench.app
    copy.evidence[TestApp.Name(.device, 2, "processor")] = Digest(hashing: [9])
    copy.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: [9])
    for mode in [.withoutUniqueIdentifiers, .withoutBasicFacts] as [CollectionMode] {
      copy.withheld = mode
      #expect(try !passes(bench, copy), "\(mode)")
    }
    // Nothing in common: the policy accepted that when it allowed to withhold both.
    copy.withheld = .notGranted
    #expect(try passes(bench, copy))
  }

  @Test func `reports of a copy under every mode do not push the first machine out`() throws {
    let bench = try Bench(policy: [.withholding: "all"])
    #expect(try passes(bench, bench.app))
    var copy = bench.app
    copy.evidence[TestApp.Name(.device, 2, "processor")] = Digest(hashing: [9])
    copy.evidence[TestApp.Name(.device, 1, "machine-id")] = Digest(hashing: [9])
    for raw in [7, 6, 5, 3, 2, 1, 0] as [UInt8] {
      copy.withheld = CollectionMode(rawValue: raw)
      _ = try bench.attest(copy)
    }
    copy.withheld = []
    #expect(try !passes(bench, copy))
  }
}

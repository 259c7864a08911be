// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// Values and moments of attestations: response codes, sources, budgets, times that are due.
@Suite struct AttestationValueTests {
  /// Made with another implementation (Python's hashlib). Codes in old logs stay readable.
  @Test(
    arguments: [
      (true, 0x0, 0x0, "KQYVSH5ROR"), (false, 0x1, 0x0, "PMQYJT7WWT"),
      (false, 0x0, 0xFFF, "GTS2D5I5SI"), (true, 0x3FF_FFFF, 0x1ABC, "RSI4FNKL24"),
      (false, 0x20_0000, 0x1, "6Y3PCXUZIH"), (true, 0x40_0000, 0x2, "JQFKFBGDQ6"),
      (false, 0x200_0000, 0x800, "IHDYDVL6PG"), (true, 0x2AA_AAAA, 0x555, "YFBUYL2OOB"),
    ] as [(Bool, UInt32, UInt64, String)])
  func `a response code is the one of another implementation`(
    _ isPassed: Bool, _ bits: UInt32, _ noise: UInt64, _ text: String
  ) {
    let key = secret([UInt8](1...32))
    let code = ResponseCode(isPassed: isPassed, properties: Properties(rawValue: bits))
    #expect(code.text(key: key, noise: noise) == text)
    #expect(code.text(key: key, noise: noise | 0x1000) == text, "12 bits of noise count")
    #expect(ResponseCode(text, key: key) == code)
    #expect(ResponseCode(text.lowercased(), key: key) == code)
  }

  @Test func `apps are asked for the sources of PROBE.md, in their versions`() throws {
    let expected: [(EvidenceClass, ClosedRange<UInt8>, later: [UInt8])] = [
      (.device, 1...5, [4]), (.app, 1...4, []), (.environment, 1...10, [1, 6]),
    ]
    let ids = try expected.flatMap { row in try row.1.map { try SourceID(row.0, $0) } }
    #expect(SourcesAsked.all.map(\.id) == ids)
    for (evidenceClass, _, later) in expected {
      for source in SourcesAsked.all where source.id.evidenceClass == evidenceClass {
        #expect(source.version == (later.contains(source.id.number) ? 2 : 1), "\(source.id)")
      }
    }
    // Each of 64 shards of the bundle has a leaf; a configuration has 128 at most.
    let bundle = try SourceID(.app, 3)
    #expect(SourcesAsked.all.first { $0.id == bundle }?.groupCount == 64)
    #expect(SourcesAsked.all.map(\.groupCount).reduce(0, +) <= 128)
    // A change of groups makes each open challenge stale, so it is made on purpose.
    let groups: [UInt8] = [0, 0, 2, 0, 0, 4, 0, 6, 0, 2, 2, 0, 3, 0, 3, 1, 0, 0, 0]
    #expect(SourcesAsked.all.map(\.groupsLog2) == groups)
    for purpose in AttestationPurpose.allCases {
      let asked = SourcesAsked.sources(for: purpose)
      #expect(asked.map(\.id) == ids && asked.map(\.version) == SourcesAsked.all.map(\.version))
      #expect(
        asked.map(\.groupsLog2)
          == (purpose == .measurement ? groups : groups.map { _ in 0 }))
    }
    let less = SourcesAsked.sources(
      for: .measurement, without: try LeftOutSources(parsing: "3/4"), withheld: .withoutExtras)
    #expect(
      less.map(\.id)
        == ids.filter { id in
          id != ids[12] && !CollectionMode.withoutExtras.withholds(id)
        })
  }

  // MARK: Budgets

  @Test func `an address has a tenth of the first reports, rounded up, and one at least`() {
    for (rate, part) in [(1, 1), (9, 1), (10, 1), (11, 2), (20, 2), (21, 3), (100, 10)] {
      let fetches = FirstFetches()
      func wait(_ network: UInt8, isTaken: Bool = true, at now: UnixTime = 1_000) -> Int? {
        fetches.wait(for: [network], rate: rate, at: now, isTaken: isTaken)
      }
      for _ in 0..<5 { #expect(wait(1, isTaken: false) == nil) }
      for number in 0..<part { #expect(wait(1) == nil, "\(rate) \(number)") }
      #expect(wait(1) == (3_600 + part - 1) / part && wait(1, isTaken: false) != nil)
      if rate > part { #expect(wait(2) == nil) }
    }
    let free = FirstFetches()
    for _ in 0..<100 { #expect(free.wait(for: [1], rate: 0, at: 1, isTaken: true) == nil) }
  }

  @Test func `first reports are counted by build and hour, and the one that reaches it alarms`()
    throws
  {
    let fetches = FirstFetches()
    let (one, other) = (
      try KeyID([UInt8](repeating: 1, count: 8)), try KeyID([UInt8](repeating: 2, count: 8))
    )
    #expect(fetches.text == "")
    func alarms(_ times: [UnixTime], _ build: KeyID, _ alarm: Int = 2) -> [Bool] {
      times.map { fetches.count(build, alarm: alarm, at: $0) }
    }
    #expect(alarms([1_000, 4_599, 4_599], one) == [false, true, false])
    #expect(alarms([4_600, 4_600, 8_199, 8_200, 8_200], one) == [false, true, false, false, true])
    // A clock that was set back begins another hour.
    #expect(alarms([8_199, 8_199], one) == [false, true])
    #expect(alarms([5, 5, 5], other, 0) == [false, false, false])
    #expect(alarms([5], other, 4) == [true] && alarms([5], other, 1) == [false])
    let name = "proof_service_first_fetches_of_build_total"
    #expect(
      fetches.text == "# TYPE \(name) counter\n\(name){build=\"\(one)\"} 10\n"
        + "\(name){build=\"\(other)\"} 5\n")
  }

  @Test func `a fetch that takes pairs reserves three generations, unless the numbers end`() {
    for (base, last) in [
      (1, 4), (70_000, 70_003), (.max - 4, .max - 1), (.max - 3, .max - 3), (.max - 2, .max - 2),
      (.max - 1, .max - 1),
    ] as [(UInt32, UInt32)] { #expect(Predictions.reserved(from: base) == last, "\(base)") }
  }

  @Test func `a time is due at first, after its seconds, and when the clock was set far back`() {
    let due = DueTime(every: 10)
    for (now, isDue) in [
      (100, true), (100, false), (109, false), (110, true), (119, false), (110, false),
      (109, true), (118, false), (50, true), (200, true), (209, false), (190, true),
    ] as [(UnixTime, Bool)] { #expect(due.isDue(at: now) == isDue, "\(now)") }
  }

  // MARK: Findings

  private func seen(_ properties: [AttestationReport.Property]) throws -> Properties {
    let bench = try Bench()
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = properties
    let answer = try bench.attest(bench.app, subject)
    var seen = try bench.management.read(responseCode: answer.responseCode).properties
    seen.subtract(Properties([.firstFetch]))
    return seen
  }

  @Test func `each finding of the SDK has the property of its source, whatever its words`() throws {
    for (source, property) in [
      ("2.1", .patched), ("3.1", .debug), ("3.2", .preload), ("3.3", .injected),
      ("3.4", .injected), ("3.5", .patched), ("3.6", .hooked), ("3.7", .emulator),
    ] as [(String, Property)] {
      for name in ["finding.\(source)", "finding.\(source).a.b"] {
        #expect(try seen([.init(name, "")]) == Properties([property]), "\(name)")
      }
    }
    for name in [
      "finding.2", "finding", "finding.2.2", "finding.3.8", "finding.1.1", "finding.03.1",
      "found.3.1", "xfinding.3.1", "finding.3.11",
    ] {
      #expect(try seen([.init(name, "x")]) == [], "\(name)")
    }
    for (name, value, property) in [
      ("root", "true", .root), ("root", "1", .root), ("root", "yes", nil), ("root", "", nil),
      ("launch", "other", .automatedLaunch), ("launch", "terminal", nil), ("roots", "1", nil),
    ] as [(String, String, Property?)] {
      let expected = property.map { Properties([$0]) } ?? []
      #expect(try seen([.init(name, value)]) == expected, "\(name) \(value)")
    }
  }

  // MARK: Installation keys

  @Test func `a report's key is judged by the rule and by the key that the device has`() throws {
    let (own, other) = (
      try InstallationPoint([UInt8](repeating: 3, count: 64)),
      try InstallationPoint([UInt8](repeating: 4, count: 64))
    )
    let known = InstallationKeyNote(own, .storage, since: 5)
    for (claimed, has, rule, expected) in [
      (nil, false, .any, []), (nil, false, .signed, [.installationKeyMissing]),
      (nil, false, .hardware, [.installationKeyMissing]),
      (nil, true, .any, [.installationKeyMissing]), (own, true, .any, []),
      (own, false, .any, []), (own, true, .signed, []),
      (own, true, .hardware, [.installationKeyUnproved]),
      (other, true, .any, [.installationKeyChanged]),
      (other, true, .hardware, [.installationKeyChanged, .installationKeyUnproved]),
    ] as [(InstallationPoint?, Bool, InstallationKeyRule, [Property])] {
      let sighting = InstallationKeySighting(
        claimed.map { InstallationClaim($0, in: .storage) }, isProved: false,
        known: has ? known : nil, under: rule, at: 9)
      #expect(sighting.properties == Properties(expected), "\(rule) \(expected)")
      let note = has ? known : claimed.map { InstallationKeyNote($0, .storage, since: 9) }
      #expect(sighting.note == note)
    }
    for kind in [InstallationKeyNote.Kind.storage, .unproved, .tpm] {
      let note = InstallationKeyNote(own, kind, since: 7)
      #expect(InstallationKeyNote(note.fields) == note)
      for name in note.fields.members.map(\.name) {
        var fields = note.fields
        fields[name] = nil
        #expect(InstallationKeyNote(fields) == nil, "\(name)")
      }
    }
    #expect(InstallationKeyNote.Kind.unproved.rawValue == "tpm-unproved")
  }
}

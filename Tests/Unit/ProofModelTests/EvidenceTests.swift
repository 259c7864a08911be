// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@Suite("Evidence")
struct EvidenceTests {
  let digest = World.digest("something")

  @Test("in any order gives the same set")
  func order() throws {
    let records = try World.evidence().records
    var generator = SeededGenerator(seed: 11)
    for _ in 0..<20 {
      #expect(try EvidenceSet(records.shuffled(using: &generator)).records == records)
    }
  }

  @Test("stands by class, then number, then name, a prefix before its extensions")
  func canonicalOrder() throws {
    let records = try [
      EvidenceRecord(SourceID(.environment, 1), name: "a", digest: nil),
      EvidenceRecord(SourceID(.app, 2), name: "a", digest: nil),
      EvidenceRecord(SourceID(.app, 1), name: "ab", digest: nil),
      EvidenceRecord(SourceID(.app, 1), name: "a", digest: nil),
      EvidenceRecord(SourceID(.app, 1), name: [0xFF], digest: nil),
      EvidenceRecord(SourceID(.device, 255), name: "z", digest: nil),
    ]
    let sorted = try EvidenceSet(records).records.map { EvidenceName($0).description }
    #expect(
      sorted == [
        "device 255 \"z\"", "app 1 \"a\"", "app 1 \"ab\"", "app 1 \"\\xff\"", "app 2 \"a\"",
        "environment 1 \"a\"",
      ])
  }

  @Test("with a name twice is refused, even if the digests are equal")
  func repeated() throws {
    let record = try EvidenceRecord(SourceID(.app, 1), name: "x", digest: digest)
    let other = try EvidenceRecord(SourceID(.app, 1), name: "x", digest: nil)
    #expect(throws: ProofError.evidenceRepeated(EvidenceName(record))) {
      try EvidenceSet([record, record])
    }
    #expect(throws: ProofError.evidenceRepeated(EvidenceName(record))) {
      try EvidenceSet([record, other])
    }
  }

  @Test("has names of 1 to 255 bytes", arguments: [0, 1, 255, 256, 5000])
  func nameLength(count: Int) throws {
    let name = [UInt8](repeating: 0x61, count: count)
    let source = try SourceID(.app, 1)
    if (1...255).contains(count) {
      #expect(try EvidenceRecord(source, name: name, digest: nil).name == name)
    } else {
      #expect(
        throws: ProofError.wrongLength(
          of: "name of source app 1", expected: 1...255, actual: count)
      ) { try EvidenceRecord(source, name: name, digest: nil) }
    }
  }

  @Test("of source 0 is refused")
  func sourceZero() {
    #expect(
      throws: ProofError.outOfRange(field: "source number", value: "0", allowed: "1 to 255")
    ) { try SourceID(.app, 0) }
  }

  @Test("can be told apart by class")
  func classes() throws {
    let evidence = try World.evidence()
    #expect(evidence.records(of: .device).count == 2)
    #expect(evidence.records(of: .app).count == 41)
    #expect(evidence.records(of: .environment).map(\.digest) == [nil])
  }

  @Test("is a line of text, which is read again; no other line is")
  func lines() throws {
    for record in try World.evidence().records {
      let read = try #require(EvidenceRecord(line: record.line))
      #expect(read.source == record.source && read.name == record.name)
      #expect(read.digest == record.digest)
    }
    let record = try EvidenceRecord(SourceID(.app, 2), name: "ab", digest: digest)
    #expect(record.line == "2 2 6162 \(digest)")
    let words = ["2", "2", "6162", digest.description]
    for (place, wrong) in [(0, "0"), (0, "9"), (1, "0"), (1, "256"), (2, ""), (2, "6"), (3, "ab")] {
      var changed = words
      changed[place] = wrong
      #expect(EvidenceRecord(line: changed.joined(separator: " ")) == nil, "\(changed)")
    }
    #expect(EvidenceRecord(line: words.dropLast().joined(separator: " ")) == nil)
    #expect(EvidenceRecord(line: (words + ["2"]).joined(separator: " ")) == nil)
  }

  @Test("with a hostile name cannot forge a line of a log")
  func hostileName() throws {
    let record = try EvidenceRecord(
      SourceID(.app, 1), name: "x\n2026 accepted \"\\ é", digest: nil)
    let shown = EvidenceName(record).description
    #expect(shown.allSatisfy { $0.isASCII && !$0.isNewline })
    #expect(shown == "app 1 \"x\\x0a2026 accepted \\x22\\x5c \\xc3\\xa9\"")
  }
}

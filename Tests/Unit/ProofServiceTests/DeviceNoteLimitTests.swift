// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The limits of a device's note, and the digests of machines that it keeps.
@Suite struct DeviceNoteLimitTests {
  private func isRead(_ more: String) -> Bool {
    DeviceNote(Array(#"{"machines":[]\#(more)}"#.utf8)) != nil
  }

  @Test func `a note is nested 16 deep, has 256 KiB, 16,384 values and numbers of 64 characters`() {
    func nested(_ depth: Int) -> Bool {
      let arrays = depth - 1
      return isRead(
        #","x":"# + String(repeating: "[", count: arrays) + String(repeating: "]", count: arrays))
    }
    #expect(nested(16) && !nested(17))
    func long(_ bytes: Int) -> Bool {
      isRead(String(repeating: " ", count: bytes - #"{"machines":[]}"#.utf8.count))
    }
    #expect(long(262_144) && !long(262_145))
    // The object, two names and two arrays are values, too.
    func values(_ count: Int) -> Bool {
      let numbers = [String](repeating: "1", count: count - 5).joined(separator: ",")
      return isRead(#","x":[\#(numbers)]"#)
    }
    #expect(values(16_384) && !values(16_385))
    func digits(_ count: Int) -> Bool { isRead(#","x":"# + String(repeating: "1", count: count)) }
    #expect(digits(64) && !digits(65))
  }

  private func note(
    _ properties: [AttestationReport.Property], userProperty: String = ""
  ) throws -> [UInt8] {
    let bench = try Bench()
    var subject = AttestationReport.Subject(.token, name: Bench.api)
    subject.properties = properties
    subject.userProperty = userProperty
    _ = try bench.attest(bench.app, subject)
    return try #require(try bench.store.device(bench.app.device)).note
  }

  @Test func `a deletion character is written and counted as six characters`() throws {
    let bytes = try note([], userProperty: "~\u{7F}")
    #expect(String(decoding: bytes, as: UTF8.self).contains(#""userProperty":"~\u007f""#))
    // Three statements of 1,024 bytes leave room for as many: 7 marks, a name, and 169 times six.
    let three = ["a", "b", "c"].map {
      AttestationReport.Property($0, String(repeating: "x", count: 1_016))
    }
    for count in [169, 170] {
      let last = AttestationReport.Property("d", String(repeating: "\u{7F}", count: count))
      #expect(try saidNames(note(three + [last])).contains("d") == (count == 169))
    }
  }

  /// The names of an app's statements in a note.
  private func saidNames(_ note: [UInt8]) throws -> [String] {
    guard case .object(let object) = try JSONValue(parsing: note.span),
      case .object(let said)? = object["said"]
    else { return [] }
    return said.members.map(\.name)
  }

  // MARK: Machines

  private func sight(_ withheld: CollectionMode) throws -> MachineSight {
    let bench = try Bench()
    var app = bench.app
    app.withheld = withheld
    let report = try app.report(
      .init(.token, name: Bench.api), answering: try bench.challenge(app))
    return MachineSight(of: try AttestationReport(report))
  }

  /// Made with another implementation (Python's hashlib). Notes keep the digests for months.
  @Test func `a machine has the digests of another implementation`() throws {
    for (withheld, digest, parts) in [
      ([], "OOdHGYNYjSBBznO4XRypsw==", "U9/62OWNYWg4SUEt/VBKq9Bbu+KMj+OPHiMEfAAVl6g="),
      (
        .withoutBasicFacts, "1LyO0McwjohIsrdzP6Twow==",
        "U9/62OWNYWgAAAAAAAAAANBbu+KMj+OPHiMEfAAVl6g="
      ),
      (
        .withoutUniqueIdentifiers, "WJcT2k+3mDJfCUY1zRyiQw==",
        "AAAAAAAAAAA4SUEt/VBKqwAAAAAAAAAAAAAAAAAAAAA="
      ),
    ] as [(CollectionMode, String, String)] {
      let sight = try sight(withheld)
      #expect(Base64.encode(sight.digest) == digest, "\(withheld)")
      #expect(Base64.encode(sight.parts ?? []) == parts, "\(withheld)")
    }
  }
}

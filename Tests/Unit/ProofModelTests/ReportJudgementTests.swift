// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

/// A report whose tag is right, as of an app that holds the key, and whose contents are not.
@Suite("A report with a good tag")
struct ReportJudgementTests {
  private let world: World
  private let bytes: [UInt8]

  init() throws {
    world = try World()
    bytes = try AttestationReport.make(
      .init(.token), of: world.evidence,
      answering: AttestationChallenge(world.draft, lifetime: 30, configSerial: 9),
      account: "acme", configSerial: 7, sdkVersion: "1", with: world.key
    ).bytes
  }

  /// The report with bits changed, under the tag of what it then is.
  private func report(changing places: [Int]) throws -> AttestationReport {
    var changed = Array(bytes.dropLast(32))
    for place in places { changed[place] ^= 1 }
    let tag = AttestationTag.tag(
      changed[...], label: "pfa1.report-key.", salt: world.draft.salt, key: world.key)
    return try AttestationReport(changed + tag.bytes)
  }

  private func errors(_ report: AttestationReport) -> [ProofError?] {
    func error(_ body: () throws -> Void) -> ProofError? {
      do {
        try body()
        return nil
      } catch { return error as? ProofError }
    }
    return [
      error { _ = try report.measurement(under: world.draft, with: world.key) },
      error { try report.check(under: world.draft, with: world.key) },
    ]
  }

  @Test("is refused for its first part that differs, with and without the secret measurement")
  func parts() throws {
    // The head has 28 bytes before the instance id. The measurements stand before the tag.
    let (instance, integrity, device) = (28, bytes.count - 96, bytes.count - 64)
    for (places, noun) in [
      ([], nil), ([instance], "instance id"), ([instance + 15], "instance id"),
      ([integrity], "integrity measurement"), ([integrity + 31], "integrity measurement"),
      ([device], "device measurement"), ([device + 31], "device measurement"),
      ([integrity, device], "integrity measurement"), ([instance, device], "instance id"),
    ] as [([Int], String?)] {
      let expected = noun.map { ProofError.differs($0) }
      #expect(errors(try report(changing: places)) == [expected, expected], "\(places)")
    }
    var changed = bytes
    changed[changed.count - 1] ^= 1
    let tag = ProofError.differs("tag of the report")
    #expect(errors(try AttestationReport(changed)) == [tag, tag])
  }

  /// The missing sources of a second pass over the records; nil if it ends.
  private func missing(firstWithout first: SourceID?, secondWithout second: SourceID?) throws
    -> ProofError?
  {
    var fold = CoreFold(baseline: world.draft, with: world.key)
    do throws(ProofError) {
      for record in world.evidence.records where record.source != first { try fold.update(record) }
      _ = try fold.measureBaseline(with: world.key)
      for record in world.evidence.records where record.source != second { try fold.update(record) }
      _ = try fold.finish()
      return nil
    } catch { return error }
  }

  @Test("is measured twice, and each pass names each source that it lacks, the first one too")
  func passes() throws {
    #expect(try missing(firstWithout: nil, secondWithout: nil) == nil)
    for source in world.draft.sources {
      let error = ProofError.evidenceMissing([source.id])
      #expect(try missing(firstWithout: source.id, secondWithout: nil) == error)
      #expect(try missing(firstWithout: nil, secondWithout: source.id) == error)
    }
  }
}

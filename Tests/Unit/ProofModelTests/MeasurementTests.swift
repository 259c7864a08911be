// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@Suite("A measurement")
struct MeasurementTests {
  @Test("of the same evidence under the same configuration is the same")
  func same() throws {
    let world = try World()
    let again = try Measurement(of: world.evidence, under: world.config, with: world.key)
    for part in Measurement.Part.allCases {
      #expect(copy(again, part) == copy(world.measurement, part))
    }
  }

  @Test("differs in IM alone if app or environment differ", arguments: ["settings", "tracer"])
  func app(name: String) throws {
    let world = try World()
    let changed = try Measurement(
      of: World.evidence(changing: name), under: world.config, with: world.key)
    #expect(copy(changed, .integrity) != copy(world.measurement, .integrity))
    #expect(copy(changed, .device) == copy(world.measurement, .device))
    #expect(copy(changed, .deviceKey) == copy(world.measurement, .deviceKey))
  }

  @Test("differs in everything if the device differs")
  func device() throws {
    let world = try World()
    let changed = try Measurement(
      of: World.evidence(changing: "machine-id"), under: world.config, with: world.key)
    for part in Measurement.Part.allCases {
      #expect(copy(changed, part) != copy(world.measurement, part))
    }
  }

  @Test("under another salt is unrelated")
  func salt() throws {
    let world = try World()
    let draft = try BaselineDraft(salt: .random(), sources: world.draft.sources)
    let config = try MeasurementConfig(baseline: world.evidence, draft, with: world.key)
    let other = try Measurement(of: world.evidence, under: config, with: world.key)
    for part in Measurement.Part.allCases {
      #expect(copy(other, part) != copy(world.measurement, part))
    }
  }

  @Test("with the key of an updated SDK keeps DM and DPK")
  func updatedSDK() throws {
    let world = try World()
    let key = try MeasurementProofKey(.random(count: 16), mode: .production)
    let updated = try Measurement(of: world.evidence, under: world.config, with: key)
    #expect(copy(updated, .integrity) != copy(world.measurement, .integrity))
    #expect(copy(updated, .device) == copy(world.measurement, .device))
    #expect(copy(updated, .deviceKey) == copy(world.measurement, .deviceKey))
  }

  @Test("tells absence from any digest")
  func absence() throws {
    let world = try World()
    let digests = [Digest(hashing: Array("pfc1.absent.....".utf8)), World.digest("")]
    for digest in digests {
      let records = try world.evidence.records.map { record in
        record.digest == nil
          ? try EvidenceRecord(record.source, name: record.name, digest: digest) : record
      }
      let other = try Measurement(
        of: EvidenceSet(records), under: world.config, with: world.key)
      #expect(copy(other, .integrity) != copy(world.measurement, .integrity))
    }
  }

  @Test("without a record of an asked-for source is refused, and the sources are named")
  func missing() throws {
    let world = try World()
    let records = world.evidence.records.filter {
      $0.source.evidenceClass != .environment && $0.source.number != 7
    }
    let missing = try ProofError.evidenceMissing([SourceID(.app, 7), SourceID(.environment, 1)])
    #expect(throws: missing) {
      try Measurement(of: EvidenceSet(records), under: world.config, with: world.key)
    }
    #expect(throws: missing) {
      try MeasurementConfig(baseline: EvidenceSet(records), world.draft, with: world.key)
    }
    #expect(throws: missing) {
      try Difference(of: EvidenceSet(records), under: world.config, with: world.key)
    }
  }

  @Test("with a record of a source not asked for is refused, and the record is named")
  func notAskedFor() throws {
    let world = try World()
    let stranger = try EvidenceRecord(SourceID(.environment, 9), name: "x", digest: nil)
    let evidence = try EvidenceSet(world.evidence.records + [stranger])
    let error = ProofError.evidenceNotAskedFor(EvidenceName(stranger))
    #expect(throws: error) {
      try Measurement(of: evidence, under: world.config, with: world.key)
    }
    #expect(throws: error) {
      try MeasurementConfig(baseline: evidence, world.draft, with: world.key)
    }
  }

  @Test("record by record refuses disorder and repetition, and is over after a refusal")
  func disorder() throws {
    let world = try World()
    let records = world.evidence.records
    var swapped = MeasurementFold(under: world.config, with: world.key)
    try swapped.update(records[1])
    #expect(throws: ProofError.evidenceOutOfOrder(EvidenceName(records[0]))) {
      try swapped.update(records[0])
    }
    #expect(throws: ProofError.measurementEnded) { try swapped.update(records[2]) }
    do throws(ProofError) {
      _ = try swapped.finish()
      Issue.record("a refused measurement was finished")
    } catch {
      #expect(error == .measurementEnded)
    }

    var repeated = Baseline(world.draft, with: world.key)
    try repeated.update(records[0])
    #expect(throws: ProofError.evidenceRepeated(EvidenceName(records[0]))) {
      try repeated.update(records[0])
    }
    do throws(ProofError) {
      _ = try repeated.finish()
      Issue.record("a refused baseline was finished")
    } catch {
      #expect(error == .measurementEnded)
    }
  }

  @Test("of 5,000 records is the same as record by record")
  func large() throws {
    let world = try World()
    let more = try (0..<5_000).map {
      try EvidenceRecord(SourceID(.app, 1), name: "file\($0)", digest: World.digest("\($0)"))
    }
    let evidence = try EvidenceSet(world.evidence.records + more)
    var fold = MeasurementFold(under: world.config, with: world.key)
    for record in evidence.records { try fold.update(record) }
    let folded = try fold.finish()
    let whole = try Measurement(of: evidence, under: world.config, with: world.key)
    #expect(copy(folded, .integrity) == copy(whole, .integrity))
  }

  @Test("can be put together from its parts, of the right lengths only")
  func parts() throws {
    let world = try World()
    let measurement = world.measurement
    let again = try Measurement(
      integrity: secret(copy(measurement, .integrity)), device: secret(copy(measurement, .device)),
      deviceKey: secret(copy(measurement, .deviceKey)))
    let nonce = ProofNonce.random()
    for kind in ProofKind.allCases {
      #expect(
        again.proof(of: kind, for: nonce, with: world.key)
          == measurement.proof(of: kind, for: nonce, with: world.key))
    }
    #expect(throws: ProofError.self) {
      try Measurement(integrity: secret(1, 31), device: secret(1, 32), deviceKey: secret(1, 16))
    }
    #expect(throws: ProofError.self) {
      try Measurement(integrity: secret(1, 32), device: secret(1, 33), deviceKey: secret(1, 16))
    }
    #expect(throws: ProofError.self) {
      try Measurement(integrity: secret(1, 32), device: secret(1, 32), deviceKey: secret(1, 32))
    }
  }
}

@Suite("A difference")
struct DifferenceTests {
  @Test("from the baseline's own evidence is empty")
  func none() throws {
    let world = try World()
    let difference = try Difference(of: world.evidence, under: world.config, with: world.key)
    #expect(difference.isEmpty)
    #expect(difference.description == "nothing differs")
  }

  @Test("names the source that changed, and few candidates besides the right one")
  func changed() throws {
    let world = try World()
    let file = "/opt/door/lib/part7.so"
    let difference = try Difference(
      of: World.evidence(changing: file), under: world.config, with: world.key)
    let change = try #require(difference.changes.first)
    #expect(difference.changes.count == 1)
    #expect(try change.source == SourceID(.app, 1))
    #expect(change.candidates.contains { $0.name == Array(file.utf8) })
    #expect(change.candidates.count < 12)
    #expect(difference.description.contains(file))
  }

  @Test("names a file that was added, and a group that lost its only record")
  func addedAndRemoved() throws {
    let world = try World()
    let added = try EvidenceRecord(SourceID(.app, 1), name: "injected", digest: nil)
    let more = try EvidenceSet(world.evidence.records + [added])
    let difference = try Difference(of: more, under: world.config, with: world.key)
    #expect(difference.changes.flatMap(\.candidates).contains(EvidenceName(added)))

    let settings = try SourceID(.app, 7)
    let other = try EvidenceRecord(settings, name: "fresh", digest: nil)
    let replaced = try EvidenceSet(
      world.evidence.records.filter { $0.source != settings } + [other])
    let changes = try Difference(of: replaced, under: world.config, with: world.key).changes
    #expect(changes.allSatisfy { $0.source == settings })
    #expect(changes.count == 2)
    #expect(changes.map(\.candidates.count).sorted() == [0, 1])
  }

  @Test("on another device compares the device alone")
  func otherDevice() throws {
    let world = try World()
    let difference = try Difference(
      of: World.evidence(changing: "machine-id"), under: world.config, with: world.key)
    #expect(difference.deviceComparable)
    #expect(!difference.appComparable)
    #expect(try difference.changes.map(\.source) == [SourceID(.device, 1)])
    #expect(!difference.isEmpty)
    #expect(difference.description.contains("cannot be compared: another device"))
  }

  @Test("with the key of an updated SDK compares app and environment alone")
  func otherKey() throws {
    let world = try World()
    let key = try MeasurementProofKey(.random(count: 16), mode: .production)
    let difference = try Difference(
      of: World.evidence(changing: "settings"), under: world.config, with: key)
    #expect(!difference.deviceComparable)
    #expect(difference.appComparable)
    #expect(try difference.changes.map(\.source) == [SourceID(.app, 7)])
    #expect(difference.description.contains("cannot be compared: another key"))
  }

  @Test("of a fold that refused a record is refused as well")
  func refused() throws {
    let world = try World()
    let records = world.evidence.records
    var fold = MeasurementFold(under: world.config, with: world.key, comparing: true)
    try fold.update(records[0])
    #expect(throws: ProofError.evidenceRepeated(EvidenceName(records[0]))) {
      try fold.update(records[0])
    }
    do throws(ProofError) {
      _ = try fold.difference(among: world.evidence)
      Issue.record("a refused measurement was compared")
    } catch {
      #expect(error == .measurementEnded)
    }
  }

  @Test("of a fold that was not begun for it ends the process")
  func notComparing() async {
    await #expect(processExitsWith: .failure) {
      let world = try World()
      var fold = MeasurementFold(under: world.config, with: world.key)
      for record in world.evidence.records { try fold.update(record) }
      _ = try fold.difference(among: world.evidence)
    }
  }
}

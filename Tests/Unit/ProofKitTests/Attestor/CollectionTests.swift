// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("Collection modes")
struct CollectionTests {
  private static let modes: [CollectionMode] = (1...7).map { CollectionMode(rawValue: $0) }
  private let measured = "api.example.com?measurement"

  private func stage(_ mode: CollectionMode) throws -> Stage {
    let stage = try Stage(withholding: mode)
    stage.service.set { $0.isEncrypted = true }
    return stage
  }

  @Test("a withheld source is in no report and in no configuration", arguments: modes)
  func sources(mode: CollectionMode) throws {
    let stage = try stage(mode)
    let result = stage.attestor.fetchTokenAndWait(for: measured)
    let config = try #require(result.measurementConfig, "\(result)")
    let report = try AttestationReport(stage.service.state.withLock { $0.reports[0] })
    #expect(report.withheld == mode)
    let withheld = Probe.sources.map(\.id).filter(mode.withholds)
    for source in withheld {
      #expect(!report.evidence.records.contains { $0.source == source })
      #expect(!config.sources.contains { $0.id == source })
    }
    #expect(config.sources.count == Probe.sources.count - withheld.count)
  }

  @Test("properties that are withheld are left out; a finding is told without its words")
  func properties() throws {
    func properties(_ mode: CollectionMode) throws -> [String: String] {
      let stage = try stage(mode)
      stage.scene.state.withLock {
        $0.alarms = [.init(Probe.sources[9].id, name: "/srv/ada/x", words: "is traced")]
      }
      try stage.attestor.setActivity("pay")
      _ = stage.attestor.fetchTokenAndWait(for: measured)
      let said = try #require(stage.service.state.withLock { $0.subjects.first?.properties })
      // It asks for the pairs of updates, and says nothing about app or device.
      #expect(said.contains { $0.name == "upcoming" })
      let facts = said.filter { $0.name != "upcoming" }
      return Dictionary(uniqueKeysWithValues: facts.map { ($0.name, $0.value) })
    }
    let basic: Set = ["os", "kernel", "architecture", "app"]
    let extra: Set = ["activity", "launch"]
    let all = try properties([])
    let finding = try #require(all.keys.first { $0.hasPrefix("finding.") })
    #expect(Set(all.keys) == basic.union(extra).union([finding]))
    #expect(all[finding]?.contains("/srv/ada") == true)
    #expect(try Set(properties(.withoutBasicFacts).keys) == extra.union([finding]))
    #expect(try Set(properties(.withoutUniqueIdentifiers).keys) == Set(all.keys))
    let noExtras = try properties(.withoutExtras)
    #expect(Set(noExtras.keys) == basic.union([finding]) && noExtras[finding] == "withheld")
    #expect(try properties(.notGranted) == [finding: "withheld"])
  }

  @Test("an app that withholds nothing asks and reports as before")
  func nothing() throws {
    let stage = try stage([])
    _ = stage.attestor.fetchTokenAndWait(for: measured)
    let report = stage.service.state.withLock { $0.reports[0] }
    #expect(report[2] == 1 && stage.service.state.withLock { $0.withheld } == [[]])
  }

  @Test("a service that asks for what is withheld gets no report")
  func hostile() throws {
    let stage = try stage(.notGranted)
    stage.service.set { $0.ignoresCollection = true }
    let result = stage.attestor.fetchTokenAndWait(for: measured)
    #expect(result.status == .noService && result.reason.contains("withholds"))
    #expect(stage.service.count("report") == 0)
  }

  @Test("a stricter mode refuses the configuration of the earlier enrolment, and says what to do")
  func stricter() throws {
    let before = try stage(.withoutExtras)
    let config = try #require(
      before.attestor.fetchTokenAndWait(for: measured).measurementConfig)
    let nonce = [UInt8](repeating: 3, count: 16)
    let proof = try before.attestor.integrityMeasurementProof(nonce: nonce, config: config.bytes)
    let after = try stage(.notGranted)
    let error = #expect(throws: ProofError.self) {
      _ = try after.attestor.integrityMeasurementProof(nonce: nonce, config: config.bytes)
    }
    #expect(throws: ProofError.self) {
      _ = try after.attestor.deviceMeasurementProof(nonce: nonce, config: config.bytes)
    }
    guard case .evidenceWithheld(let sources) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(sources == config.sources.map(\.id).filter(CollectionMode.notGranted.withholds))
    #expect(error?.description.contains("Fetch a measurement") == true)
    // The new enrolment works, and the earlier configuration still measures the same without the mode.
    #expect(after.attestor.fetchTokenAndWait(for: measured).status == .success)
    let looser = try stage([])
    #expect(
      try looser.attestor.integrityMeasurementProof(nonce: nonce, config: config.bytes) == proof)
  }

  @Test("a gate session attests anew when its app withholds more than at the last start")
  func gate() throws {
    let stage = try GateStage()
    let admitted = try #require(stage.session.state.withLock { $0.held?.admitted })
    let surroundings = AttestationExchange.Surroundings(
      observer: Scene(withholding: .notGranted), key: .sdk, installationKey: nil, appName: "door",
      clock: stage.stage.time.clock)
    #expect(throws: GateError.environmentChanged) {
      _ = try GateKeyring.derive(for: admitted, in: surroundings)
    }
  }
}

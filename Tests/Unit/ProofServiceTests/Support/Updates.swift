// SPDX-License-Identifier: Apache-2.0

import ProofModel

@testable import ProofService

extension TestApp {
  /// The app after its update: another executable, in the file and in memory.
  var updated: TestApp {
    var updated = self
    for name in [
      Name(.app, 1, "executable"), Name(.app, 2, "executable"), Name(.app, 3, "0"),
      Name(.environment, 6, "executable"),
    ] { updated.evidence[name] = Digest(hashing: Array("updated \(name)".utf8)) }
    return updated
  }

  /// Its records that a reference machine has: of the app, and its links.
  func referenceRecords() throws -> EvidenceSet {
    try EvidenceSet(
      set.records.filter { record in
        record.source.evidenceClass == .app
          || (record.source.evidenceClass == .environment && record.source.number == 6)
      })
  }
}

extension Bench {
  /// Registers what an app becomes by an update.
  ///
  /// - Parameters:
  ///   - update: The app after the update.
  ///   - present: The app before it; nil for the bench's own.
  ///   - records: The update's records; nil for those of a reference machine.
  /// - Returns: The registration.
  /// - Throws: `ServiceError` if it is refused.
  @discardableResult
  func register(
    _ update: TestApp, updating present: TestApp? = nil, records: EvidenceSet? = nil
  ) throws -> Registration {
    try management.register(
      update.digest, name: "door 2.0",
      prediction: Prediction(
        updates: (present ?? app).digest, records: try records ?? update.referenceRecords()))
  }

  /// Fetches a token for the lock.
  ///
  /// - Parameters:
  ///   - app: The app that asks.
  ///   - takes: Whether it takes pairs of upcoming builds.
  /// - Returns: The answer, and the generation that the challenge named.
  /// - Throws: `ServiceError` if the request is refused.
  func askForLock(
    _ app: TestApp, takes: Bool = true
  ) throws -> (answer: AttestationAnswer, generation: UInt32) {
    let challenge = try challenge(app, .measurement, host: Bench.lockAPI)
    var subject = AttestationReport.Subject(.measurement, name: Bench.lockAPI)
    if takes { subject.properties = [AttestationReport.Property("upcoming", "1")] }
    let report = try app.report(subject, answering: challenge)
    return (try send(report, challenge.draft.salt, app), challenge.draft.generation)
  }
}

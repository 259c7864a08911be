internal import ProofJOSE
internal import ProofModel

// The second half: a report is judged and answered.

extension AttestationService {
  func report(_ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    let report: AttestationReport
    do {
      report = try AttestationReport(request.body)
    } catch {
      throw .malformed(error.description)
    }
    let definition = try DeviceStrings.definition(in: report.subject)
    let (snapshot, known) = try glance(at: report.device)
    try limitAddress(request, snapshot)
    guard report.account == account.name else { throw .unknownAccount }
    guard let build = snapshot.builds[report.keyID], !build.build.isRevoked else {
      throw .unknownKey
    }
    let work = ReportWork(
      service: self, report: report, definition: definition, build: build.build, key: build.key,
      snapshot: snapshot, known: known, peer: request.peer, now: clock.now)
    let answer = try work.answer()
    return Self.binary(answer.bytes(with: build.key))
  }
}

/// One report on its way to an answer.
struct ReportWork {
  let service: AttestationService
  let report: AttestationReport
  /// What the report defines a secure string as; nil if it defines none.
  let definition: String?
  let build: SDKBuild
  let key: MeasurementProofKey
  let snapshot: Snapshot
  /// What the store knew of the device when the report came.
  let known: DeviceRow?
  let peer: String
  let now: UnixTime

  /// Nothing of the report counts before it was believed, and nothing leaves before the salt is used
  /// up for good: of two equal reports at the same time one gets an answer, the other asks again.
  func answer() throws(Refusal) -> AttestationAnswer {
    let pending = try service.store { (store) throws(StoreError) in try store.pending(report.salt) }
    guard let pending, pending.expiry > now.seconds, let note = SaltNote(pending.note) else {
      return stale()
    }
    guard note.keyID == report.keyID, note.device == report.device,
      note.purpose == report.subject.purpose,
      let believed = try? Belief(in: report, under: note.challenge.draft, with: key)
    else {
      try useUp()
      service.metrics.count(.unbelievable)
      log("unbelievable", [])
      return answer(.unbelievable)
    }

    var deviceNote = known.flatMap { DeviceNote($0.note) }
    let judgement = Judgement(
      of: report, mode: build.mode, note: deviceNote, under: snapshot, at: now.seconds)
    let code = responseCode(judgement)
    let measures = report.subject.purpose == .measurement
    let generation = note.challenge.draft.generation
    let minter = TokenMinter(
      work: self, judgement: judgement, code: code,
      measurement: believed.measurement.map { ($0, generation) })
    var answer = try minter.answer()

    if deviceNote == nil { deviceNote = DeviceNote() }
    deviceNote!.note(
      report, judgement, code: code, peer: snapshot.policy.tracksAddress ? peer : nil,
      at: now.seconds)
    let sighting = DeviceSighting(
      report.device, at: now.seconds, generation: measures ? generation : 0,
      mustRaiseGeneration: measures, note: deviceNote!.bytes)
    let isOurs = try service.store { (store) throws(StoreError) in
      try store.use(report.salt, for: sighting)
    }
    guard isOurs else {
      // Of two reports under one generation the second one's salt is used up all the same.
      try useUp()
      return stale()
    }
    if let definition, answer.outcome == .done {
      let isKept = try DeviceStrings.keep(
        report.subject.name, definition, of: report.device, service)
      // Others of this installation may have taken the room meanwhile.
      if !isKept { answer = minter.dressed(self.answer(.badKey)) }
    }
    service.metrics.count(judgement.isPassed ? .passed : .failed)
    log(
      judgement.isPassed ? "passed" : "failed",
      [("arc", code), ("properties", judgement.properties.text)])
    return answer
  }

  /// Uses the salt up for nothing.
  private func useUp() throws(Refusal) {
    _ = try service.store { (store) throws(StoreError) in try store.use(report.salt, for: nil) }
  }

  /// An answer without token.
  func answer(_ outcome: AttestationAnswer.Outcome) -> AttestationAnswer {
    AttestationAnswer(
      to: report.salt, outcome, configSerial: snapshot.configuration.serial,
      forcedPinsSerial: snapshot.configuration.forcedPinsSerial)
  }

  private func stale() -> AttestationAnswer {
    service.metrics.count(.staleReports)
    return answer(.askAgain)
  }

  private func responseCode(_ judgement: Judgement) -> String {
    guard snapshot.policy.hasResponseCodes else { return "" }
    let noise = CoreSodium.random(count: 2).reduce(0) { $0 << 8 | UInt64($1) }
    return ResponseCode(isPassed: judgement.isPassed, properties: judgement.properties)
      .text(key: service.account.vault.responseCodeKey(), noise: noise)
  }

  private func log(_ outcome: String, _ details: [(name: String, value: String)]) {
    service.log(
      AttestationService.Event(
        name: "report",
        details: [
          ("outcome", outcome), ("device", report.device.description),
          ("purpose", "\(report.subject.purpose)"),
        ] + details))
  }
}

/// What is left of a report that adds up.
private struct Belief {
  /// The measurement, where the answer tells it; elsewhere nothing is kept of it.
  let measurement: Measurement?

  /// Does what the app did.
  ///
  /// - Throws: Why the report is not believed.
  init(
    in report: AttestationReport, under draft: BaselineDraft, with key: MeasurementProofKey
  ) throws(ProofError) {
    guard report.subject.purpose == .measurement else {
      try report.check(under: draft, with: key)
      measurement = nil
      return
    }
    measurement = try report.measurement(under: draft, with: key).measurement
  }
}

internal import ProofJOSE
internal import ProofModel

// The second half: a report is checked and answered.

extension AttestationService {
  /// Checks a report's head before its records are read, because a stranger may send 65,535 of
  /// them.
  func report(_ request: HTTPRequest) throws(Refusal) -> HTTPResponse {
    let head: AttestationReport.Head
    do {
      head = try AttestationReport.Head(request.body)
    } catch {
      throw .malformed(error.description)
    }
    let (snapshot, known) = try glance(at: head.device)
    try limitAddress(request, snapshot)
    guard head.account == account.name else { throw .unknownAccount }
    guard let build = snapshot.builds[head.keyID], !build.build.isRevoked else {
      throw .unknownKey
    }
    let desk = ReportDesk(
      service: self, head: head, build: build.build, key: build.key, snapshot: snapshot,
      known: known, peer: request.peer, now: clock.now)
    let answer = try desk.answer(to: request.body)
    return Self.binary(answer.bytes(with: build.key))
  }
}

/// The origin of a report, before it is read.
struct ReportDesk {
  let service: AttestationService
  let head: AttestationReport.Head
  let build: SDKBuild
  let key: MeasurementProofKey
  let snapshot: Snapshot
  /// The store's row of the device when the report came.
  let known: DeviceRow?
  let peer: String
  let now: UnixTime

  func answer(to body: [UInt8]) throws(Refusal) -> AttestationAnswer {
    let pending = try service.store { (store) throws(StoreError) in try store.pending(head.salt) }
    guard let pending, pending.expiry > now.seconds, let note = SaltNote(pending.note) else {
      return stale()
    }
    guard note.keyID == head.keyID, note.device == head.device, note.purpose == head.purpose else {
      return try unbelievable()
    }
    if known == nil { try service.checkFirstFetch(of: build, from: peer, under: snapshot.policy) }
    let report: AttestationReport
    service.metrics.count(.parsed)
    do {
      report = try AttestationReport(body)
    } catch {
      throw .malformed(error.description)
    }
    guard report.withheld == note.withheld else { return try unbelievable() }
    let definition = try DeviceStrings.definition(in: report.subject)
    let work = ReportWork(
      desk: self, report: report, definition: definition, credential: note.credential,
      gate: note.gate)
    return try work.answer(under: note.challenge.draft)
  }

  /// Uses the salt up with no sighting.
  func useUp() throws(Refusal) {
    _ = try service.store { (store) throws(StoreError) in try store.use(head.salt, for: nil) }
  }

  /// An answer without token.
  func answer(_ outcome: AttestationAnswer.Outcome) -> AttestationAnswer {
    AttestationAnswer(
      to: head.salt, outcome, configSerial: snapshot.configuration.serial,
      forcedPinsSerial: snapshot.configuration.forcedPinsSerial)
  }

  func stale() -> AttestationAnswer {
    service.metrics.count(.staleReports)
    return answer(.askAgain)
  }

  func unbelievable() throws(Refusal) -> AttestationAnswer {
    try useUp()
    service.metrics.count(.unbelievable)
    log("unbelievable", [])
    return answer(.unbelievable)
  }

  /// Logs an outcome. What an app does at gates stands in the log under its handle, which another gate and another
  /// generation do not have, and never under the device id.
  func log(
    _ outcome: String, _ details: [(name: String, value: String)], handle: GateHandle? = nil
  ) {
    let name =
      head.purpose == .gate
      ? ("handle", handle?.description ?? "none") : ("device", head.device.description)
    service.log(
      AttestationService.Event(
        name: "report",
        details: [("outcome", outcome), name, ("purpose", "\(head.purpose)")] + details))
  }
}

/// One report that is being answered.
struct ReportWork {
  let desk: ReportDesk
  let report: AttestationReport
  /// The value that the report defines for a secure string; nil if it defines none.
  let definition: String?
  /// The evidence that the service asked for; nil if it asked for none.
  let credential: SaltNote.Credential?
  /// The gate whose line the challenge's generation is of; nil for the device's own.
  let gate: GateID?

  var service: AttestationService { desk.service }
  var key: MeasurementProofKey { desk.key }
  var snapshot: Snapshot { desk.snapshot }
  var peer: String { desk.peer }
  var now: UnixTime { desk.now }

  /// An answer without token.
  func answer(_ outcome: AttestationAnswer.Outcome) -> AttestationAnswer { desk.answer(outcome) }

  /// Uses no field of the report before it is authenticated, and sends nothing before the salt is
  /// used up durably. If two equal reports come at the same time, one gets an answer and the other
  /// must ask again.
  func answer(under draft: BaselineDraft) throws(Refusal) -> AttestationAnswer {
    guard let believed = try? Belief(in: report, under: draft, with: key) else {
      return try desk.unbelievable()
    }
    // The tag proves that the SDK made the report; the signature, that this installation did.
    if let claim = report.key {
      guard let signature = report.signature,
        claim.point.hasSigned(report.signedMessage, signature)
      else { return try desk.unbelievable() }
    }
    if desk.known == nil { try service.takeFirstFetch(of: desk.build, from: peer, snapshot.policy) }

    var deviceNote = desk.known.flatMap { DeviceNote($0.note) }
    let keySeen = InstallationKeySighting(
      report.key, isProved: report.key.map { credential?.isProved(by: $0) ?? false } ?? false,
      known: deviceNote?.key, under: snapshot.policy.installationKey, at: now.seconds)
    let judgement = Judgement(
      of: report, build: desk.build, note: deviceNote, key: keySeen, under: snapshot,
      at: now.seconds)
    let code = responseCode(judgement)
    let generation = draft.generation
    let minter = TokenMinter(
      work: self, judgement: judgement, code: code,
      measurement: believed.measurement.map { ($0, generation) })
    var handle: GateHandle?
    var answer = try minter.answer(handle: &handle)
    let raises =
      switch report.subject.purpose {
      case .measurement: true
      case .gate: answer.admission != nil
      case .token, .secureString, .customJWT, .stringKey: false
      }

    if deviceNote == nil { deviceNote = DeviceNote() }
    deviceNote!.note(
      report, judgement, key: keySeen, code: code, peer: snapshot.policy.tracksAddress ? peer : nil,
      at: now.seconds)
    if let handle, let api = snapshot.apis[report.subject.name.lowercased()], let gate = api.gate {
      deviceNote!.note(handle, at: gate, of: snapshot.gates.keys)
    }
    let sighting = DeviceSighting(
      report.device, at: now.seconds, generation: raises ? generation : 0,
      mustRaiseGeneration: raises, gate: raises ? gate : nil, note: deviceNote!.bytes)
    let isOurs = try service.store { (store) throws(StoreError) in
      try store.use(report.salt, for: sighting)
    }
    guard isOurs else {
      // A concurrent report with this generation won. Use this salt up too, and answer "stale".
      try desk.useUp()
      return desk.stale()
    }
    if let definition, answer.outcome == .done {
      let isKept = try DeviceStrings.keep(
        report.subject.name, definition, of: report.device, service)
      // Other reports of this installation may have taken the room meanwhile.
      if !isKept { answer = minter.dressed(self.answer(.badKey)) }
    }
    service.metrics.count(judgement.isPassed ? .passed : .failed)
    if report.subject.purpose == .gate {
      service.metrics.count(
        !raises ? .admissionsRefused : judgement.isPassed ? .admissions : .admissionsFailed)
    }
    desk.log(
      judgement.isPassed ? "passed" : "failed",
      [("arc", code), ("properties", judgement.properties.text)], handle: handle)
    return answer
  }

  private func responseCode(_ judgement: Judgement) -> String {
    guard snapshot.policy.hasResponseCodes else { return "" }
    let noise = CoreSodium.random(count: 2).reduce(0) { $0 << 8 | UInt64($1) }
    return ResponseCode(isPassed: judgement.isPassed, properties: judgement.properties)
      .text(key: service.account.vault.responseCodeKey(), noise: noise)
  }
}

/// The result of checking a report.
private struct Belief {
  /// The measurement, where the answer tells it or a gate's secret is made of it; elsewhere nothing is kept of it.
  let measurement: Measurement?

  /// Repeats the app's computation and compares the results.
  ///
  /// - Throws: The reason that the report fails the check.
  init(
    in report: AttestationReport, under draft: BaselineDraft, with key: MeasurementProofKey
  ) throws(ProofError) {
    guard [.measurement, .gate].contains(report.subject.purpose) else {
      try report.check(under: draft, with: key)
      measurement = nil
      return
    }
    measurement = try report.measurement(under: draft, with: key).measurement
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import HTTPServing
internal import ProofJOSE
internal import ProofModel

// The second half: a report is checked and answered.

extension AttestationService {
  /// The most times that one report is judged. It is judged again only if another report of its
  /// device, or a change of the account, was committed meanwhile.
  static let judgementsMax = 32

  /// Checks a report's head before its records are read, because a stranger may send 65,535 of
  /// them.
  func report(_ request: HTTPRequest) throws(Refusal) -> HTTPAnswer {
    let head: AttestationReport.Head
    do {
      head = try AttestationReport.Head(request.body)
    } catch {
      throw .malformed(error.description)
    }
    var course = ReportCourse(request: request, head: head)
    if let (snapshot, row) = recent(head.device) {
      try course.limit(self, snapshot)
      let seen = StoreGlance(revision: snapshot.revision, device: row)
      // A refusal may come from what is out of date.
      switch try? judge(&course, snapshot, seen, isRecent: true) {
      case .ended(.sent(let bytes)): return .now(Self.binary(bytes))
      case .waits(let wait): return later(course, wait, isRecent: true)
      case .ended(.changed), nil: break
      }
    }
    return try proceed(course)
  }

  /// Judges a report by what the store has now, until one answer stands.
  private func proceed(_ course: ReportCourse) throws(Refusal) -> HTTPAnswer {
    var course = course
    while course.judgements < Self.judgementsMax {
      course.judgements += 1
      // The salt is not authenticated yet. If it proves to be in force, its expiry is this one.
      let place = SaltFields(course.head.salt.bytes)?.expiry(nearest: clock.now)
        .map { SaltPlace(course.head.salt, expiring: $0) }
      let (snapshot, seen) = try glance(at: course.head.device, and: place)
      try course.limit(self, snapshot)
      switch try judge(&course, snapshot, seen, isRecent: false) {
      case .ended(.sent(let bytes)): return .now(Self.binary(bytes))
      case .ended(.changed): continue
      case .waits(let wait): return later(course, wait, isRecent: false)
      }
    }
    throw .unanswered(
      "A report was judged \(Self.judgementsMax) times, and each time its device or the account had "
        + "changed.")
  }

  /// Goes on when the store has told the outcome.
  private func later(_ course: ReportCourse, _ wait: ReportWait, isRecent: Bool) -> HTTPAnswer {
    .later(
      HTTPWait(wait.begin) {
        self.answer { () throws(Refusal) in
          let end = isRecent ? (try? wait.end()) ?? .changed : try wait.end()
          switch end {
          case .sent(let bytes): return .now(Self.binary(bytes))
          case .changed: return try self.proceed(course)
          }
        }
      })
  }

  /// The account and a device's row as they were when the device asked for a challenge; nil if they were not kept.
  private func recent(_ device: InstanceID) -> (Snapshot, DeviceRow)? {
    guard let row = recentDevices.take(device), let snapshot = account.lastSnapshot else {
      return nil
    }
    return (snapshot, row)
  }

  private func judge(
    _ course: inout ReportCourse, _ snapshot: Snapshot, _ seen: StoreGlance, isRecent: Bool
  ) throws(Refusal) -> ReportStep {
    let head = course.head
    guard head.account == account.name else { throw .unknownAccount }
    guard let build = snapshot.builds[head.keyID], !build.build.isRevoked else {
      throw .unknownKey
    }
    let desk = ReportDesk(
      service: self, head: head, build: build.build, key: build.key, snapshot: snapshot,
      known: seen.device, mark: seen.mark, isRecent: isRecent, peer: course.request.peer,
      now: clock.now)
    return try desk.answer(to: course.request.body, isCounted: &course.isCounted)
  }
}

/// One report on its way to an answer, through any number of judgements.
private struct ReportCourse {
  let request: HTTPRequest
  let head: AttestationReport.Head
  var judgements = 0
  /// Whether the report was counted as a first fetch. It is counted once, whatever is judged again.
  var isCounted = false
  private var isLimited = false

  init(request: HTTPRequest, head: AttestationReport.Head) {
    self.request = request
    self.head = head
  }

  /// Counts the request for its address, once.
  mutating func limit(_ service: AttestationService, _ snapshot: Snapshot) throws(Refusal) {
    guard !isLimited else { return }
    try service.limitAddress(request, snapshot)
    isLimited = true
  }
}

/// The end of one judgement of a report.
enum ReportEnd {
  /// The answer's bytes.
  case sent([UInt8])
  /// The account or the device's row changed: judge again.
  case changed
}

/// The result of judging a report, as far as it is known at once.
enum ReportStep {
  /// The end.
  case ended(ReportEnd)
  /// The store was asked to write, and its outcome says how the judgement ends.
  case waits(ReportWait)
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
  /// The mark of the salt when the report came. It is read before the salt is authenticated.
  let mark: SpentMark?
  /// Whether account and row are those of ``RecentDevices``: an answer that the store does not confirm ends as
  /// ``ReportEnd/changed`` then.
  let isRecent: Bool
  let peer: String
  let now: UnixTime

  /// Answers a report. Reads nothing behind its head before the salt is authenticated and found
  /// unspent.
  ///
  /// - Parameters:
  ///   - body: The report.
  ///   - isCounted: Whether an earlier judgement counted the report as a first fetch.
  /// - Returns: The end of the judgement, or the wait for it.
  /// - Throws: ``Refusal``.
  func answer(to body: [UInt8], isCounted: inout Bool) throws(Refusal) -> ReportStep {
    let asker = SaltTerms.Asker(
      keyID: head.keyID, device: head.device, purpose: head.purpose,
      gate: snapshot.gate(of: head.purpose, at: head.host))
    let terms = SaltTerms(
      of: head.salt, from: asker, above: try service.highestGeneration(of: asker, known),
      sources: { snapshot.sources(for: head.purpose, build, withheld: $0) },
      under: snapshot.saltKeys, account: head.account, at: now)
    guard let terms else {
      if !isRecent { service.metrics.count(.unknownSalts) }
      return .ended(stale())
    }
    guard terms.expiry > now.whole, terms.expiry <= now.whole + SaltTerms.longestLife else {
      return .ended(stale())
    }
    let spending = ReportSpending(
      desk: self, expiry: terms.expiry, digest: Digest(hashing: body))
    if let end = try spending.earlier() { return .ended(end) }
    if known == nil, !isCounted {
      try service.checkFirstFetch(of: build, from: peer, under: snapshot.policy)
    }
    let report: AttestationReport
    service.metrics.count(.parsed)
    do {
      report = try AttestationReport(body)
    } catch {
      throw .malformed(error.description)
    }
    guard report.withheld == terms.withheld else { return spending.unbelievable() }
    let work = ReportWork(
      desk: self, report: report, definition: try DeviceStrings.definition(in: report.subject),
      terms: terms, spending: spending)
    return try work.answer(isCounted: &isCounted)
  }

  /// An answer without token.
  func answer(_ outcome: AttestationAnswer.Outcome) -> AttestationAnswer {
    AttestationAnswer(
      to: head.salt, outcome, configSerial: snapshot.configuration.serial,
      forcedPinsSerial: snapshot.configuration.forcedPinsSerial)
  }

  func stale() -> ReportEnd {
    if isRecent { return .changed }
    service.metrics.count(.staleReports)
    return .sent(answer(.askAgain).bytes(with: key))
  }

  /// Logs an outcome. What an app does at gates stands in the log under its handle, which another gate and another
  /// generation do not have, and never under the device id.
  func log(
    _ outcome: String, _ details: @autoclosure () -> [(name: String, value: String)],
    handle: GateHandle? = nil
  ) {
    guard service.logsReports else { return }
    let name =
      head.purpose == .gate
      ? ("handle", handle?.description ?? "none") : ("device", head.device.description)
    service.log(
      AttestationService.Event(
        name: "report",
        details: [("outcome", outcome), name, ("purpose", "\(head.purpose)")] + details()))
  }
}

/// One report that is being answered.
struct ReportWork {
  let desk: ReportDesk
  let report: AttestationReport
  /// The value that the report defines for a secure string; nil if it defines none.
  let definition: String?
  /// The terms of the challenge that the report answers.
  let terms: SaltTerms
  let spending: ReportSpending

  var service: AttestationService { desk.service }
  var key: MeasurementProofKey { desk.key }
  var snapshot: Snapshot { desk.snapshot }
  var peer: String { desk.peer }
  var now: UnixTime { desk.now }

  /// An answer without token.
  func answer(_ outcome: AttestationAnswer.Outcome) -> AttestationAnswer { desk.answer(outcome) }

  /// Uses no field of the report before it is authenticated, and sends nothing before the salt is
  /// spent durably. If two equal reports come at the same time, both get the answer of the one that
  /// spent it.
  func answer(isCounted: inout Bool) throws(Refusal) -> ReportStep {
    guard let draft = try? terms.draft(report.salt),
      let believed = try? Belief(in: report, under: draft, with: key)
    else { return spending.unbelievable() }
    // The tag proves that the SDK made the report; the signature, that this installation did.
    if let claim = report.key {
      guard let signature = report.signature,
        claim.point.hasSigned(report.signedMessage, signature)
      else { return spending.unbelievable() }
    }
    if desk.known == nil, !isCounted {
      try service.takeFirstFetch(of: desk.build, from: peer, snapshot.policy)
      isCounted = true
    }

    var deviceNote = desk.known.flatMap { DeviceNote($0.note) }
    let keySeen = InstallationKeySighting(
      report.key, isProved: isKeyProved, known: deviceNote?.key,
      under: snapshot.policy.installationKey, at: now.whole)
    let judgement = Judgement(
      of: report, build: desk.build, note: deviceNote, key: keySeen, under: snapshot,
      at: now.whole)
    let code = responseCode(judgement)
    let minter = TokenMinter(
      work: self, judgement: judgement, code: code,
      measurement: believed.measurement.map { ($0, terms.generation) })
    var result = TokenMinter.Result()
    let answer = try minter.answer(&result)
    let handle = result.granted?.secret.keys.handle
    let raises =
      switch report.subject.purpose {
      case .measurement: true
      case .gate: answer.admission != nil
      case .token, .secureString, .customJWT, .stringKey: false
      }

    // A fetch that takes pairs to come reserves their generations, also where it gets none: the next
    // present pair is above all of them.
    let isMeasured = report.subject.purpose == .measurement
    let reserved =
      isMeasured && report.takesUpcoming
      ? Predictions.reserved(from: terms.generation) : terms.generation
    if deviceNote == nil { deviceNote = DeviceNote() }
    deviceNote!.note(
      report, judgement, key: keySeen, code: code, peer: snapshot.policy.tracksAddress ? peer : nil,
      at: now.whole)
    if let handle, let api = snapshot.apis[report.subject.name.lowercased()], let gate = api.gate {
      deviceNote!.note(handle, at: gate, of: snapshot.gates.keys)
    }
    let sighting = DeviceSighting(
      over: desk.known?.version ?? 0, generation: raises ? reserved : 0,
      mustRaiseGeneration: raises, gate: raises ? terms.asker.gate : nil, note: deviceNote!.bytes,
      strings: result.strings)
    let (granted, obstacles) = (result.granted, result.obstacles)
    let (service, desk) = (service, desk)
    return spending.spend(answer, for: sighting) {
      if let granted { service.noteGrant(granted) }
      service.metrics.count(judgement.isPassed ? .passed : .failed)
      if report.subject.purpose == .gate {
        service.metrics.count(
          !raises ? .admissionsRefused : judgement.isPassed ? .admissions : .admissionsFailed)
      }
      desk.log(
        judgement.isPassed ? "passed" : "failed",
        [("arc", code), ("properties", judgement.properties.text)]
          + obstacles.map { ("upcoming", "none, \($0)") }, handle: handle)
    }
  }

  /// Whether the report proves that its key is in the TPM that the challenge's credential was for.
  private var isKeyProved: Bool {
    guard let claim = report.key, let epoch = terms.epoch else { return false }
    return snapshot.saltKeys[epoch]?.isProved(claim, under: report.salt) ?? false
  }

  private func responseCode(_ judgement: Judgement) -> String {
    guard snapshot.policy.hasResponseCodes else { return "" }
    let noise = RandomSource.bytes(2).reduce(0) { $0 << 8 | UInt64($1) }
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

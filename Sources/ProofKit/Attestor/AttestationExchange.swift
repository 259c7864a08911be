// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// One fetch: question, challenge, measurement, report, answer. It changes no state; its findings
/// are in its result.
struct AttestationExchange {
  /// The result of a fetch.
  struct Outcome: Sendable {
    var result: FetchResult
    /// The uptime until which the result may be handed out again; nil if it may not.
    var goodUntil: Duration?
    /// The environment before anything was measured, for results that are kept.
    var environment: EvidenceSet?
    /// A configuration that is newer than the one held.
    var configuration: AccountConfiguration?
    var forcedPinsSerial: UInt32 = 0
    /// The account's key for signed messages, if it came with a token.
    var messageKey: MessageKey?
    /// The way to measure that the service asks for, also for the quick check of the environment.
    var pace: ObservationPace?

    init(_ result: FetchResult) { self.result = result }
  }

  let channel: ServiceChannel
  let surroundings: Surroundings
  let settings: Settings
  let request: FetchRequest
  let pace: ObservationPace

  /// The parts that an attestor is made from.
  struct Surroundings: Sendable {
    let observer: any EvidenceObserver
    let key: MeasurementProofKey
    let installationKey: (any InstallationKey)?
    let appName: String
    let clock: AttestorClock
  }

  /// The app's own statements beside the evidence. The number changes with every change.
  struct Settings: Sendable {
    var userProperty = ""
    var developmentKey = ""
    var dataHash: Digest?
    var activity: Activity?
    /// Whether the next report says that hardware found another measurement.
    var reportsMeasurementError = false
    /// Hardware that has told of another copy of the app, as far as the service does not know it.
    var copySightings: Set<HardwareID> = []
    var number: UInt64 = 0
  }

  /// Runs the fetch, on the calling thread.
  func run() -> Outcome {
    var channel = channel
    var outcome: Outcome
    do throws(Failure) {
      outcome = try channel.reach { channel throws(Failure) in try round(&channel) }
    } catch {
      outcome = Outcome(error.result)
    }
    outcome.configuration = channel.newConfiguration
    return outcome
  }

  private func round(_ channel: inout ServiceChannel) throws(Failure) -> Outcome {
    let environment = try observe(pace.environment)
    let storage = try observe([InstanceID.secret])
    let device = InstanceID(of: storage.evidence, account: channel.initial.account)
    let (challenge, claim) = try challenge(for: device, &channel)
    let (report, measured, evidence) = try report(challenge, claim, of: channel)
    let sent = surroundings.clock.uptime()
    let response = try channel.send(report: report)
    let answer: AttestationAnswer
    do throws(ProofError) {
      answer = try AttestationAnswer(
        response.body, to: challenge.draft.salt, with: surroundings.key)
    } catch {
      throw Failure(
        .noService, "what answers is no answer of the service: \(error)",
        response.body.isEmpty ? .empty : .garbled)
    }
    let admitted = try admitted(answer, measured, evidence, response.serverTime)
    var outcome = try outcome(
      of: answer, measured, admitted, tokenEnd: sent + .seconds(answer.tokenLifetime))
    outcome.pace = ObservationPace(challenge.draft)
    outcome.environment = environment.evidence
    outcome.forcedPinsSerial = answer.forcedPinsSerial
    outcome.messageKey = answer.messageKey
    outcome.goodUntil = life(of: outcome.result, answer).map { sent + $0 }
    if answer.configSerial > channel.configuration?.serial ?? 0 {
      // Ignore a failure: the answer is valid without a new configuration, and the next fetch tries
      // again.
      try? channel.updateConfiguration()
    }
    return outcome
  }

  private func observe(_ sources: [Source]) throws(Failure) -> Observation {
    do throws(ProofError) {
      return try surroundings.observer.observe(
        sources, policy: pace.policy, limitLog2: pace.limitLog2,
        cancellation: channel.cancellation)
    } catch {
      throw Failure(error)
    }
  }

  private func report(
    _ challenge: AttestationChallenge, _ claim: InstallationClaim?, of channel: ServiceChannel
  ) throws(Failure) -> (bytes: [UInt8], measured: FetchResult.Measured, evidence: EvidenceSet) {
    var refusal: InstallationKeyError?
    do throws(ProofError) {
      let draft = challenge.draft
      let observation = try surroundings.observer.observe(
        draft.sources, policy: draft.policy, limitLog2: draft.limitLog2,
        cancellation: channel.cancellation)
      var properties = observation.properties(
        appName: surroundings.appName, activity: settings.activity,
        withholding: surroundings.observer.collection)
      // These decide about the answer, so they stand before those for people, which may be cut.
      var first: [AttestationReport.Property] = []
      if request.purpose == .measurement {
        let (name, value) = UpcomingPair.property
        first.append(AttestationReport.Property(name, value))
      }
      if !settings.copySightings.isEmpty {
        first.append(
          AttestationReport.Property(Ratchet.copyProperty, "\(settings.copySightings.count)"))
      }
      properties = Array((first + properties).prefix(AttestationWire.propertiesMax))
      let subject = AttestationReport.Subject(
        request.purpose, name: request.name, payload: request.payload,
        userProperty: settings.reportsMeasurementError ? "$error" : settings.userProperty,
        developmentKey: settings.developmentKey, dataHash: request.dataHash ?? settings.dataHash,
        properties: properties)
      var made = try AttestationReport.make(
        subject, of: observation.evidence, answering: challenge,
        account: channel.initial.account, configSerial: channel.configuration?.serial ?? 0,
        sdkVersion: CoreProbe.version, with: surroundings.key,
        withholding: surroundings.observer.collection,
        signedBy: claim.map { claim in (claim, { sign($0, &refusal) }) })
      // The tag ends the report. If the environment has changed, this replaces the tag, and the
      // service rejects the report.
      var tag = try Proof(Array(made.bytes.suffix(Proof.byteCount)))
      try surroundings.observer.release(&tag, after: nil)
      made.bytes.replaceSubrange((made.bytes.count - Proof.byteCount)..., with: tag.bytes)
      let instance = InstanceID(of: observation.evidence, account: channel.initial.account)
      return (made.bytes, (made.config, instance), observation.evidence)
    } catch {
      if let refusal { throw Failure(refusal) }
      throw Failure(error)
    }
  }

  private func outcome(
    of answer: AttestationAnswer, _ measured: FetchResult.Measured, _ admitted: Admitted?,
    tokenEnd: Duration
  ) throws(Failure) -> Outcome {
    func result(_ status: FetchStatus, _ reason: String = "") -> Outcome {
      Outcome(
        FetchResult(
          status, token: status == .success ? answer.token : "",
          tokenEnd: status == .success ? tokenEnd : nil,
          secureString: status == .success ? answer.secureString : nil,
          arc: answer.responseCode,
          rejectionReasons: status == .badPayload ? "" : answer.rejectionReasons,
          measured: status == .success && request.purpose == .measurement ? measured : nil,
          reason: reason, admitted: admitted,
          stringKeys: status == .success ? answer.stringKeys : [],
          upcoming: status == .success ? answer.upcoming : []))
    }
    guard request.purpose != .stringKey || answer.outcome != .done || !answer.stringKeys.isEmpty
    else { throw Failure(.noService, "the service's answer has no key of strings", .garbled) }
    switch answer.outcome {
    case .done: return result(.success)
    case .unknownDomain: return result(.unknownURL, "the account has no API \(request.name)")
    case .unprotectedDomain: return result(.unprotectedURL)
    case .rejected: return result(.rejected, "the app failed the attestation")
    case .disabled: return result(.disabled, "the account has not switched this on")
    case .unknownKey: return result(.unknownKey, "there is no secure string of this name")
    case .badKey: return result(.badKey, "the service does not take this name")
    case .badPayload:
      let reason = Observation.line(answer.rejectionReasons)
      return result(
        .badPayload, reason.isEmpty ? "the service does not take these claims" : reason)
    case .askAgain:
      throw Failure(
        .noService, "the service does not know the salt it gave", isWorthAnotherRound: true)
    case .unbelievable:
      return result(.internalError, "the service could not reproduce the measurement")
    case .notEncrypted:
      return result(
        .badURL, "tokens of \(request.name) are not encrypted, so no measurement is sent there")
    case .noGate: return result(.badURL, "the API \(request.name) has no gate")
    }
  }

  /// Checks an answer's admission, and derives the name under which the gate knows the app that was reported.
  private func admitted(
    _ answer: AttestationAnswer, _ measured: FetchResult.Measured, _ evidence: EvidenceSet,
    _ serverTime: UnixTime?
  ) throws(Failure) -> Admitted? {
    guard request.purpose == .gate, answer.outcome == .done else { return nil }
    guard let admission = answer.admission,
      admission.generation == measured.config.generation
    else {
      throw Failure(
        .noService, "the service's admission is not the one that was asked for", .garbled)
    }
    do throws(ProofError) {
      let measurement = try Measurement(
        of: evidence, under: measured.config, with: surroundings.key)
      let secret = try GateSecret(
        of: measurement, for: admission.gate, instance: measured.instance,
        generation: admission.generation, with: surroundings.key)
      return Admitted(
        admission: admission, config: measured.config, instance: measured.instance,
        handle: secret.keys.handle, serverTime: serverTime)
    } catch {
      throw Failure(.internalError, "\(error)")
    }
  }

  /// The time after the report for which a result may be handed out again. The service tells a
  /// token's lifetime, because the SDK cannot read an encrypted token. No wall clock is used.
  private func life(of result: FetchResult, _ answer: AttestationAnswer) -> Duration? {
    switch result.status {
    case .unknownURL, .unprotectedURL: return AttestorTimes.unprotected
    case .success: break
    default: return nil
    }
    guard request.isKept else { return nil }
    let life =
      result.token.isEmpty
      ? AttestorTimes.life : min(AttestorTimes.life, .seconds(answer.tokenLifetime))
    let kept = life - AttestorTimes.margin(of: life)
    return kept > .zero ? kept : nil
  }

  /// The reason why a round ended early.
  struct Failure: Error {
    let result: FetchResult
    let isWorthAnotherRound: Bool
    /// Whether another address of the service may give another answer.
    let isOfAddress: Bool

    init(
      _ status: FetchStatus, _ reason: String, _ fault: ServiceFault? = nil,
      isWorthAnotherRound: Bool = false, isFinal: Bool = false
    ) {
      result = FetchResult(status, reason: reason, fault: fault)
      self.isWorthAnotherRound = isWorthAnotherRound
      isOfAddress = !isFinal && Self.rank(status) != nil
    }

    /// The failure of all addresses: the most telling of their statuses, and the reason of each.
    static func all(_ failures: [(place: ServicePlace, failure: Failure)]) -> Failure {
      var worst = failures[0].failure
      for (_, failure) in failures.dropFirst()
      where rank(failure.result.status) ?? 0 > rank(worst.result.status) ?? 0 {
        worst = failure
      }
      guard failures.count > 1 else { return worst }
      let reasons = failures.map { "\($0.place.url): \($0.failure.result.reason)" }
      return Failure(
        worst.result.status, reasons.joined(separator: "; "), worst.result.fault)
    }

    /// How much a status tells of the service; nil for one that is not about its address. “No
    /// service” says more than an address that cannot be reached: the network is there.
    private static func rank(_ status: FetchStatus) -> Int? {
      switch status {
      case .noNetwork: 0
      case .poorNetwork: 1
      case .noService: 2
      case .mitmDetected: 3
      default: nil
      }
    }

    /// The app could not be measured.
    init(_ error: ProofError) {
      result = FetchResult(.internalError, reason: "\(error)", measurement: error)
      isWorthAnotherRound = false
      isOfAddress = false
    }

    init(_ error: InstallationKeyError) { self.init(.keyUnavailable, error.description) }

    init(_ error: TransportError) {
      let status: FetchStatus
      switch error {
      case .unreachable: status = .noNetwork
      case .timedOut, .brokenOff: status = .poorNetwork
      case .untrusted: status = .mitmDetected
      case .garbled: status = .noService
      case .cancelled, .refused: status = .internalError
      }
      var isWorthAnotherRound = false
      if case .brokenOff = error { isWorthAnotherRound = true }
      self.init(status, error.description, isWorthAnotherRound: isWorthAnotherRound)
    }
  }
}

/// The way the app measures between attestations: as the service asked last, so that cached digests
/// stay valid.
struct ObservationPace: Sendable, Hashable {
  var policy = MeasurementPolicy.incremental
  var limitLog2: UInt8 = 33

  init() {}

  init(_ draft: BaselineDraft) {
    policy = draft.policy
    limitLog2 = draft.limitLog2
  }

  /// The sources to look at each time a kept token is handed out: debugger, preloading, loaded
  /// objects, executable memory, private code pages, instrumentation.
  var environment: [Source] { Self.watched }

  private static let watched = CoreProbe.sources.filter { source in
    source.id.evidenceClass == .environment && [1, 2, 3, 4, 5, 7].contains(source.id.number)
  }
}

extension InstanceID {
  /// The source of the storage secret, from which the id is made.
  static let secret: Source = {
    guard
      let source = CoreProbe.sources.first(where: { source in
        source.id.evidenceClass == .device && source.id.number == secretSource
      })
    else { preconditionFailure("The probe has no storage secret.") }
    return source
  }()
}

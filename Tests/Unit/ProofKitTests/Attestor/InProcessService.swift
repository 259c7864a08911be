// SPDX-License-Identifier: Apache-2.0

import ProofModel

@testable import ProofKit

/// A service within the test's process: speaks the messages of docs/SERVICE.md through ProofModel, and
/// is its own transport. What a real network does is tested by ProofKitHTTPTests.
final class InProcessService: Transport {
  struct State {
    var serial: UInt32 = 1
    /// The configuration given out in place of the account's own.
    var configurationText: String?
    var forced: UInt32 = 0
    var pins: [String: [String]] = [:]
    var outcome = AttestationAnswer.Outcome.done
    var tokenLife: UInt32 = 300
    var isEncrypted = false
    var secureString: String?
    var messageKey: MessageKey?
    var stringKeys: [StringKey] = []
    var time: UnixTime? = 1_900_000_000
    var failure: TransportError?
    /// Failures of the next requests, one after the other; nil: none. Then `failure` counts.
    var failures: [TransportError?] = []
    var salt: UInt8 = 0
    var drafts: [Salt: BaselineDraft] = [:]
    /// Each report that spent a salt, and its answer: the same report gets it again.
    var answered: [Salt: (report: [UInt8], answer: [UInt8])] = [:]
    /// How many of the next answers to reports do not arrive.
    var lostAnswerCount = 0
    /// Changes an answer before it is sent: path and bytes.
    var tamper: (@Sendable (String, [UInt8]) -> [UInt8])?
    var status = 200
    var counts: [String: Int] = [:]
    var subjects: [AttestationReport.Subject] = []
    var devices: Set<InstanceID> = []
    var pinsAsked: [[String]] = []
    /// Makes the admission to a gate: of a measurement that was reported.
    var admit: (@Sendable (Measurement, InstanceID, UInt32) throws -> GateAdmission)?
    /// The host of each question of purpose gate.
    var hostsAsked: [String] = []
    var timeouts: [Duration] = []
    /// The host, with its port, of each request.
    var hostsReached: [String] = []
    var connectHosts: [String?] = []
    /// Each report, and what each question withholds.
    var reports: [[UInt8]] = []
    var withheld: [CollectionMode] = []
    /// Asks for every source, whatever the app withholds.
    var ignoresCollection = false
    /// Failures and statuses of single hosts.
    var hostFailures: [String: TransportError] = [:]
    var hostStatuses: [String: Int] = [:]
    /// The reason with which claims are refused.
    var payloadReason = ""
  }

  let account: String
  let issuer: IssuerKey
  let state = CoreLock(State())
  /// Called with each request's path before it is answered, on the fetch's thread.
  let gate: @Sendable (String, Cancellation) -> Void

  init(
    _ account: String = "acme", issuer: IssuerKey = .random(),
    gate: @escaping @Sendable (String, Cancellation) -> Void = { _, _ in }
  ) {
    self.account = account
    self.issuer = issuer
    self.gate = gate
  }

  func count(_ path: String) -> Int { state.withLock { $0.counts[path, default: 0] } }

  func set(_ change: (inout State) -> Void) { state.withLock { change(&$0) } }

  var shortForm: String {
    "#\(account)@attest.example.com#"
      + Base64.encode(AccountConfiguration.fingerprint(of: issuer.publicKey).bytes)
  }

  func configuration(
    serial: UInt32? = nil, account: String? = nil, signer: IssuerKey? = nil,
    claims: [String: String] = [:], header: String = #"{"alg":"EdDSA"}"#
  ) -> String {
    let state = state.withLock { (serial: $0.serial, pins: $0.pins, forced: $0.forced) }
    var all = [
      "acc": JSONText.quote(account ?? self.account), "ser": "\(serial ?? state.serial)",
      "iat": "1900000000", "url": JSONText.quote("https://attest.example.com"),
      "key": JSONText.quote(Base64.encode(issuer.publicKey.bytes, .url)),
      "spk": #"["\#(pin(9))"]"#, "pin": Pins(state.pins).json,
      "dom": #"{"api.example.com":"token"}"#, "fps": "\(state.forced)",
    ]
    all.merge(claims) { $1 }
    let payload = "{" + all.map { JSONText.quote($0) + ":" + $1 }.joined(separator: ",") + "}"
    let signed =
      Base64.encode(Array(header.utf8), .url) + "."
      + Base64.encode(Array(payload.utf8), .url)
    let signature = CoreCrypto.sign(Array(signed.utf8).span, with: signer ?? issuer)
    return signed + "." + Base64.encode(signature, .url)
  }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let rest = request.url.dropFirst("https://".count)
    let host = String(rest.prefix { $0 != "/" })
    let path = String(rest.dropFirst(host.utf8.count).prefix { $0 != "?" })
    let kind = path.hasPrefix("/v1/config/") ? "config" : String(path.dropFirst("/v1/".count))
    state.withLock {
      $0.counts[kind, default: 0] += 1
      $0.pinsAsked.append(request.pins)
      $0.timeouts.append(request.timeout)
      $0.hostsReached.append(host)
      $0.connectHosts.append(request.connectHost)
    }
    gate(kind, request.cancellation)
    if request.cancellation.isCancelled { throw .cancelled }
    let (failure, usual, time, tamper) = state.withLock {
      ($0.failures.isEmpty ? $0.failure : $0.failures.removeFirst(), $0.status, $0.time, $0.tamper)
    }
    if let failure = failure ?? state.withLock({ $0.hostFailures[host] }) { throw failure }
    let status = state.withLock { $0.hostStatuses[host] } ?? usual
    if status != 200 { return TransportResponse(status: status, body: Array("no\n".utf8)) }
    let body: [UInt8]
    switch kind {
    case "config":
      let newest = state.withLock { ($0.serial, $0.configurationText) }
      let asked = UInt32(request.url.split(separator: "=").last ?? "") ?? 0
      if asked >= newest.0 { return TransportResponse(status: 204, body: [], serverTime: time) }
      body = Array((newest.1 ?? configuration()).utf8)
    case "challenge": body = challenge(request.body ?? [])
    case "report":
      body = answer(request.body ?? [])
      let isLost = state.withLock { state in
        defer { state.lostAnswerCount = max(0, state.lostAnswerCount - 1) }
        return state.lostAnswerCount > 0
      }
      if isLost { throw .brokenOff("the answer was lost") }
    default: return TransportResponse(status: 404, body: [])
    }
    return TransportResponse(status: 200, body: tamper?(kind, body) ?? body, serverTime: time)
  }

  private func challenge(_ body: [UInt8]) -> [UInt8] {
    guard let question = try? AttestationQuestion(body) else { return [] }
    return state.withLock { state in
      state.devices.insert(question.device)
      state.withheld.append(question.withheld)
      if question.purpose == .gate { state.hostsAsked.append(question.host) }
      state.salt += 1
      guard let salt = try? Salt([UInt8](repeating: state.salt, count: 16)),
        let draft = try? BaselineDraft(
          salt: salt,
          sources: Probe.sources.filter {
            state.ignoresCollection || !question.withheld.withholds($0.id)
          }, policy: .incremental,
          generation: UInt32(state.salt))
      else { return [] }
      state.drafts[salt] = draft
      return AttestationChallenge(
        draft, lifetime: 60, configSerial: state.serial, key: question.hasKey ? .nothing : nil
      ).bytes
    }
  }

  private func answer(_ body: [UInt8]) -> [UInt8] {
    guard let report = try? AttestationReport(body) else { return [] }
    return state.withLock { state in
      func say(_ outcome: AttestationAnswer.Outcome) -> AttestationAnswer {
        AttestationAnswer(
          to: report.salt, outcome, configSerial: state.serial, forcedPinsSerial: state.forced)
      }
      state.subjects.append(report.subject)
      state.reports.append(body)
      state.devices.insert(report.device)
      if let (first, answer) = state.answered[report.salt], first == body { return answer }
      guard let draft = state.drafts.removeValue(forKey: report.salt) else {
        return say(.askAgain).bytes(with: .sdk)
      }
      guard (try? report.measurement(under: draft, with: .sdk)) != nil else {
        return say(.unbelievable).bytes(with: .sdk)
      }
      var answer = say(state.outcome)
      answer.responseCode = "ABCDEFGHIJ"
      answer.rejectionReasons =
        state.outcome == .rejected
        ? "debug,root" : state.outcome == .badPayload ? state.payloadReason : ""
      if state.outcome == .done {
        if report.subject.purpose == .secureString {
          answer.secureString = state.secureString
        } else if report.subject.purpose == .stringKey {
          answer.stringKeys = state.stringKeys
        } else if report.subject.purpose == .gate {
          guard let measurement = try? report.measurement(under: draft, with: .sdk),
            let instance = try? InstanceID(report.device.bytes),
            let admission = try? state.admit?(measurement.measurement, instance, draft.generation)
          else { return say(.noGate).bytes(with: .sdk) }
          answer.admission = admission
        } else {
          answer.tokenLifetime = state.tokenLife
          answer.token = token(state, report.salt)
          answer.messageKey = report.subject.purpose == .customJWT ? nil : state.messageKey
        }
      }
      let bytes = answer.bytes(with: .sdk)
      state.answered[report.salt] = (body, bytes)
      return bytes
    }
  }

  private func token(_ state: State, _ salt: Salt) -> String {
    if state.isEncrypted { return "e30..AAAA.AAAA.\(salt)" }
    let claims = #"{"exp":\#((state.time ?? 1_900_000_000) + state.tokenLife),"did":"x"}"#
    return "e30." + Base64.encode(Array(claims.utf8), .url) + "."
      + Base64.encode(Array(salt.bytes), .url)
  }
}

/// A well-formed pin of a key that does not exist.
func pin(_ number: UInt8) -> String { Base64.encode([UInt8](repeating: number, count: 32)) }

/// Evidence that a test changes.
final class Scene: EvidenceObserver {
  let collection: CollectionMode

  init(withholding collection: CollectionMode = []) { self.collection = collection }

  struct State {
    /// Input of every source's digest, by class.
    var looks: [EvidenceClass: UInt8] = [:]
    var alarms: [Observation.Alarm] = []
    /// Called with each observation: looking takes time, say.
    var isLooking: (@Sendable () -> Void)?
    /// Could end the last observation; nil once its last holder, such as the fetch, released it.
    weak var cancellation: Cancellation?
    var failure: ProofError?
    var count = 0
  }

  let state = CoreLock(State())

  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    let state = state.withLock { state in
      state.count += 1
      state.cancellation = cancellation
      return state
    }
    state.isLooking?()
    if cancellation.isCancelled { throw .evidenceUnavailable(reason: "cancelled") }
    if let failure = state.failure { throw failure }
    var records: [EvidenceRecord] = []
    for source in sources {
      let look = state.looks[source.id.evidenceClass, default: 0]
      records.append(
        try EvidenceRecord(
          source.id, name: "all",
          digest: Digest(hashing: Array("\(source.id) \(look)".utf8))))
    }
    return Observation(try EvidenceSet(records), alarms: state.alarms)
  }

  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try checkWithheld(config.sources)
    return try observe(
      config.sources, policy: config.policy, limitLog2: 33, cancellation: Cancellation()
    ).evidence
  }
}

/// A clock that a test sets.
final class ManualClock: Sendable {
  let uptime = CoreLock(Duration.seconds(1000))
  /// The time of day at uptime 0.
  let boot = CoreLock<UnixTime>(1_900_000_000)

  func advance(_ by: Duration) { uptime.withLock { $0 += by } }

  var now: UnixTime { boot.withLock { $0 } + uptime.withLock { $0.components.seconds } }

  var clock: AttestorClock {
    AttestorClock(uptime: { self.uptime.withLock { $0 } }, time: UnixClock { self.now })
  }
}

/// An attestor with everything around it.
struct Stage {
  let service: InProcessService
  let scene: Scene
  let time: ManualClock
  let attestor: Attestor

  init(
    _ service: InProcessService = InProcessService(), time: ManualClock = ManualClock(),
    isInitialized: Bool = true, route: ServiceRoute = ServiceRoute(),
    claims: [String: String] = [:],
    withholding collection: CollectionMode = []
  ) throws {
    scene = Scene(withholding: collection)
    self.service = service
    self.time = time
    attestor = Attestor(
      observer: scene, over: service, route: route, appName: "door", clock: time.clock)
    if isInitialized { try attestor.initializeAndWait(service.configuration(claims: claims)) }
  }
}

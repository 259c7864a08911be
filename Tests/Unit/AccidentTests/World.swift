// SPDX-License-Identifier: Apache-2.0

import FolderModel
import HTTPServing
import ProofBackend
import ProofJOSE
import ProofKit
import ProofModel
import Testing

@testable import ProofService

/// Everything beyond the phone and the lock: the attestation service, a backend that issues tokens, the network to both.
/// All three are the real ones, in this process.
final class World: Transport {
  static let beginning: UnixTime = 1_800_000_000
  static let api = "lock.example.com"
  static let unlockURL = "https://lock.example.com/unlock"
  static let day: Int64 = 86_400

  private struct State {
    var time = World.beginning
    /// Seconds by which the backend's clock is wrong.
    var backendError: Int64 = 0
    var isOnline = true
    var requestCount = 0
    var issuer: IssuerKey
    var nextIssuer: IssuerKey
    var permissions: GrantPermissions
    /// The ratchets of single locks.
    var ratchets: [HardwareID: RatchetPolicy] = [:]
    /// The rights of single instances.
    var rights: [InstanceID: GrantPermissions] = [:]
  }

  let management: Management
  let service: AttestationService
  private let registry: AccountHardware
  private let ledger: IssueLedgerFile
  private let state: CoreLock<State>

  init() throws {
    // A class captures no `self` before all is set, so the clock has a lock of its own.
    let state = CoreLock(
      State(
        issuer: .random(), nextIssuer: .random(),
        permissions: GrantPermissions(
          .all, deviceClasses: CommandClasses(1), attempts: 5, uses: .limited(1000))))
    self.state = state
    let clock = UnixClock { state.withLock { $0.time } }
    let store = MemoryStore()
    let (account, _) = try Account.create(
      "door", in: store,
      lockedBy: .keyFile(JOSESecret(copying: [UInt8](repeating: 7, count: 32).span)),
      url: "https://attest.example.com", clock: clock)
    management = Management(account, clock: clock)
    service = AttestationService(account: account, clock: clock)
    registry = try AccountHardware(in: store, factoryKey: FactoryKey(management.factoryKey()))
    ledger = try IssueLedgerFile(ModelFolder())
    try management.setServicePins([Base64.encode([UInt8](repeating: 9, count: 32))])
    let sdkKey = MeasurementProofKey.sdk.withBytes { bytes in
      JOSESecret(count: bytes.byteCount) { secret in
        for index in 0..<bytes.byteCount {
          secret[index] = unsafe bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self)
        }
      }
    }
    try management.addSDKBuild(key: sdkKey, name: "test", mode: .development)
    try management.add(API(Self.api, .measurement))
    var policy = try management.policy()
    // The evidence here has no facts about debuggers and the like; what counts is the machine and the build.
    policy.rejection = [Properties([.clonedStorage, .appNotRegistered])]
    policy.deviceRate = 0
    policy.addressRate = 0
    try management.set(policy)
    try management.register(Look().digest, name: "door 1")
  }

  // MARK: Time, network, issuer

  var time: UnixTime { state.withLock { $0.time } }
  func pass(days: Int64) { pass(seconds: days * Self.day) }
  func pass(seconds: Int64) { state.withLock { $0.time += seconds } }
  func setBackendError(_ seconds: Int64) { state.withLock { $0.backendError = seconds } }
  func goOffline() { state.withLock { $0.isOnline = false } }
  func goOnline() { state.withLock { $0.isOnline = true } }
  /// Requests that reached the network, or tried to.
  var requestCount: Int { state.withLock { $0.requestCount } }
  var issuerKey: IssuerPublicKey { state.withLock { $0.issuer.publicKey } }

  /// The key with which the backend will sign after the next rotation.
  func prepareIssuer() -> IssuerPublicKey {
    state.withLock { state in
      state.nextIssuer = .random()
      return state.nextIssuer.publicKey
    }
  }

  func rotateIssuer() { state.withLock { $0.issuer = $0.nextIssuer } }

  func permit(_ change: (inout GrantPermissions) -> Void) {
    state.withLock { change(&$0.permissions) }
  }

  func permit(_ ratchet: RatchetPolicy, at lock: HardwareID) {
    state.withLock { $0.ratchets[lock] = ratchet }
  }

  func permit(_ permissions: GrantPermissions, to instance: InstanceID) {
    state.withLock { $0.rights[instance] = permissions }
  }

  // MARK: The operator

  /// A lock, provisioned and registered.
  func lock(
    _ seed: UInt64, keepsLog: Bool = false, seals: Bool = false, keepsChannels: Bool = false,
    lends: Bool = false
  ) throws -> VirtualLock {
    let lock = try VirtualLock(
      seed: seed, issuers: [issuerKey], keepsLog: keepsLog, lends: lends, epoch: time)
    if seals { lock.seal() }
    if keepsChannels { lock.keepChannels() }
    try register(lock)
    return lock
  }

  func register(_ lock: VirtualLock) throws {
    let secret = lock.drawn.map { JOSESecret(copying: $0.span) }
    try management.addHardware(
      lock.identity, mode: .development,
      features: lock.features.subtracting([.factorySecret]), name: "door", factorySecret: secret)
  }

  /// Registers an update of a build, with the records of a reference machine.
  func registerApp(_ new: Look, updating old: Look) throws {
    let records = try EvidenceSet(
      new.records().filter {
        $0.source.evidenceClass == .app
          || ($0.source.evidenceClass == .environment && $0.source.number == 6)
      })
    try management.register(
      new.digest, name: "door \(new.app)",
      prediction: Prediction(updates: old.digest, records: records))
  }

  /// Registers an environment to come.
  func registerSystem(_ new: Look) throws {
    let records = try EvidenceSet(
      new.records().filter {
        $0.source.evidenceClass == .environment && Look.systemSources.contains($0.source.number)
      })
    try management.register(
      Prediction.name(ofEnvironment: records), name: "system \(new.system)",
      prediction: Prediction(records: records))
  }

  // `trustsClock`: whether the operator said that the clock is right.
  /// The backend's issuer, with its own clock.
  func issuer(trustsClock: Bool = false) -> MeasurementTokenIssuer {
    let (key, time) = state.withLock { ($0.issuer, $0.time + $0.backendError) }
    return MeasurementTokenIssuer(
      key, for: registry, ledger: ledger, clock: .fixed(time),
      clockStep: trustsClock ? nil : MeasurementTokenIssuer.defaultClockStep)
  }

  // MARK: The network

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let (isOnline, time) = state.withLock { state in
      state.requestCount += 1
      return (state.isOnline, state.time)
    }
    guard isOnline else { throw .unreachable("no network") }
    let rest = request.url.dropFirst("https://".count)
    let host = String(rest.prefix { $0 != "/" })
    let target = rest.dropFirst(host.utf8.count)
    let path = String(target.prefix { $0 != "?" })
    var query: [String: String] = [:]
    for pair in target.dropFirst(path.utf8.count + 1).split(separator: "&") {
      let parts = pair.split(separator: "=", maxSplits: 1)
      query[String(parts[0])] = parts.count > 1 ? String(parts[1]) : ""
    }
    switch host {
    case "attest.example.com":
      let answer = service.respond(
        to: HTTPRequest(
          method: request.body == nil ? "GET" : "POST", path: path, query: query,
          body: request.body ?? [], peer: "192.0.2.7"))
      return TransportResponse(status: answer.status, body: answer.body, serverTime: time)
    case "lock.example.com":
      let question = UnlockGrant.Request(
        method: "POST", query: query, headers: ["authorization": request.authorization ?? ""],
        body: request.body ?? [])
      guard let answer = try? unlock(question) else { throw .unreachable("the backend has no key") }
      return TransportResponse(status: answer.status, body: answer.body, serverTime: time)
    default: throw .unreachable(host)
    }
  }

  private func unlock(_ request: UnlockGrant.Request) throws -> UnlockGrant.Answer {
    let (time, permissions, ratchets, rights) = state.withLock {
      ($0.time, $0.permissions, $0.ratchets, $0.rights)
    }
    var rules = TokenVerifier.Rules()
    rules.clock = .fixed(time)
    rules.audience = Self.api
    let key = try JSONWebKey(secret: management.sealingKey(), algorithm: .direct)
    let grant = UnlockGrant(
      try TokenVerifier([key], rules: rules), issuer(),
      authorization: { _ in UnlockGrant.User("ada") },
      permit: { application in
        var permitted = rights[application.app.instance] ?? permissions
        permitted.ratchet = ratchets[application.hardware] ?? permitted.ratchet
        return permitted
      })
    return grant.answer(request)
  }
}

/// The look of a phone to a measurement. A test changes it.
struct Look: Sendable, Hashable {
  /// The build of the app.
  var app = 1
  /// The kernel, the system libraries and the links to them.
  var system = 1
  /// Facts of the device that differ from the first ones, by source; nil for one that cannot be read.
  var device: [UInt8: String?] = [:]
  /// The storage secret of this user on this machine.
  var secret = "first user"

  static let systemSources: [UInt8] = [8, 9]
  private static let executable = Array("executable".utf8)

  func record(of source: SourceID) throws(ProofError) -> EvidenceRecord {
    var text: String? = "\(source)"
    var name = Array("all".utf8)
    switch (source.evidenceClass, source.number) {
    case (.device, InstanceID.secretSource): text = secret
    case (.device, let number): if let other = device[number] { text = other }
    case (.app, 3): text = "files of build \(app)"
    case (.app, _), (.environment, 6):
      text = "\(source) of build \(app)"
      name = Self.executable
    case (.environment, let number):
      if Self.systemSources.contains(number) { text = "\(source) of system \(system)" }
    }
    return try EvidenceRecord(
      source, name: name, digest: text.map { Digest(hashing: Array($0.utf8)) })
  }

  func records() throws -> [EvidenceRecord] {
    let sources: [(EvidenceClass, ClosedRange<UInt8>)] = [
      (.device, 1...5), (.app, 1...4), (.environment, 1...10),
    ]
    return try sources.flatMap { kind, numbers in
      try numbers.map { try record(of: SourceID(kind, $0)) }
    }
  }

  var digest: AppDigest {
    get throws { AppDigest(of: try EvidenceSet(records())) }
  }
}

/// Observes a look, and files of a bundle if there is one.
final class Eyes: EvidenceObserver {
  private let look: CoreLock<Look>
  /// Observes source 3 of the app, its bundle, in real files.
  private let files: CoreLock<Probe?>

  init(_ look: Look, files: Probe? = nil) {
    self.look = CoreLock(look)
    self.files = CoreLock(files)
  }

  func set(_ change: (inout Look) -> Void) { look.withLock { change(&$0) } }
  func set(files probe: Probe?) { files.withLock { $0 = probe } }
  var now: Look { look.withLock { $0 } }

  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    let (look, probe) = (look.withLock { $0 }, files.withLock { $0 })
    var records: [EvidenceRecord] = []
    for source in sources {
      if let probe, source.id.evidenceClass == .app, source.id.number == 3 {
        records += try probe.observe(
          [source], policy: policy, limitLog2: limitLog2, cancellation: cancellation
        ).evidence.records
      } else {
        records.append(try look.record(of: source.id))
      }
    }
    return Observation(try EvidenceSet(records))
  }

  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try observe(
      config.sources, policy: config.policy, limitLog2: 33, cancellation: Cancellation()
    ).evidence
  }
}

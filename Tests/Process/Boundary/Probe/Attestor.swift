// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel

/// A transport without a network.
struct Nowhere: Transport {
  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    if request.cancellation.isCancelled { throw .cancelled }
    try? request.cancellation.withHandler({}, { () throws(TransportError) in })
    if request.body == nil && request.pins.isEmpty && request.responseLimit > 0 {
      throw .unreachable("\(request.url) within \(request.timeout)")
    }
    let response = TransportResponse(status: 503, body: [], serverTime: nil)
    if response.status == 0 && response.body.isEmpty && response.serverTime == nil {
      throw .refused("")
    }
    return response
  }
}

/// Evidence that is always the same.
struct Still: EvidenceObserver {
  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    var records: [EvidenceRecord] = []
    for source in sources {
      records.append(try EvidenceRecord(source.id, name: "x", digest: nil))
    }
    let alarm = Observation.Alarm(sources[0].id, name: "x", words: "wrong")
    let observation = Observation(try EvidenceSet(records), alarms: [alarm])
    let isWhole = observation.alarms.allSatisfy { $0.source == alarm.source && $0.name == "x" }
    return isWhole && alarm.words == "wrong" ? observation : Observation(observation.evidence)
  }

  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try observe(
      config.sources, policy: config.policy, limitLog2: 20, cancellation: Cancellation()
    ).evidence
  }
}

/// An attestor without a network, whose evidence stays the same.
func stillAttestor(
  storage: String, _ change: (inout Configuration) -> Void = { _ in }
) throws(SetupError) -> Attestor {
  let digest = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
  var configuration = Configuration(
    account: "#a@127.0.0.1:1#\(digest)", bundle: nil, storage: storage)
  change(&configuration)
  return try Attestor(configuration, using: Parts(probe: Still(), transport: Nowhere()))
}

/// Region, IP version, endpoint, collection mode, and every other setting.
private func probeConfiguration(_ storage: String) throws {
  let region = try ServiceRegion("eu-1")
  try expect(ServiceRegion.home != .abroad && region.name == "\(region)")
  try expect(ServiceRegion.nameMax == 32 && AddressFamily.allCases == [.any, .v4, .v6])
  do {
    _ = try ServiceEndpoint(url: "x")
    try expect(false)
  } catch let error as SetupError { try expect(error.code == "SETUP-8") }
  let mode: CollectionMode = [.withoutBasicFacts, .withoutUniqueIdentifiers, .withoutExtras]
  try expect(mode == .notGranted && mode.rawValue == 7 && !mode.description.isEmpty)
  try expect(mode.withholds(SourceID(.device, 1)) && Still().collection.isEmpty)
  var options = Probe.Options(collection: mode)
  options.collection = []
  try expect(options.collection.isEmpty)
  try expect(!ProofError.evidenceWithheld([]).description.isEmpty)

  var network = Configuration.Network()
  network.authorities = "authority.pem"
  network.allowsPlainLoopback = true
  network.addressFamily = .v6
  network.region = region
  network.endpoint = try ServiceEndpoint(url: "https://10.1.2.3", host: "attest.example.com")
  let attestor = try stillAttestor(storage: storage) { configuration in
    configuration.folders = [Probe.Folder("lib", path: "/usr/lib")]
    configuration.plugins = ["libfoo.so.1"]
    configuration.collection = mode
    configuration.network = network
    configuration.installationKey = nil
    configuration.developmentKey = "key"
    configuration.appName = "door"
    configuration.log = .none
    configuration.presenter = TerminalPresenter(write: { print($0) })
    configuration.challenges = ChallengeSettings()
  }
  let plain = Configuration(account: "", bundle: "files", storage: storage)
  try expect(plain.account.isEmpty && plain.bundle == "files" && plain.storage == storage)
  do {
    try attestor.reconfigure(plain)
    try expect(false)
  } catch let error as SetupError { try expect(error == .needsNewAttestor(setting: "bundle")) }
  let offline = try Parts.offline(Configuration(account: "", storage: storage))
  try expect(offline.clock.uptime() >= .zero)
  try expect(offline.probe is Probe && !(offline.transport is Nowhere))
}

func probeAttestor(in storage: String) async throws {
  let clock = AttestorClock(uptime: { .zero }, time: .fixed(7))
  try expect(clock.uptime() == .zero && clock.time.now == 7)
  try expect(AttestorClock.system.uptime() >= .zero)
  try probeConfiguration(storage)
  let attestor = try stillAttestor(storage: storage)
  try attestor.setNote("a note")
  try attestor.setActivity("unlock")
  attestor.reportMeasurementError()
  try expect(attestor.accountConfiguration.hasPrefix("#a@"))
  let pins: Pins = attestor.pins
  try expect(pins.byHost.isEmpty && pins.serial == 0 && !pins.mustReplace(pins))
  try expect(!pins.json.isEmpty)
  try await probeTokens(attestor)
  try await probeEnrolment(attestor)
  try probePins()
  try await probeSetupErrors(attestor)
  let times = [
    AttestorTimes.startUp, AttestorTimes.configuration, AttestorTimes.fetch, AttestorTimes.failure,
    AttestorTimes.unprotected, AttestorTimes.life, AttestorTimes.wait, AttestorTimes.failover,
  ]
  try expect(times.allSatisfy { $0 > .zero })
  let cancellation = Cancellation()
  cancellation.cancel()
  try expect(cancellation.isCancelled)
}

/// Tokens, which a service that is not there does not give.
private func probeTokens(_ attestor: Attestor) async throws {
  func fails(_ body: () async throws(AttestationError) -> Void) async throws -> AttestationError {
    do throws(AttestationError) {
      try await body()
    } catch { return error }
    throw Unexpected(description: "a token without a service")
  }
  let error = try await fails { () async throws(AttestationError) in
    let token: Token = try await attestor.token(for: "api.example.com", boundTo: [1])
    _ = (token.text, token.timeLeft, token.attestationCode, token.rejectionReasons)
    _ = (token.description, token.customMirror)
  }
  let mender: Mender = error.whoCanMend
  try expect(error.reason == .noNetwork && error.code == "SDK-1" && mender == .user)
  let reference: Reference? = error.reference
  try expect(!error.mayProceedWithoutToken && error.measurement == nil && reference == nil)
  try expect(error.attestationCode == nil && error.rejectionReasons.isEmpty)
  try expect(error.description.contains(error.reason.description))
  let measured = try await fails { () async throws(AttestationError) in
    let token: MeasuredToken = try await attestor.measuredToken(for: "api.example.com")
    _ = (token.token, token.config, token.instance, token.generation)
  }
  try expect(measured.reason == .noNetwork)
  let custom = try await fails { () async throws(AttestationError) in
    _ = try await attestor.customToken(claims: "[")
  }
  try expect(custom.reason == .invalidArgument)
  let signing = try await fails { () async throws(AttestationError) in
    let signature: MessageSignature = try attestor.signature(of: [1])
    _ = (signature.bytes, signature.description)
  }
  try expect(signing.reason == .noMessageKey)
  let update = try await fails { () async throws(AttestationError) in try await attestor.update() }
  try expect(update.reason == .noNetwork)
  let all: [AttestationError.Reason] = [
    .noNetwork, .poorNetwork, .untrustedServer, .serviceUnavailable, .invalidHost, .unknownHost,
    .hostNeedsNoToken, .rejected, .notEnabled, .unknownString, .invalidArgument, .noMessageKey,
    .notMeasured, .serviceRefused, .keyUnavailable, .cancelled,
  ]
  try expect(Set(all).count == 16 && Set(all.map(\.description)).count == 16)
}

/// Pairs and proofs, which need an enrolment.
private func probeEnrolment(_ attestor: Attestor) async throws {
  let lock = HardwareID.random()
  let issue: Attestor.Issue = { _, _ in throw Unexpected(description: "no backend") }
  do throws(EnrolmentError) {
    try await attestor.enrol(lock, at: "https://api.example.com/grant", for: nil)
    try await attestor.enrol(lock, for: "api.example.com", issue: issue)
  } catch {
    guard case .attestation(let cause) = error else { throw error }
    try expect(cause.reason == .noNetwork && error.code == "ENROL-1" && error.whoCanMend == .user)
  }
  // Nothing is stored, so nothing is renewed.
  try await attestor.renew(at: "https://api.example.com/grant")
  try await attestor.renew(for: "api.example.com", issue: issue)
  let pairs: StoredPairs = attestor.pairs
  try expect(try pairs.all().isEmpty)
  try pairs.remove(lock)
  try pairs.erase()
  do throws(MeasurementStoreError) {
    _ = try pairs.hardware(lock)
  } catch { try expect(error == .notPaired(lock)) }
  try expect(try await attestor.instance().bytes.count == 16)
  let records: [EvidenceRecord] = try await attestor.registrationRecords()
  try expect(records.isEmpty)
  do throws(MeasurementError) {
    _ = try await attestor.proof(of: .device, answering: .random())
  } catch { try expect(error == .store(.empty) && error.code == "MEASURE-2") }
  do throws(MeasurementError) {
    _ = try await attestor.diagnose()
  } catch { try expect(error.whoCanMend == .online && !error.description.isEmpty) }
  let enrolment: [EnrolmentError] = [
    .transport(.cancelled), .backend(status: 403, word: "hardware"), .issuing("x"),
    .unusableToken(.malformed("token", byteCount: 1)), .store(.empty), .cancelled,
  ]
  let measuring: [MeasurementError] = [.notMeasured(.storageFailed), .cancelled]
  let words = enrolment.map(\.description) + measuring.map(\.description)
  try expect(Set(words).count == 8)
  try expect(enrolment.filter(\.isOfHardware).count == 1)
}

private func probePins() throws {
  let pins = Pins(["a.example": ["x"], "b.example": [], Pins.trustRootsHost: ["y"]])
  let rules: [Pins.Rule] = [.keys(["x"]), .trustRoots(["y"]), .unknown]
  try expect(["a.example", "b.example", "c.example"].map { pins.rule(for: $0) } == rules)
  let unlisted: Pins.UnlistedHosts = .trustRoots
  try expect(pins.rule(for: "c.example", unlisted: unlisted) == .trustRoots(["y"]))
  try expect(Pins(["b.example": []]).rule(for: "b.example") == .unpinned)
}

private func probeSetupErrors(_ attestor: Attestor) async throws {
  let errors: [SetupError] = [
    .malformedConfiguration(reason: ""), .untrustedConfiguration(reason: ""),
    .configurationOfAnotherAccount(expected: "", actual: ""),
    .configurationTooOld(serial: 1, held: 2), .alreadyInitialized(account: ""),
    .fetchesInFlight(count: 1), .storeUnusable(reason: ""), .malformedRoute(reason: ""),
    .notInitialized, .notMeasured(.storageFailed), .outOfRange(field: "", value: "", allowed: ""),
    .needsNewAttestor(setting: "bundle"),
  ]
  let failures: [TransportError] = [
    .timedOut(""), .brokenOff(""), .untrusted(""), .garbled(""), .cancelled, .refused(""),
  ]
  try expect((errors.map(\.description) + failures.map(\.description)).allSatisfy { !$0.isEmpty })
  do {
    let made = try AccountConfiguration("a.b.c", signedBy: nil)
    let fingerprint = AccountConfiguration.fingerprint(of: made.key)
    let words = [made.account, made.serviceURL, made.text, made.description, "\(fingerprint)"]
    let numbers = [Int64(made.serial), Int64(made.forcedPinsSerial), made.issued.seconds]
    let kinds: [AccountConfiguration.Domain] = [.token, .measurement, .proof, .none]
    try expect(words.isEmpty && numbers.isEmpty && kinds.isEmpty && made.domains.isEmpty)
    try expect(made.pins.byHost.isEmpty && made.servicePins.isEmpty)
    let addresses: ServiceAddresses = made.serviceAddresses
    try expect(addresses.failover == nil && made.regions.isEmpty)
    try expect(addresses.url == made.serviceURL)
  } catch let error as SetupError {
    try expect(AccountConfiguration.byteCountMax == 65_536 && !error.description.isEmpty)
    try expect(error.reason == error && error.whoCanMend == .developer)
  }
  var asking = TransportRequest(url: "https://example.com", timeout: .seconds(1))
  asking.authorization = "Bearer x"
  asking.addressFamily = .v4
  asking.connectHost = "127.0.0.1"
  asking.method = "PUT"
  asking.fields = [HeaderField("a", "b")]
  try expect(asking.authorization != nil && asking.addressFamily == .v4)
  try expect(asking.connectHost != nil && asking.fields?.count == 1)
  try expect(
    TransportResponse(status: 200, body: [], fields: [HeaderField("a", "b")]).fields.count == 1)
}

/// An observer that compares nothing.
func probeDefaults(_ config: MeasurementConfig) throws {
  try Still().noteEntries(of: config)
  do throws(ProofError) {
    let diagnosis: Diagnosis = try Still().differences(from: config)
    try? expect(diagnosis.findings.isEmpty)
  } catch {
    try expect(!error.description.isEmpty)
  }
}

/// News of the account.
func probeUpdates(_ attestor: Attestor) async {
  for await update: Attestor.Update in attestor.updates {
    switch update {
    case .configuration(let text): print(text)
    case .pins(let pins): print(pins.serial)
    }
  }
}

/// A thread of a program's own.
func probeBlocking(_ attestor: Attestor) throws(AttestationError) {
  try blocking { () async throws(AttestationError) in try await attestor.ready() }
}

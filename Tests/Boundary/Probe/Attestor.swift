// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel

/// A transport without a network.
private struct Nowhere: Transport {
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
private struct Still: EvidenceObserver {
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

/// Region, IP version, endpoint, collection mode.
private func probeRoute(_ clock: AttestorClock) throws {
  let region = try ServiceRegion("eu-1")
  try expect(ServiceRegion.home != .abroad && region.name == "\(region)")
  try expect(ServiceRegion.nameMax == 32 && AddressFamily.allCases == [.any, .v4, .v6])
  let endpoint = try ServiceEndpoint(url: "https://10.1.2.3", host: "attest.example.com")
  let routes = [
    ServiceRoute(), ServiceRoute(region: region, addressFamily: .v6),
    ServiceRoute(endpoint: endpoint),
  ]
  for route in routes {
    let attestor = Attestor(observer: Still(), over: Nowhere(), route: route, clock: clock)
    try expect((try? attestor.instance()) == nil && route.addressFamily != .v4)
  }
  do {
    _ = try ServiceEndpoint(url: "x")
    try expect(false)
  } catch let error as AttestorError { try expect(error.initializationCode == -10) }
  var request = TransportRequest(url: "https://example.com", timeout: .seconds(1))
  request.addressFamily = .v4
  request.connectHost = "127.0.0.1"
  try expect(request.addressFamily == .v4 && request.connectHost != nil)
  try expect(AttestorTimes.failover == .seconds(300))
  let mode: CollectionMode = [.withoutBasicFacts, .withoutUniqueIdentifiers, .withoutExtras]
  try expect(mode == .notGranted && mode.rawValue == 7 && !mode.description.isEmpty)
  try expect(mode.withholds(SourceID(.device, 1)) && Still().collection.isEmpty)
  var options = Probe.Options(collection: mode)
  options.collection = []
  try expect(options.collection.isEmpty)
  try expect(!ProofError.evidenceWithheld([]).description.isEmpty)
}

func probeAttestor() throws {
  let clock = AttestorClock(uptime: { .zero })
  try expect(clock.uptime() == .zero && AttestorClock.system.uptime() >= .zero)
  let attestor = Attestor(
    observer: Still(), over: Nowhere(), installationKey: nil, clock: clock)
  try probeResult(attestor.fetchTokenAndWait(for: "api.example.com"))
  let digest = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
  try attestor.initializeAndWait("#a@127.0.0.1:1#\(digest)", updates: .none, comment: nil)
  attestor.setUserProperty("$error")
  attestor.setDevelopmentKey("key")
  attestor.setDataHash(of: "data")
  attestor.setActivity("unlock")
  try expect(attestor.messageSignature(of: "message") == nil)
  try expect(attestor.fetchTokenAndWait(for: "api.example.com").status == .noNetwork)
  try expect(attestor.fetchSecureStringAndWait("").status == .badKey)
  try expect(attestor.fetchCustomJWTAndWait("").status == .badPayload)
  do {
    _ = try StoredMeasurement(attestor.fetchTokenAndWait(for: ""), tokens: [])
    try expect(false)
  } catch let error as MeasurementStoreError {
    try expect(error == .noMeasurement(.badURL))
  }
  attestor.fetchToken(for: "") { _ in }
  attestor.fetchSecureString("", newDefinition: "") { _ in }
  attestor.fetchCustomJWT("") { _ in }
  try expect(try attestor.instance().bytes.count == 16 && attestor.fetchConfigAndWait() != nil)
  let pins = attestor.pins(.publicKeySHA256)
  try expect(pins?.byHost.isEmpty == true && attestor.pinsJSON() == pins?.json)
  try probePins()
  try probeAttestorErrors(attestor)
  let times = [
    AttestorTimes.startUp, AttestorTimes.configuration, AttestorTimes.fetch, AttestorTimes.failure,
    AttestorTimes.unprotected, AttestorTimes.life, AttestorTimes.wait,
  ]
  try expect(times.allSatisfy { $0 > .zero })
  let cancellation = Cancellation()
  cancellation.cancel()
  try expect(cancellation.isCancelled)
}

private func probeResult(_ result: FetchResult) throws {
  try expect(result.status == .notInitialized && result.token.isEmpty && result.arc.isEmpty)
  try expect(result.rejectionReasons.isEmpty && result.secureString == nil)
  try expect(!result.isConfigChanged && !result.isForceApplyPins && !result.reason.isEmpty)
  try expect(result.instance == nil && result.measurementConfig == nil)
  try expect(!result.loggableToken.isEmpty)
  try expect(!result.description.isEmpty && result.customMirror.children.count == 1)
  let statuses: [FetchStatus] = [
    .success, .noNetwork, .mitmDetected, .poorNetwork, .noService, .badURL, .unknownURL,
    .unprotectedURL, .notInitialized, .rejected, .disabled, .unknownKey, .badKey, .badPayload,
    .internalError, .keyUnavailable,
  ]
  try expect(statuses == FetchStatus.allCases)
  let recommendations: [FetchStatus.Recommendation] = [.continue, .retry, .message, .error]
  try expect(recommendations == FetchStatus.Recommendation.allCases)
  try expect(statuses.allSatisfy { recommendations.contains($0.recommendation) })
}

private func probePins() throws {
  let pins = Pins(["a.example": ["x"], "b.example": [], Pins.trustRootsHost: ["y"]])
  let rules: [Pins.Rule] = [.keys(["x"]), .trustRoots(["y"]), .unknown]
  try expect(["a.example", "b.example", "c.example"].map { pins.rule(for: $0) } == rules)
  let unlisted: Pins.UnlistedHosts = .trustRoots
  try expect(pins.rule(for: "c.example", unlisted: unlisted) == .trustRoots(["y"]))
  try expect(Pins(["b.example": []]).rule(for: "b.example") == .unpinned)
}

private func probeAttestorErrors(_ attestor: Attestor) throws {
  let updates: [Attestor.ConfigurationUpdates] = [
    .none, .given("x"), .automatic(ConfigurationStore(folder: "/nonexistent")),
  ]
  try expect(Set(updates).count == 3 && ConfigurationStore(folder: "/x").folder == "/x")
  let errors: [AttestorError] = [
    .malformedConfiguration(reason: ""), .untrustedConfiguration(reason: ""),
    .configurationOfAnotherAccount(expected: "", actual: ""),
    .configurationTooOld(serial: 1, held: 2), .alreadyInitialized(account: ""),
    .fetchesInFlight(count: 1), .storeUnusable(reason: ""), .malformedRoute(reason: ""),
  ]
  let failures: [TransportError] = [
    .timedOut(""), .brokenOff(""), .untrusted(""), .garbled(""), .cancelled, .refused(""),
  ]
  try expect((errors.map(\.description) + failures.map(\.description)).allSatisfy { !$0.isEmpty })
  do {
    let made = try AccountConfiguration("a.b.c", signedBy: nil)
    let fingerprint = AccountConfiguration.fingerprint(of: made.key)
    let words = [made.account, made.serviceURL, made.text, made.description, "\(fingerprint)"]
    let numbers = [Int64(made.serial), Int64(made.forcedPinsSerial), made.issued]
    let kinds: [AccountConfiguration.Domain] = [.token, .measurement, .none]
    try expect(words.isEmpty && numbers.isEmpty && kinds.isEmpty && made.domains.isEmpty)
    try expect(made.pins.byHost.isEmpty && made.servicePins.isEmpty)
    let addresses: ServiceAddresses = made.serviceAddresses
    try expect(addresses.failover == nil && made.regions.isEmpty)
    try expect(addresses.url == made.serviceURL)
  } catch let error as AttestorError {
    try expect(AccountConfiguration.byteCountMax == 65_536 && !error.description.isEmpty)
  }
  try probeRoute(AttestorClock(uptime: { .zero }))
  var asking = TransportRequest(url: "https://example.com", timeout: .seconds(1))
  asking.authorization = "Bearer x"
  try expect(asking.authorization != nil && PinType.allCases == [.publicKeySHA256])
  let nonce = [UInt8](repeating: 1, count: 15)
  for prove in [attestor.integrityMeasurementProof, attestor.deviceMeasurementProof]
    as [([UInt8], [UInt8]) throws -> Proof]
  {
    do {
      _ = try prove(nonce, [])
      try expect(false)
    } catch let error as ProofError {
      try expect(error == .wrongLength(of: "proof nonce", expected: 16...16, actual: 15))
    }
  }
}

func probeAttestorInTasks(_ attestor: Attestor) async throws {
  try await attestor.initialize("", comment: "reinit")
  _ = try await attestor.fetchToken(for: "")
  _ = try await attestor.fetchSecureString("")
  _ = try await attestor.fetchCustomJWT("")
  _ = await attestor.fetchConfig()
}

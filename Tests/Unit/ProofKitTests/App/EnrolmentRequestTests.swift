// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// Notes each request for a token, and hands it on.
private final class NotedNetwork: Transport {
  let network: AppNetwork
  let noted = CoreLock<[TransportRequest]>([])

  init(_ network: AppNetwork) { self.network = network }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    if request.url.contains("/grant") { noted.withLock { $0.append(request) } }
    return try network.send(request)
  }
}

/// A key that exists, and signs nothing.
private struct UnsignedKey: InstallationKey {
  let error: InstallationKeyError

  func identity() throws(InstallationKeyError) -> InstallationKeyIdentity {
    do {
      return InstallationKeyIdentity(
        try InstallationPoint([UInt8](repeating: 4, count: 64)), in: .storage)
    } catch { throw .libraryFailed }
  }

  func signature(
    of message: [UInt8]
  ) throws(InstallationKeyError) -> InstallationSignature { throw error }

  func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]? { nil }

  func open(
    _ credential: KeyCredential
  ) throws(InstallationKeyError) -> CredentialSecret { throw error }
}

@Suite("The requests of an enrolment")
struct EnrolmentRequestTests {
  private func stage(pins: String) throws -> (AppStage, NotedNetwork, Attestor) {
    let stage = try AppStage(claims: ["pin": pins])
    let network = NotedNetwork(stage.network)
    let attestor = try Attestor(
      stage.configuration,
      using: Parts(probe: stage.scene, transport: network, clock: stage.time.clock))
    return (stage, network, attestor)
  }

  @Test("go to the backend with the pins of its host, in 30 s, with the token as their bearer")
  func request() async throws {
    let (stage, network, attestor) = try stage(pins: #"{"api.example.com":["\#(pin(4))"]}"#)
    let lock = try Sample.hardware(1)
    _ = try await attestor.enrol(lock, at: "https://api.example.com/grant?a=b")
    let request = try #require(network.noted.withLock { $0.first })
    #expect(request.url == "https://api.example.com/grant?a=b&hardware=\(lock)")
    #expect(request.pins == [pin(4)] && request.timeout == .seconds(30))
    #expect(request.responseLimit == 4_096 && request.body == [])
    #expect(request.authorization?.hasPrefix("Bearer e30.") == true && request.method == nil)
    _ = try await attestor.enrol(lock, at: "https://api.example.com/grant")
    #expect(
      network.noted.withLock { $0.last?.url } == "https://api.example.com/grant?hardware=\(lock)")
    #expect(network.noted.withLock { $0.count } == 2 && stage.service.count("report") == 2)
  }

  @Test("have no pins where the account lists none, and are not sent where it lists roots alone")
  func pins() async throws {
    let lock = try Sample.hardware(1)
    let url = "https://api.example.com/grant"
    let (_, free, unpinned) = try stage(pins: "{}")
    _ = try await unpinned.enrol(lock, at: url)
    #expect(free.noted.withLock { $0.map(\.pins) } == [[]])
    let (_, none, rooted) = try stage(
      pins: #"{"api.example.com":[],"*":["\#(pin(4))"]}"#)
    let reason =
      "the account pins api.example.com by trusted roots alone: give the host pins of its own"
    await #expect(throws: EnrolmentError.transport(.refused(reason))) {
      try await rooted.enrol(lock, at: url)
    }
    #expect(none.noted.withLock { $0.isEmpty })
  }

  @Test("a key that does not sign is the reason of the fetch that failed")
  func unsigned() throws {
    for error in [InstallationKeyError.libraryFailed, .tpmBusy(device: "d")] {
      let service = InProcessService()
      let attestor = Attestor(
        observer: Scene(), over: service, appName: "door",
        installationKey: UnsignedKey(error: error),
        clock: ManualClock().clock)
      try attestor.initializeAndWait(service.configuration())
      let result = attestor.fetchTokenAndWait(for: "api.example.com")
      #expect(result.status == .keyUnavailable && result.reason == error.description)
      #expect(service.count("challenge") == 1 && service.count("report") == 0)
    }
  }

  @Test("turns are taken in order, and one that left is passed over")
  func turns() async {
    let turns = Turns()
    #expect(await turns.take())
    let left = Task { await turns.take() }
    left.cancel()
    #expect(await !left.value)
    turns.give()
    #expect(await turns.take())
    turns.give()
    #expect(await turns.take())
  }
}

@Suite("The way an app measures between attestations")
struct ObservationPaceTests {
  @Test("is incremental with 8 GiB, until the service asks for another")
  func draft() throws {
    let pace = ObservationPace()
    #expect(pace.policy == .incremental && pace.limitLog2 == 33)
    for policy in MeasurementPolicy.allCases {
      for limit in [16, 50] as [UInt8] {
        let draft = try BaselineDraft(
          salt: .random(), sources: Probe.sources, policy: policy, limitLog2: limit)
        let asked = ObservationPace(draft)
        #expect(asked.policy == policy && asked.limitLog2 == limit)
      }
    }
    let watched = pace.environment.map(\.id)
    #expect(watched.allSatisfy { $0.evidenceClass == .environment })
    #expect(Set(watched.map(\.number)) == [1, 2, 3, 4, 5, 7])
    #expect(InstanceID.secret.id.evidenceClass == .device)
  }
}

@Suite("Sources that a probe withholds")
struct WithheldTests {
  @Test("are refused by each way to measure, with their names")
  func refused() async throws {
    let probe = try Probe(.init(hardens: false, collection: .withoutUniqueIdentifiers))
    let all = try Probe(.init(hardens: false))
    let sources = Probe.sources.filter { $0.id.evidenceClass == .device }
    let withheld = sources.map(\.id).filter(CollectionMode.withoutUniqueIdentifiers.withholds)
    #expect(!withheld.isEmpty && withheld.count < sources.count)
    let apps = Probe.sources.filter { $0.id.evidenceClass == .app }.prefix(1)
    let draft = try BaselineDraft(salt: .random(), sources: sources + apps)
    let evidence = try await all.evidence(of: draft.sources)
    let config = try MeasurementConfig(baseline: evidence, draft, with: .sdk)
    let error = ProofError.evidenceWithheld(
      config.sources.map(\.id).filter(CollectionMode.withoutUniqueIdentifiers.withholds))
    #expect(throws: error) { try probe.collect(for: config) }
    #expect(throws: error) { try probe.measurement(under: config, with: .sdk) }
    #expect(throws: error) { try probe.differences(from: config) }
    #expect(throws: error) {
      try probe.observe(
        config.sources, policy: .full, limitLog2: 33, cancellation: Cancellation())
    }
    await #expect(throws: error) { try await probe.evidence(for: config) }
    await #expect(throws: error) { try await probe.evidence(of: config.sources) }
    await #expect(throws: error) { try await probe.measure(config) }
    await #expect(throws: error) { try await probe.diagnose(config) }
    #expect(throws: Never.self) { try all.collect(for: config) }
  }

  @Test("a measurement reports each step until it is cancelled")
  func cancelled() {
    let pace = Pace()
    let told = CoreLock(0)
    let counted = Pace(report: { _ in told.withLock { $0 += 1 } })
    let progress = Probe.Progress(fileCount: 1, byteCount: 2)
    #expect(!pace.isCancelled && pace.step(progress))
    #expect(counted.step(progress) && told.withLock { $0 } == 1)
    pace.cancel()
    counted.cancel()
    #expect(pace.isCancelled && !pace.step(progress))
    #expect(!counted.step(progress) && told.withLock { $0 } == 1)
  }
}

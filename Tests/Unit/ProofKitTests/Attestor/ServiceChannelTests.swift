// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// A service that gives one answer to each request, and notes them.
private final class OneAnswer: Transport {
  let response: TransportResponse
  let requests = CoreLock<[TransportRequest]>([])

  init(_ status: Int, _ body: [UInt8] = []) {
    response = TransportResponse(status: status, body: body)
  }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    requests.withLock { $0.append(request) }
    return response
  }
}

@Suite("The channel to the service")
struct ServiceChannelTests {
  typealias Failure = AttestationExchange.Failure

  private let api = "api.example.com"

  /// The result of a fetch from a service that gives one answer.
  private func fetch(_ transport: OneAnswer, _ route: ServiceRoute = ServiceRoute()) throws
    -> FetchResult
  {
    let attestor = Attestor(
      observer: Scene(), over: transport, route: route, appName: "door",
      clock: ManualClock().clock)
    try attestor.initializeAndWait(InProcessService().configuration())
    return attestor.fetchTokenAndWait(for: api)
  }

  @Test("a status is told with the first 200 bytes of the service's words, without the line's end")
  func words() throws {
    for (body, words) in [
      ("no\r\n \n", "no"), ("", ""), ("a\nb", "a?b"),
      (String(repeating: "x", count: 200) + "y", String(repeating: "x", count: 200)),
      (String(repeating: "x", count: 199) + "yz", String(repeating: "x", count: 199) + "y"),
    ] {
      let result = try fetch(OneAnswer(503, Array(body.utf8)))
      #expect(result.reason == "the service answers with status 503: \(words)")
      #expect(result.fault == .status && result.status == .noService)
    }
  }

  @Test("a status by which the service refuses the request is this side's fault")
  func statuses() throws {
    let ours: Set = [400, 404, 405, 413]
    for status in [201, 301, 399, 400, 401, 403, 404, 405, 406, 412, 413, 414, 429, 500] {
      let result = try fetch(OneAnswer(status))
      #expect(result.status == (ours.contains(status) ? .internalError : .noService), "\(status)")
      #expect(result.fault == .status)
    }
  }

  @Test("the first request is a question under the account's pins, in the versions of IP allowed")
  func request() throws {
    for family in AddressFamily.allCases {
      let transport = OneAnswer(503)
      _ = try fetch(transport, ServiceRoute(addressFamily: family))
      let sent = try #require(transport.requests.withLock { $0.first })
      #expect(sent.url == "https://attest.example.com/v1/challenge" && sent.body != nil)
      #expect(sent.pins == [pin(9)] && sent.addressFamily == family && sent.connectHost == nil)
      #expect(sent.method == nil && sent.fields == nil && sent.authorization == nil)
    }
  }

  @Test("an app without a configuration takes neither “nothing new” nor bytes that are no text")
  func configuration() throws {
    for (status, body, reason, fault) in [
      (204, [], "the service answers with status 204: ", .status),
      (200, [0xFF], "what answers is no configuration", .configuration),
    ] as [(Int, [UInt8], String, ServiceFault)] {
      let transport = OneAnswer(status, body)
      let attestor = Attestor(
        observer: Scene(), over: transport, appName: "door", clock: ManualClock().clock)
      try attestor.initializeAndWait(InProcessService().shortForm)
      let result = attestor.fetchTokenAndWait(for: api)
      #expect(result.status == .noService && result.reason == reason && result.fault == fault)
      let urls = transport.requests.withLock { $0.map(\.url) }
      #expect(urls.first == "https://attest.example.com/v1/config/acme?serial=0")
      #expect(transport.requests.withLock { $0.first?.body == nil })
    }
  }

  // MARK: Several addresses

  private static let ranks: [FetchStatus] = [.noNetwork, .poorNetwork, .noService, .mitmDetected]

  private func place(_ name: String) -> ServicePlace { ServicePlace("https://\(name)") }

  @Test("the most telling failure of all addresses is the result, with the reason of each")
  func failures() {
    for (first, one) in Self.ranks.enumerated() {
      for (second, two) in Self.ranks.enumerated() {
        let all = Failure.all([
          (place("a"), Failure(one, "x", .status)), (place("b"), Failure(two, "y", .empty)),
        ])
        #expect(all.result.status == Self.ranks[max(first, second)])
        #expect(all.result.reason == "https://a: x; https://b: y")
        #expect(all.result.fault == (first >= second ? .status : .empty))
      }
    }
    let alone = Failure.all([(place("a"), Failure(.noService, "x", .route))])
    #expect(alone.result.reason == "x" && alone.result.fault == .route)
  }

  @Test("only a failure of the network or of the service is one of its address")
  func ofAddress() {
    for status in FetchStatus.allCases {
      #expect(Failure(status, "x").isOfAddress == Self.ranks.contains(status), "\(status)")
      #expect(!Failure(status, "x", isFinal: true).isOfAddress)
      #expect(!Failure(status, "x").isWorthAnotherRound)
    }
    let measured = Failure(ProofError.randomFailed)
    #expect(measured.result.status == .internalError && !measured.isOfAddress)
    #expect(measured.result.measurement == .randomFailed && !measured.isWorthAnotherRound)
    #expect(Failure(InstallationKeyError.libraryFailed).result.status == .keyUnavailable)
  }

  @Test("a connection that broke off is worth another round, other failures are not")
  func rounds() {
    for (error, status, isWorth) in [
      (.unreachable("x"), .noNetwork, false), (.timedOut("x"), .poorNetwork, false),
      (.brokenOff("x"), .poorNetwork, true), (.untrusted("x"), .mitmDetected, false),
      (.garbled("x"), .noService, false), (.cancelled, .internalError, false),
      (.refused("x"), .internalError, false),
    ] as [(TransportError, FetchStatus, Bool)] {
      let failure = Failure(error)
      #expect(failure.result.status == status && failure.isWorthAnotherRound == isWorth)
      #expect(failure.result.reason == error.description)
    }
  }
}

@Suite("The properties of a report")
struct ReportPropertyTests {
  private func properties(_ stage: Stage, _ domain: String) throws -> [String] {
    _ = stage.attestor.fetchTokenAndWait(for: domain)
    let subject = try #require(stage.service.state.withLock { $0.subjects.last })
    return subject.properties.map { "\($0.name)=\($0.value)" }
  }

  @Test("a report for a measurement says first that upcoming pairs are understood")
  func upcoming() throws {
    let stage = try Stage()
    #expect(try properties(stage, "api.example.com?measurement").first == "upcoming=1")
    let others = try properties(stage, "api.example.com")
    #expect(!others.isEmpty && !others.contains { $0.hasPrefix("upcoming") })
  }

  @Test("64 properties are told at most, and findings make room for those that decide")
  func most() throws {
    let stage = try Stage()
    let alarms = try (1...80).map { number in
      Observation.Alarm(try SourceID(.app, number), name: "f", words: "w")
    }
    stage.scene.state.withLock { $0.alarms = alarms }
    stage.attestor.state.withLock { $0.settings.copySightings = [.random(), .random()] }
    let told = try properties(stage, "api.example.com?measurement")
    #expect(told.count == 64 && told.prefix(2) == ["upcoming=1", "copy-seen=2"])
    #expect(told.last?.hasPrefix("finding.") == true)
  }

  @Test("claims that the service refuses are told in its words, or in those of the SDK")
  func payload() throws {
    for (words, reason) in [
      ("claim a\nis long", "claim a?is long"), ("", "the service does not take these claims"),
    ] {
      let stage = try Stage()
      stage.service.set {
        $0.outcome = .badPayload
        $0.payloadReason = words
      }
      let result = stage.attestor.fetchCustomJWTAndWait("{}")
      #expect(result.status == .badPayload && result.reason == reason)
      #expect(result.rejectionReasons.isEmpty)
    }
  }

  @Test("the source of the storage's secret is the one that names the installation")
  func secret() {
    let id = InstanceID.secret.id
    #expect(id.evidenceClass == .device && id.number == InstanceID.secretSource)
  }
}

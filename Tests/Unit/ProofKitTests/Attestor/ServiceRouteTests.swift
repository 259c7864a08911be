// SPDX-License-Identifier: Apache-2.0

import ProofMigration
import ProofModel
import Testing

@testable import ProofKit

@Suite("The way to the service")
struct ServiceRouteTests {
  private static let first = "attest.example.com"
  private static let standby = "standby.example.com"
  private static let claims = [
    "alt": #""https://standby.example.com""#,
    "reg": #"""
    {"abroad":{"url":"https://abroad.example.com/","alt":"https://abroad2.example.com:8443"},
    "moon-1":{"url":"https://moon.example.com","new":7}}
    """#,
  ]

  private func stage(_ route: ServiceRoute = ServiceRoute()) throws -> Stage {
    try Stage(route: route, claims: Self.claims)
  }

  /// Fetches a token of its own, with nothing kept.
  private func fetch(_ stage: Stage) -> FetchResult {
    stage.attestor.fetchTokenAndWait(for: "api.example.com?measurement")
  }

  private func hosts(_ stage: Stage) -> [String] {
    stage.service.state.withLock { state in
      defer { state.hostsReached = [] }
      return state.hostsReached
    }
  }

  @Test("a configuration lists a fail-over address and regions; without them it has one address")
  func configuration() throws {
    let service = InProcessService()
    let plain = try AccountConfiguration(service.configuration())
    #expect(plain.serviceAddresses.all == ["https://attest.example.com"] && plain.regions.isEmpty)
    let all = try AccountConfiguration(service.configuration(claims: Self.claims))
    #expect(all.serviceURL == "https://attest.example.com")
    #expect(all.serviceAddresses.failover == "https://standby.example.com")
    #expect(
      all.regions["abroad"]?.all
        == ["https://abroad.example.com", "https://abroad2.example.com:8443"])
    #expect(all.regions["moon-1"]?.all == ["https://moon.example.com"])
    #expect(all.addresses(in: .home)?.failover == all.serviceAddresses.failover)
    #expect(all.addresses(in: try ServiceRegion("mars")) == nil)
    let six = try AccountConfiguration(
      service.configuration(claims: ["alt": #""https://[::1]:8443""#]))
    #expect(six.serviceAddresses.failover == "https://[::1]:8443")
  }

  @Test(
    "a fail-over address or a region that is malformed is refused by name",
    arguments: [
      ("alt", "7"), ("alt", #""ftp://x""#), ("alt", #""https://[::1""#),
      ("alt", #""https://[:1]""#),
      ("alt", #""https://[::g]""#), ("alt", #""https://[::1]x""#), ("alt", "null"), ("reg", "[]"),
      ("reg", #"{"a":"https://x"}"#), ("reg", #"{"A":{"url":"https://x"}}"#),
      ("reg", #"{"home":{"url":"https://x"}}"#), ("reg", #"{"":{"url":"https://x"}}"#),
    ])
  func malformed(name: String, value: String) {
    let error = #expect(throws: SetupError.self) {
      _ = try AccountConfiguration(InProcessService().configuration(claims: [name: value]))
    }
    #expect(error.map { "\($0)".contains("claim \(name)") } == true)
    let nested = #"{"a":{"url":\#(value)}}"#
    #expect(throws: SetupError.self) {
      _ = try AccountConfiguration(InProcessService().configuration(claims: ["reg": nested]))
    }
  }

  @Test(
    "an address that fails gives way to the fail-over address, which is tried first from then on",
    arguments: [
      TransportError.unreachable("x"), .timedOut("x"), .brokenOff("x"), .untrusted("x"),
      .garbled("x"),
    ])
  func failover(failure: TransportError) throws {
    let stage = try stage()
    stage.service.set { $0.hostFailures[Self.first] = failure }
    #expect(fetch(stage).status == .success)
    let reached = hosts(stage)
    #expect(reached.first == Self.first && reached.last == Self.standby)
    #expect(fetch(stage).status == .success)
    #expect(hosts(stage) == [Self.standby, Self.standby])
    // After a while the first address gets its chance again.
    stage.service.set { $0.hostFailures = [:] }
    stage.time.advance(AttestorTimes.failover)
    #expect(fetch(stage).status == .success)
    #expect(hosts(stage) == [Self.first, Self.first])
  }

  @Test("a report whose address dies after the challenge is made anew for the fail-over address")
  func dyingBetween() throws {
    let stage = try stage()
    stage.service.set { $0.failures = [nil, .unreachable("x")] }
    #expect(fetch(stage).status == .success)
    #expect(hosts(stage) == [Self.first, Self.first, Self.standby, Self.standby])
    #expect(stage.service.count("challenge") == 2)
  }

  @Test("no service is told only after both addresses failed, with the reason of each")
  func both() throws {
    let stage = try stage()
    stage.service.set { $0.hostStatuses[Self.first] = 503 }
    #expect(fetch(stage).status == .success)
    stage.service.set { $0.hostStatuses[Self.standby] = 503 }
    stage.time.advance(AttestorTimes.failover)
    let result = fetch(stage)
    #expect(result.status == .noService)
    #expect(result.reason.contains(Self.first) && result.reason.contains(Self.standby))
    // The service is down, the network is not: that says more than an address out of reach.
    stage.service.set {
      $0.hostStatuses[Self.standby] = nil
      $0.hostFailures[Self.standby] = .unreachable("x")
    }
    stage.time.advance(AttestorTimes.failover)
    #expect(fetch(stage).status == .noService)
    stage.service.set {
      $0.hostStatuses = [:]; $0.hostFailures[Self.first] = .unreachable("x")
    }
    stage.time.advance(AttestorTimes.failover)
    #expect(fetch(stage).status == .noNetwork)
  }

  @Test("a service that limits the rate, or refuses the request, is not gone around")
  func final() throws {
    for (status, expected) in [(429, FetchStatus.noService), (404, .internalError)] {
      let stage = try stage()
      stage.service.set { $0.hostStatuses[Self.first] = status }
      #expect(fetch(stage).status == expected)
      #expect(hosts(stage) == [Self.first])
    }
  }

  @Test("each address gets half of the time left until one has answered")
  func times() throws {
    let stage = try stage()
    stage.service.set { $0.hostFailures[Self.first] = .timedOut("x") }
    #expect(fetch(stage).status == .success)
    let times = stage.service.state.withLock { $0.timeouts }
    #expect(times[0] == AttestorTimes.fetch / 2 && times[1] == AttestorTimes.fetch)
    // One address alone gets all of it.
    let alone = try Stage()
    _ = fetch(alone)
    #expect(alone.service.state.withLock { $0.timeouts[0] } == AttestorTimes.fetch)
  }

  @Test("the first configuration comes from the fail-over address of a signed one, too")
  func configurationFailsOver() async throws {
    let stage = try stage()
    stage.service.set {
      $0.serial = 2
      $0.hostFailures[Self.first] = .unreachable("x")
    }
    try await stage.attestor.update()
    #expect(try AccountConfiguration(stage.attestor.accountConfiguration).serial == 2)
    #expect(hosts(stage) == [Self.first, Self.standby])
  }

  @Test("a region's apps go to its addresses, under the account's pins")
  func region() throws {
    let stage = try stage(ServiceRoute(region: .abroad))
    stage.service.set { $0.hostFailures["abroad.example.com"] = .unreachable("x") }
    #expect(fetch(stage).status == .success)
    #expect(
      hosts(stage)
        == ["abroad.example.com", "abroad2.example.com:8443", "abroad2.example.com:8443"])
    let pins = stage.service.state.withLock { $0.pinsAsked }
    #expect(pins.allSatisfy { $0 == [pin(9)] })
  }

  @Test("a region that the account does not list is an argument error, -10, and sends no evidence")
  func unknownRegion() throws {
    let stage = try stage(ServiceRoute(region: ServiceRegion("mars")))
    let result = fetch(stage)
    #expect(result.status == .internalError)
    #expect(result.reason.contains("mars") && result.reason.contains("home, abroad, moon-1"))
    #expect(stage.service.count("challenge") == 0 && stage.service.count("config") == 1)
    #expect(GateError.attestation(AttestationError(result)).initializationCode == -10)
    // Once the account lists it, the app that runs finds it.
    let text = stage.service.configuration(
      serial: 2, claims: ["reg": #"{"mars":{"url":"https://mars.example.com"}}"#])
    stage.service.set {
      $0.serial = 2
      $0.configurationText = text
    }
    stage.time.advance(.seconds(1))
    #expect(fetch(stage).status == .success)
    #expect(hosts(stage).suffix(2) == ["mars.example.com", "mars.example.com"])
  }

  @Test("an endpoint of the app's own takes the place of every address, with the name it is given")
  func endpoint() throws {
    let endpoint = try ServiceEndpoint(
      url: "https://10.1.2.3:8443/proxy/", host: "Attest.example.com")
    let stage = try stage(ServiceRoute(endpoint: endpoint))
    #expect(endpoint.url == "https://attest.example.com:8443/proxy")
    #expect(endpoint.connectHost == "10.1.2.3")
    _ = fetch(stage)
    #expect(Set(hosts(stage)) == ["attest.example.com:8443"])
    #expect(stage.service.state.withLock { Set($0.connectHosts) } == ["10.1.2.3"])
  }

  @Test("an endpoint of the app's own gets no evidence where the account pins no key: -10")
  func unpinnedEndpoint() throws {
    let route = ServiceRoute(endpoint: try ServiceEndpoint(url: "https://10.1.2.3"))
    let stage = try Stage(route: route, claims: ["spk": "[]"])
    let result = fetch(stage)
    #expect(result.status == .internalError && result.reason.contains("pins no key"))
    #expect(GateError.attestation(AttestationError(result)).initializationCode == -10)
    #expect(hosts(stage).isEmpty)
  }

  @Test(
    "an endpoint or a region that is malformed is -10, and says so",
    arguments: ["", "a b", "ftp://x", "https://", "https://u@x", "https://x?y", "https://[x]"])
  func malformedEndpoint(url: String) {
    let error = #expect(throws: SetupError.self) { _ = try ServiceEndpoint(url: url) }
    #expect(error?.initializationCode == -10)
    #expect(throws: SetupError.self) {
      _ = try ServiceEndpoint(url: "https://10.1.2.3", host: url)
    }
  }

  @Test("a region's name has 1 to 32 characters of a-z, 0-9 and -")
  func names() throws {
    #expect(try ServiceRegion("eu-1").name == "eu-1")
    #expect(try ServiceRegion("home") == .home && ServiceRegion("abroad") == .abroad)
    for name in ["", "EU", "a b", "a.b", String(repeating: "a", count: 33)] {
      let error = #expect(throws: SetupError.self) { _ = try ServiceRegion(name) }
      #expect(error?.initializationCode == -10)
    }
  }
}

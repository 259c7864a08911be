// SPDX-License-Identifier: Apache-2.0

import Dispatch
import HTTPServing
import ProofBench
import ProofJOSE
import ProofKit
import ProofModel
import ProofService

/// A whole `eventToken` of an app that attested itself to a service in this process: with keys of a fresh measurement,
/// and with a warm measurement for each token. The app is this process with 2,000 files of 100 KiB.
func sessionGroup(_ trees: Trees) throws -> Group {
  let bundle = try trees.tree("d")
  let fresh = try SessionDesk(bundle, freshness: 10)
  let warm = try SessionDesk(bundle, freshness: 0)
  return Group(
    name: "session",
    candidates: [
      .whole("eventToken.fresh", count: 100) { count in
        for _ in 0..<count { try fresh.token() }
      },
      .whole("eventToken.warm") { count in for _ in 0..<count { try warm.token() } },
    ],
    ratios: [("eventToken.warm", "eventToken.fresh")])
}

/// A session of one account with one gate.
final class SessionDesk {
  private static let host = "api.example.com"
  private let session: GateSession
  private let data = [UInt8](repeating: 1, count: 64)

  init(_ bundle: String, freshness: Int) throws {
    let account = try ServiceDesk.open(MemoryStore())
    let management = Management(account)
    var policy = try management.policy()
    policy.rejection = []
    policy.measurement = .trusting
    try management.set(policy)
    var settings = GateSettings()
    settings.freshness = freshness
    let secret = SecretBytes.random(count: 32)
    try management.addGate(
      "web", publicKey: GateIdentity.Key(secret, number: 1).publicKey.bytes, mode: .development,
      settings: settings)
    try management.removeAPI(Self.host)
    try management.add(API(Self.host, .proof, gate: "web"))
    try management.addEvents(EventRange(EventRange.standard, at: "web", for: "shop"))
    let probe = try Probe(
      Probe.Options(
        bundle: bundle, storage: Workplace.folder("session-\(freshness)"), hardens: false))
    let attestor = Attestor(observer: probe, over: DeskTransport(account))
    try attestor.initializeAndWait(management.signedConfiguration())
    session = try GateSession(attestor, for: Self.host)
    let ready = DispatchSemaphore(value: 0)
    let failure = CoreLock<GateError?>(nil)
    session.start { error in
      failure.withLock { $0 = error }
      ready.signal()
    }
    guard ready.wait(timeout: .now() + 60) == .success else {
      throw PeerError("the session has no admission after a minute")
    }
    if let error = failure.withLock({ $0 }) { throw error }
    try session.setAccount("user-4711")
    try token()
  }

  func token() throws {
    let token = try session.eventToken(for: 3300, data: data)
    if let cause = token.cause { throw PeerError("the token is in the error state: \(cause)") }
  }
}

/// Carries requests to a service in this process.
private struct DeskTransport: Transport {
  private let service: AttestationService

  init(_ account: Account) { service = AttestationService(account: account) }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let bytes = Array(request.url.utf8)
    // Behind the scheme's two slashes the next one begins the path.
    var slashes = 0
    let start = bytes.firstIndex { byte in
      if byte == UInt8(ascii: "/") { slashes += 1 }
      return slashes == 3
    }
    let path = String(decoding: bytes[(start ?? bytes.endIndex)...], as: UTF8.self)
    let response = service.respond(
      to: HTTPRequest(
        method: request.body == nil ? "GET" : "POST", path: path, body: request.body ?? [],
        peer: "192.0.2.7"))
    return TransportResponse(
      status: response.status, body: response.body, serverTime: .now)
  }
}

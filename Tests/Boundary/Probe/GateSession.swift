// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel

/// A request type of an app's own.
private struct OwnRequest: ProvableRequest {
  let method = "GET"
  let url = "https://api.example.com/"
  let body: [UInt8]? = nil
  var fields: [String: String] = [:]

  func values(of name: String) -> [String] { fields[name].map { [$0] } ?? [] }
  mutating func set(_ name: String, to value: String?) { fields[name] = value }
}

/// A transport without a network.
private struct Nothing: Transport {
  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    throw .unreachable("nowhere")
  }
}

func probeGateSession() async throws {
  let attestor = Attestor(observer: try Probe(.init(hardens: false)), over: Nothing())
  try expect(Log.Level.allCases == [.none, .error, .warning, .info, .debug])
  let log = Log(upTo: .debug) { level, line in
    if level > Log.Level.info && line.isEmpty { print(line) }
  }
  try expect(log.level == .debug && Log.none.level == .none)
  var options = GateSession.Options(store: nil, log: log, allowsPlainLoopback: false)
  options.store = GateStore(folder: "/nowhere")
  options.log = .none
  options.allowsPlainLoopback = true
  try expect(options.store?.folder == "/nowhere")
  try probeStrings(attestor)
  let session = try GateSession(attestor, for: "api.example.com")
  let signing = ProtectedClient(session, over: nil, signsByInstallation: true)
  try expect(signing.signsByInstallation && !ProtectedClient(session).signsByInstallation)
  let unsigned = Request("GET", "https://api.example.com/")
  do throws(GateError) {
    _ = try session.signedByInstallation(unsigned)
  } catch {
    try expect(error == .installationKey(nil) && error.initializationCode == -11)
  }
  try expect(session.host == "api.example.com" && session.description.contains("api"))
  try expect(session.customMirror.children.count == 1)
  try expect(!session.isReady && session.lastError == nil)
  try session.setAccount("ada")

  var request = Request("POST", "https://api.example.com/", fields: [], body: [1])
  request.set("X-Name", to: "value")
  try expect(request.fields == [HeaderField("X-Name", "value")] && request.method == "POST")
  try expect(request.fields[0].name == "X-Name" && request.fields[0].value == "value")
  try expect(request.values(of: "x-name") == ["value"] && request.body == [1])
  try expect(request.url.hasPrefix("https"))
  let response = Response(status: 401, fields: [HeaderField(GateField.refusal, "token")], body: [2])
  try expect(response.status == 401 && response.body == [2] && response.fields.count == 1)
  try expect(response.value(of: GateField.refusal) == "token")
  try expect(GateField.time == "proof-time" && GateField.event == "proof-event")
  try expect(session.note(response, to: request) == nil)
  do {
    _ = try session.guarded(OwnRequest(), event: 3300, data: [])
    try expect(false)
  } catch let error as GateError {
    try expect(error == .notStarted && error.initializationCode == -1 && error.attestationCode == 2)
    try expect(error.signingText != nil && error.description.contains("start"))
  }

  let event = EventID(3300)
  try expect(event.rawValue == 3300 && event == 3300)
  let token: EventToken = try session.eventToken(for: event, account: "bob", data: [1])
  try expect(token.text.utf8.count == 88 && token.cause == .notStarted)

  let client = ProtectedClient(session)
  try expect(client.session === session && ProtectedClient.time == .seconds(60))
  try expect(
    fails(.notStarted) { () throws(GateError) in try client.performAndWait(request) })
  do {
    _ = try await client.perform(request)
    try expect(false)
  } catch let error as GateError {
    try expect(error == .notStarted)
  }
  try await probeChallenges(client, request)
  session.start(ready: nil)
  session.stop()

  try expect(GateTimes.backOff == .seconds(1) && GateTimes.backOffMax == .seconds(60))
  try expect(GateTimes.quiet == .seconds(600))
  let errors: [GateError] = [
    .notStarted, .notReady(.noNetwork), .notMeasured(reason: "x"), .environmentChanged,
    .storageUnusable(reason: "x"), .malformedHost("x"), .hostNotListed("x"), .malformedMethod("x"),
    .malformedRequest(reason: "x"), .unknownEvent(1), .malformedAccount(byteCount: 0),
    .tokenRefused, .challenge(.outOfMemory), .transport(.cancelled), .timedOut, .cancelled,
  ]
  try expect(Set(errors.map(\.description)).count == errors.count)
  if case .attestation(let known) = session.lastError {
    let failure: AttestationFailure = known
    try expect(failure.status == .notInitialized && !failure.reason.isEmpty)
  }
  try expect(AttestorError.storeUnusable(reason: "x").initializationCode == -2)

  var sent = TransportRequest(url: "https://api.example.com/", timeout: .seconds(1))
  sent.method = "PUT"
  sent.fields = [HeaderField("a", "b")]
  try expect(
    TransportResponse(status: 200, body: [], fields: [HeaderField("a", "b")]).fields.count == 1)
  try expect(AttestorClock(uptime: { .zero }, unixTime: { 7 }).unixTime() == 7)
}

private func fails(_ expected: GateError, _ body: () throws(GateError) -> Response) -> Bool {
  do throws(GateError) {
    _ = try body()
    return false
  } catch { return error == expected }
}

/// Strings of the app's own, from an attestor that was never initialised.
private func probeStrings(_ attestor: Attestor) throws {
  let store = SecureStringStore(folder: "/dev/null/strings")
  let strings: SecureStrings = attestor.secureStrings(in: store)
  try expect(SecureStringLimits.nameLength == 64 && SecureStringLimits.count == 64)
  try expect(SecureStringLimits.valueByteCount < SecureStringLimits.totalByteCount)
  func refused(_ body: () throws(SecureStringError) -> Void) -> SecureStringError? {
    do throws(SecureStringError) { try body() } catch { return error }
    return nil
  }
  let time = Duration.seconds(1)
  let read = refused { () throws(SecureStringError) in
    let string: SecureString = try strings.stringAndWait(named: "a", within: time)
    _ = (string.text, string.description, string.customMirror, string.withBytes { $0.byteCount })
  }
  let defined = refused { () throws(SecureStringError) in
    try strings.defineAndWait("a", as: "b", within: time)
  }
  let removed = refused { () throws(SecureStringError) in
    try strings.removeAndWait("a", within: time)
  }
  for error in [read, defined, removed] {
    guard case .noKey(.notInitialized, let reason) = error else {
      throw Unexpected(description: "no key, and no reason")
    }
    try expect(!reason.isEmpty && error?.description.contains(reason) == true)
  }
  try expect(refused { () throws(SecureStringError) in try store.erase("acme") } != nil)
  let all: Set<SecureStringError> = [
    .badName(characterCount: 0), .badValue(byteCount: 0), .notThere(name: "a"),
    .noRoom(SecureStringError.Room.count), .noRoom(.bytes), .noRoom(.file),
    .stringDamaged(name: "a"), .damaged(keptAs: "x", byteCount: 1), .tooNew(version: 2),
    .storageUnusable(reason: "x"), .notDurable(reason: "x"), .cancelled,
  ]
  try expect(all.count == 12)
}

/// The calls that wait without a thread.
func probeStrings(_ strings: SecureStrings) async throws(SecureStringError) -> SecureString {
  try await strings.define("a", as: "b")
  try await strings.remove("b")
  return try await strings.string(named: "a")
}

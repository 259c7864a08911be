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

func probeProtectedClient(in storage: String) async throws {
  try expect(Log.Level.allCases == [.none, .error, .warning, .info, .debug])
  let log = Log(upTo: .debug) { level, line in
    if level > Log.Level.info && line.isEmpty { print(line) }
  }
  try expect(log.level == .debug && Log.none.level == .none)
  let attestor = try stillAttestor(storage: storage) { $0.log = log }
  try attestor.setUser("ada")
  try await probeStrings(attestor.secureStrings)

  var request = Request("POST", "https://api.example.com/", fields: [], body: [1])
  request.set("X-Name", to: "value")
  try expect(request.fields == [HeaderField("X-Name", "value")] && request.method == "POST")
  try expect(request.fields[0].name == "X-Name" && request.fields[0].value == "value")
  try expect(request.values(of: "x-name") == ["value"] && request.body == [1])
  try expect(request.url.hasPrefix("https") && OwnRequest().isRepeatable)
  let response = Response(status: 401, fields: [HeaderField("proof-refusal", "token")], body: [2])
  try expect(response.status == 401 && response.body == [2] && response.fields.count == 1)
  try expect(response.value(of: "proof-refusal") == "token")

  let client: ProtectedClient = attestor.client
  try expect(ProtectedClient.time == .seconds(60))
  func fails(_ body: () async throws(GateError) -> Void) async throws {
    do throws(GateError) {
      try await body()
    } catch {
      guard case .notReady(let cause?) = error else { throw error }
      return try expect(cause.reason == .noNetwork && error.code == "GATE-2")
    }
    throw Unexpected(description: "a proof without a service")
  }
  try await fails { () async throws(GateError) in
    _ = try await client.perform(
      request, event: 3300, data: [], isSignedByInstallation: false, within: .seconds(1),
      responseLimit: 1)
  }
  try await fails { () async throws(GateError) in
    _ = try await client.guarded(
      OwnRequest(), event: 3300, data: [], isSignedByInstallation: false)
  }
  try await fails { () async throws(GateError) in
    try await client.attest("login", at: "api.example.com", within: .seconds(1))
  }
  let found: ProtectedClient.Challenge? = client.challenge(
    status: 428, header: { _ in nil }, to: request)
  if let found {
    try expect(found.host.isEmpty && found.needsPerson)
    try await client.solve(found, within: .seconds(1))
  }
  try expect(client.unguarded(request).url == request.url)
  let clearance = await client.clearance(for: "api.example.com")
  try expect(clearance == nil)

  let event = EventID(3300)
  try expect(event.rawValue == 3300 && event == 3300)
  let token: EventToken = try attestor.eventToken(for: event, account: "bob", data: [1])
  try expect(token.text.utf8.count == 88 && token.cause == .notStarted)
  try probeChallenges()
  try probeBridge(attestor)

  try expect(GateTimes.backOff == .seconds(1) && GateTimes.backOffMax == .seconds(60))
  try expect(GateTimes.quiet == .seconds(600))
  let errors: [GateError] = [
    .notStarted, .notReady(nil), .notMeasured(reason: "x"), .environmentChanged,
    .storageUnusable(reason: "x"), .malformedHost("x"), .hostNotListed("x"), .malformedMethod("x"),
    .malformedRequest(reason: "x"), .unknownEvent(1), .malformedAccount(byteCount: 0),
    .tokenRefused, .challenge(.outOfMemory), .transport(.cancelled), .timedOut, .cancelled,
    .installationKey(nil),
  ]
  try expect(Set(errors.map(\.description)).count == errors.count)
  if case .attestation(let cause) = errors[0] { throw cause }
}

/// Strings, which a service that is not there gives no key for.
private func probeStrings(_ strings: SecureStrings) async throws {
  try expect(SecureStringLimits.nameLength == 64 && SecureStringLimits.count == 64)
  try expect(SecureStringLimits.valueByteCount < SecureStringLimits.totalByteCount)
  func refused(_ body: () async throws(SecureStringError) -> Void) async -> SecureStringError? {
    do throws(SecureStringError) { try await body() } catch { return error }
    return nil
  }
  let read = await refused { () async throws(SecureStringError) in
    let string: SecureString = try await strings.string(named: "a")
    _ = (string.text, string.description, string.customMirror, string.withBytes { $0.byteCount })
  }
  let defined = await refused { () async throws(SecureStringError) in
    try await strings.define("a", as: "b")
  }
  let removed = await refused { () async throws(SecureStringError) in
    try await strings.remove("a")
  }
  for error in [read, defined, removed] {
    guard case .attestation(let cause) = error else {
      throw Unexpected(description: "no key, and no reason")
    }
    try expect(cause.reason == .noNetwork && error?.description.isEmpty == false)
  }
  try await strings.erase()
  let all: Set<SecureStringError> = [
    .badName(characterCount: 0), .badValue(byteCount: 0), .notThere(name: "a"),
    .noRoom(SecureStringError.Room.count), .noRoom(.bytes), .noRoom(.file),
    .stringDamaged(name: "a"), .damaged(keptAs: "x", byteCount: 1), .tooNew(version: 2),
    .storageUnusable(reason: "x"), .notDurable(reason: "x"), .cancelled,
  ]
  try expect(all.count == 12)
}

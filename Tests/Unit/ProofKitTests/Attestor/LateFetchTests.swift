// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// The traces of a fetch that ends after something else has happened: a reinitialisation, a newer
/// configuration, another definition.
@Suite("A fetch that ends late")
struct LateFetchTests {
  let service = InProcessService()

  private func state(session number: UInt64, serial: UInt32? = nil) throws -> AttestorState {
    var state = AttestorState()
    state.lastNumber = number
    state.session = AttestorState.Session(
      initial: try InitialConfiguration(service.shortForm), comment: nil, store: nil,
      number: number, configuration: try serial.map(configuration))
    return state
  }

  private func configuration(_ serial: UInt32) throws -> AccountConfiguration {
    try AccountConfiguration(service.configuration(serial: serial))
  }

  private func key(
    _ request: FetchRequest.Checked = FetchRequest.token("api.example.com"), session: UInt64
  ) throws -> AttestorState.Key {
    AttestorState.Key(request: try request.get(), session: session, settings: 0, distinction: 0)
  }

  private func outcome(
    _ status: FetchStatus = .success, serial: UInt32? = nil, messageKey: UInt8? = nil
  ) throws -> AttestorState.Outcome {
    var outcome = AttestorState.Outcome(FetchResult(status))
    outcome.configuration = try serial.map(configuration)
    outcome.messageKey = try messageKey.map {
      try MessageKey(SecretBytes(copying: [UInt8](repeating: $0, count: 32).span))
    }
    outcome.goodUntil = .seconds(100)
    outcome.forcedPinsSerial = 5
    return outcome
  }

  @Test("nothing counts of a fetch that began before a reinitialisation")
  func otherSession() throws {
    var state = try state(session: 2)
    let definition = FetchRequest.secureString("name", newDefinition: "value")
    for request in [FetchRequest.token("api.example.com"), definition] {
      try state.take(
        outcome(serial: 9, messageKey: 1), of: key(request, session: 1), isAwaited: true,
        at: .zero)
    }
    #expect(state.session?.configuration == nil && state.session?.messageKey == nil)
    #expect(state.session?.hasAsked == false)
    #expect(state.session?.forcedPinsSerial == 0)
    #expect(state.kept.isEmpty && state.definitions.isEmpty)
    try state.take(
      outcome(serial: 9, messageKey: 1), of: key(session: 2), isAwaited: true, at: .zero)
    #expect(state.session?.configuration?.serial == 9 && state.session?.messageKey != nil)
    #expect(state.session?.hasAsked == true)
    #expect(state.session?.forcedPinsSerial == 5 && state.kept.count == 1)
  }

  @Test("nothing counts of a fetch whose session has ended")
  func noSession() throws {
    var state = AttestorState()
    try state.take(outcome(serial: 9), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.session == nil && state.kept.isEmpty)
  }

  @Test(
    "an older configuration, or the same one, changes nothing", arguments: [0, 6, 7] as [UInt32])
  func olderConfiguration(serial: UInt32) throws {
    var state = try state(session: 1, serial: 7)
    let held = state.session?.configuration
    try state.take(outcome(serial: serial), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.session?.configuration == held)
    state.adopt(try configuration(serial))
    #expect(state.session?.configuration == held)
    state.adopt(try configuration(8))
    #expect(state.session?.configuration?.serial == 8)
  }

  @Test("the serial below which pins are forced never goes down")
  func forcedPins() throws {
    var state = try state(session: 1)
    state.session?.forcedPinsSerial = 6
    try state.take(outcome(), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.session?.forcedPinsSerial == 6)
  }

  @Test("a message key comes with tokens that were given, and goes with tokens that were not")
  func messageKey() throws {
    var state = try state(session: 1)
    let string = FetchRequest.secureString("name", newDefinition: nil)
    try state.take(
      outcome(messageKey: 1), of: key(string, session: 1), isAwaited: true, at: .zero)
    try state.take(
      outcome(.noNetwork, messageKey: 1), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.session?.messageKey == nil)
    try state.take(outcome(messageKey: 1), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.session?.messageKey != nil)
    try state.take(outcome(.noNetwork), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.session?.messageKey != nil)
    try state.take(outcome(), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.session?.messageKey == nil)
  }

  @Test("while the message key is rotated, a message is signed with the key of the token in it")
  func rotatedMessageKey() throws {
    var state = try state(session: 1)
    let keys = (0..<40).map { _ in MessageKey.random() }
    state.session?.take(keys[0], with: "token-a")
    state.session?.take(keys[1], with: "token-b")
    #expect(state.session?.messageKey(for: Array("open token-a".utf8)) == keys[0])
    #expect(state.session?.messageKey(for: Array("open token-b".utf8)) == keys[1])
    #expect(state.session?.messageKey(for: Array("open".utf8)) == keys[1])
    // Only so many are kept, the last ones.
    for key in keys { state.session?.take(key, with: "token-\(key == keys[39])") }
    #expect(state.session?.messageKey(for: Array("open token-a".utf8)) == keys[39])
    #expect(state.session?.messageKeys.count == 32)
    state.session?.take(nil, with: "token-c")
    #expect(state.session?.messageKey(for: Array("open token-a".utf8)) == nil)
  }

  @Test("a result is not kept if the settings have changed or the caller has left")
  func unwanted() throws {
    var state = try state(session: 1)
    try state.take(outcome(), of: key(session: 1), isAwaited: false, at: .zero)
    #expect(state.kept.isEmpty)
    state.changeSettings { $0.userProperty = "x" }
    try state.take(outcome(), of: key(session: 1), isAwaited: true, at: .zero)
    #expect(state.kept.isEmpty)
  }

  @Test("a new definition of a secure string ends what other calls of that name got")
  func definition() throws {
    var state = try state(session: 1)
    let definition = FetchRequest.secureString("name", newDefinition: "value")
    try state.take(outcome(), of: key(definition, session: 1), isAwaited: false, at: .zero)
    let first = try #require(state.definitions["name"])
    try state.take(outcome(), of: key(definition, session: 1), isAwaited: false, at: .zero)
    #expect(try #require(state.definitions["name"]) > first && state.definitions.count == 1)
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

@Suite("The state of an attestor")
struct AttestorStateTests {
  let service = InProcessService()

  private func state() throws -> AttestorState {
    var state = AttestorState()
    state.lastNumber = 1
    state.session = AttestorState.Session(
      initial: try InitialConfiguration(service.shortForm), comment: nil, store: nil, number: 1)
    return state
  }

  private func key(
    _ request: FetchRequest.Checked = FetchRequest.token("api.example.com"), settings: UInt64 = 0
  ) throws -> AttestorState.Key {
    AttestorState.Key(request: try request.get(), session: 1, settings: settings, distinction: 0)
  }

  private func outcome(
    _ status: FetchStatus = .success, goodUntil: Duration? = .seconds(100)
  ) throws -> AttestorState.Outcome {
    var outcome = AttestorState.Outcome(FetchResult(status))
    outcome.goodUntil = goodUntil
    outcome.environment = try EvidenceSet([])
    return outcome
  }

  // MARK: Results that are kept

  @Test("a result is kept until its end, and then it is gone")
  func kept() throws {
    var state = try state()
    let key = try key()
    try state.take(outcome(), of: key, isAwaited: true, at: .zero)
    let before = state.kept(key, at: .milliseconds(99_999)) != nil
    #expect(before && state.kept.count == 1)
    let after = state.kept(key, at: .seconds(100)) != nil
    #expect(!after && state.kept.isEmpty)
  }

  @Test("a result of success is handed out with a look at the environment, another one without")
  func environment() throws {
    for (status, hasEnvironment) in [
      (FetchStatus.success, true), (.unprotectedURL, false), (.noNetwork, false),
    ] {
      var state = try state()
      let key = try key()
      try state.take(outcome(status), of: key, isAwaited: true, at: .zero)
      let kept = try #require(state.kept[key])
      #expect((kept.environment != nil) == hasEnvironment && kept.goodUntil == .seconds(100))
    }
  }

  @Test("a failure that would come again is remembered for half a second, others are not")
  func remembered() throws {
    let others: Set<FetchStatus> = [
      .success, .unknownURL, .unprotectedURL, .notInitialized, .cancelled, .noMessageKey,
    ]
    for status in FetchStatus.allCases {
      var state = try state()
      let key = try key()
      try state.take(outcome(goodUntil: .seconds(9)), of: key, isAwaited: true, at: .zero)
      try state.take(
        outcome(status, goodUntil: nil), of: key, isAwaited: true, at: .seconds(1))
      let kept = state.kept[key]
      #expect((kept == nil) == others.contains(status), "\(status)")
      #expect(kept.map { $0.goodUntil == .milliseconds(1_500) } ?? true)
      #expect(kept?.environment == nil)
    }
  }

  @Test("a result that comes ends others whose time is over, and no younger one")
  func filtered() throws {
    var state = try state()
    let old = try key(FetchRequest.token("old.example.com"))
    let young = try key(FetchRequest.token("young.example.com"))
    try state.take(outcome(goodUntil: .seconds(5)), of: old, isAwaited: true, at: .zero)
    try state.take(outcome(goodUntil: .seconds(6)), of: young, isAwaited: true, at: .zero)
    try state.take(outcome(), of: key(), isAwaited: true, at: .seconds(5))
    #expect(state.kept[old] == nil && state.kept[young] != nil && state.kept.count == 2)
  }

  @Test("a change of the settings ends what was kept, and gives them another number")
  func settings() throws {
    var state = try state()
    try state.take(outcome(), of: key(), isAwaited: true, at: .zero)
    state.changeSettings { $0.userProperty = "x" }
    #expect(state.kept.isEmpty && state.settings.userProperty == "x")
    #expect(state.settings.number == 2 && state.lastNumber == 2)
    let numbers = [state.nextNumber(), state.nextNumber()]
    #expect(numbers == [3, 4])
  }

  @Test("a changed environment ends results and message keys")
  func dropped() throws {
    var state = try state()
    try state.take(outcome(), of: key(), isAwaited: true, at: .zero)
    state.session?.take(MessageKey.random(), with: "token")
    state.dropAll()
    #expect(state.kept.isEmpty && state.session?.messageKey == nil)
  }

  // MARK: Notes of the app

  @Test("a measurement error is told until a fetch with these settings succeeds")
  func measurementError() throws {
    for (status, number, isTold) in [
      (FetchStatus.success, 0, false), (.rejected, 0, true), (.noNetwork, 0, true),
      (.success, 7, true),
    ] as [(FetchStatus, UInt64, Bool)] {
      var state = try state()
      state.settings.reportsMeasurementError = true
      try state.take(outcome(status), of: key(settings: number), isAwaited: true, at: .zero)
      #expect(state.settings.reportsMeasurementError == isTold)
    }
  }

  @Test("a copy is told until the service has judged a report with these settings")
  func copies() throws {
    let hardware = HardwareID.random()
    for (status, number, isTold) in [
      (FetchStatus.success, 0, false), (.rejected, 0, false), (.noNetwork, 0, true),
      (.disabled, 0, true), (.success, 7, true),
    ] as [(FetchStatus, UInt64, Bool)] {
      var state = try state()
      state.settings.copySightings = [hardware]
      try state.take(outcome(status), of: key(settings: number), isAwaited: true, at: .zero)
      #expect(state.settings.copySightings == (isTold ? [hardware] : []))
      #expect(state.reportedCopies == (isTold ? [] : [hardware]))
    }
  }

  @Test("only a new definition of a secure string counts as one")
  func definitions() throws {
    var state = try state()
    for request in [
      FetchRequest.secureString("name", newDefinition: nil),
      FetchRequest.token("api.example.com?measurement"), FetchRequest.customJWT("{}"),
    ] { try state.take(outcome(), of: key(request), isAwaited: true, at: .zero) }
    #expect(state.definitions.isEmpty)
    try state.take(
      outcome(), of: key(FetchRequest.secureString("name", newDefinition: "x")), isAwaited: true,
      at: .zero)
    #expect(Array(state.definitions.keys) == ["name"])
  }

  // MARK: Flights

  @Test("a fetch ends by its own number alone, and gives its callers back once")
  func land() throws {
    var state = try state()
    let key = try key()
    state.flights[key] = AttestorState.Flight(number: 5, seats: [Seat { _ in }, Seat { _ in }])
    let other = state.land(key, 4)?.count
    #expect(other == nil && state.flights.count == 1)
    let own = state.land(key, 5)?.count
    #expect(own == 2 && state.flights.isEmpty)
    let again = state.land(key, 5)?.count
    #expect(again == nil)
  }

  @Test(
    "pins have the serial of their configuration, and the higher one below which they are forced")
  func pins() throws {
    var session = try #require(try state().session)
    #expect(session.pins.byHost.isEmpty && session.pins.serial == 0)
    session.forcedPinsSerial = 3
    #expect(session.pins.forcedSerial == 3)
    for (forced, highest) in [(2, 3), (4, 4)] as [(UInt32, UInt32)] {
      service.set {
        $0.pins = ["api.example.com": [pin(1)]]
        $0.forced = forced
      }
      session.configuration = try AccountConfiguration(service.configuration(serial: 9))
      #expect(session.pins.byHost == ["api.example.com": [pin(1)]])
      #expect(session.pins.serial == 9 && session.pins.forcedSerial == highest)
    }
  }

  @Test("a message that is a token alone, or shorter than it, has its key, too")
  func messageKeys() throws {
    var session = try #require(try state().session)
    let keys = [MessageKey.random(), MessageKey.random()]
    #expect(session.messageKey(for: []) == nil)
    session.take(keys[0], with: "token-a")
    #expect(session.messageKey(for: []) == keys[0])
    session.take(keys[1], with: "token-b")
    #expect(session.messageKey(for: Array("token-a".utf8)) == keys[0])
    #expect(session.messageKey(for: Array("token-".utf8)) == keys[1])
    #expect(session.messageKey(for: Array("a token-a, once".utf8)) == keys[0])
    #expect(session.messageKey == keys[1])
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The times of a gate session, all in one place.
public enum GateTimes {
  /// The first wait after a try that failed. Each wait is twice the one before.
  public static let backOff = Duration.seconds(1)
  /// The longest wait between two tries.
  public static let backOffMax = Duration.seconds(60)
  /// How long after the last proof or token a session renews its admission.
  public static let quiet = Duration.seconds(600)
  /// How long a process counts as young.
  static let youth = Duration.seconds(2)
  /// The part of its life after which an admission is renewed.
  static let renewal = 0.8
}

/// The state of a gate session, guarded by one lock.
struct GateState {
  /// An admission in use.
  struct Held {
    let admitted: Admitted
    /// When its life began, in uptime.
    let obtained: Duration
    /// One more for each admission.
    let number: Int
    /// The gate has opened the token.
    var isTokenKnown = false
    /// The ticket that the gate gave for the token: another node opens it without the token.
    var ticket: String?
    /// Whether the next request carries the ticket.
    var offersTicket = false
    /// How often the gate asked for the token again although it was sent.
    var tokenRefusals = 0
    /// The app was found changed, and the service is asked.
    var isOutdated = false

    var end: Duration { obtained + .seconds(Int64(admitted.admission.life)) }
  }

  /// The values that make one proof.
  struct Draw {
    let held: Held
    let keyring: GateKeyring?
    let process: UInt64
  }

  /// A user account, and its digest under one key.
  struct Account {
    let name: String
    var digest: Digest?
    var key: UInt8 = 0
  }

  /// A gate's word on the time: SPEC.md, section 15, *Gate nonce*.
  struct Word {
    let text: String
    /// When the gate takes it no longer, with a margin, in uptime.
    let end: Duration

    init?(_ text: String, at now: Duration) {
      // It is signed as it stands, so it has one form alone.
      guard text.utf8.count == 32, Base64.decode(text, .url) != nil else { return nil }
      self.text = text
      end = now + .seconds(50)
    }
  }

  enum Phase {
    case idle
    case working
    case failed(GateError)
  }

  var phase = Phase.idle
  var held: Held?
  var keyring: GateKeyring?
  var account: Account?
  var beacon: Beacon?
  var word: Word?
  var clearances = Clearances()
  /// The gate's time at some uptime, where the system's was refused.
  var anchor: (time: UnixTime, uptime: Duration)?
  var lastError: GateError?
  /// Whether the last answer of the session's own host came without TLS; nil before the first one.
  var isPlain: Bool?

  /// The process that the numbers below belong to.
  var process: UInt64
  var begun: Duration
  var start = UInt32.random(in: 1 ... .max)
  private var count: UInt32 = 0

  /// The time of the worker's next task, in uptime; nil if it has none.
  var due: Duration?
  /// Whether the app has not used the session for long. The admission is then renewed only at the
  /// next use.
  var isDormant = false
  var lastAsked: Duration
  var failures = 0
  var hasRead = false
  var ready: (@Sendable (GateError?) -> Void)?

  init(process: UInt64, at now: Duration) {
    self.process = process
    begun = now
    lastAsked = now
  }

  /// The next number for a token: one sequence for all kinds.
  mutating func next() -> (start: UInt32, count: UInt32) {
    if count == .max {
      start = UInt32.random(in: 1 ... .max)
      count = 0
    }
    count += 1
    return (start, count)
  }

  /// Forgets what a child must not share with the process that it was forked from.
  ///
  /// - Returns: Whether this is a new process.
  mutating func adopt(_ process: UInt64, at now: Duration) -> Bool {
    guard process != self.process else { return false }
    self.process = process
    keyring = nil
    clearances.drop()
    start = UInt32.random(in: 1 ... .max)
    count = 0
    begun = now
    return true
  }

  /// Notes that a proof or token is asked for.
  ///
  /// - Returns: Whether the worker has to look.
  mutating func ask(at now: Duration) -> Bool {
    lastAsked = now
    guard isDormant else { return false }
    isDormant = false
    due = now
    return true
  }

  /// The keys, unless they are too old.
  mutating func freshKeyring(at now: Duration) -> GateKeyring? {
    guard let held, let keyring,
      now - keyring.measured < .seconds(Int64(held.admitted.admission.freshness))
    else {
      keyring = nil
      return nil
    }
    return keyring
  }

  /// The digest under which the gate knows an account: of the name, or of the one that was set.
  mutating func digest(
    of name: String?, under key: GateAccountKey?
  ) throws(ProofError) -> (Digest, UInt8)? {
    guard let key, let name = name ?? account?.name else { return nil }
    if let account, account.name == name, account.key == key.number, let digest = account.digest {
      return (digest, key.number)
    }
    let digest = try key.digest(of: name)
    if account?.name == name {
      account?.digest = digest
      account?.key = key.number
    }
    return (digest, key.number)
  }

  /// The time of day as the gate sees it.
  func time(_ clock: AttestorClock, at now: Duration) -> UnixTime {
    guard let anchor else { return max(1, clock.time.now) }
    return max(1, anchor.time.advanced(by: Int((now - anchor.uptime).components.seconds)))
  }

  /// Drops the keys after a measurement that gave none. If the app is not the attested one, the service decides about
  /// it as it is now: at once, or later where that was asked before and helped for less than a minute.
  mutating func lose(_ lost: Held, _ error: GateError, at now: Duration, jitter: Double) {
    keyring = nil
    lastError = error
    if error == .environmentChanged { clearances.drop() }
    guard error == .environmentChanged, held?.number == lost.number, held?.isOutdated == false
    else { return }
    held?.isOutdated = true
    if now - lost.obtained > GateTimes.backOffMax { failures = 0 }
    if failures == 0 {
      failures = 1
      due = now
    } else {
      putOff(at: now, jitter: jitter)
    }
  }

  /// Forgets an error that a measurement has refuted.
  mutating func isMeasurable() {
    if case .notMeasured = lastError { lastError = nil }
  }

  /// Puts the next try off. The jitter is 0.9 to 1.1.
  mutating func putOff(at now: Duration, jitter: Double) {
    let wait = min(GateTimes.backOff * (1 << min(failures, 6)), GateTimes.backOffMax)
    failures += 1
    due = now + wait * jitter
  }

  /// Takes an admission.
  mutating func take(_ admitted: Admitted, obtained: Duration, jitter: Double) {
    // A clearance names the handle that earned it.
    if held?.admitted.handle != admitted.handle { clearances.drop() }
    held = Held(admitted: admitted, obtained: obtained, number: (held?.number ?? 0) + 1)
    keyring = nil
    account?.digest = nil
    // Where one admission after the other is of no use, the service is asked ever more rarely.
    if lastError != .tokenRefused, lastError != .environmentChanged { failures = 0 }
    lastError = nil
    due = obtained + .seconds(Int64(admitted.admission.life)) * (GateTimes.renewal * jitter)
  }
}

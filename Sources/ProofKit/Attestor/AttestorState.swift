// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The state of an attestor, guarded by one lock.
struct AttestorState {
  typealias Outcome = AttestationExchange.Outcome
  typealias Settings = AttestationExchange.Settings

  /// One account, from one initialisation to the next.
  struct Session {
    let initial: InitialConfiguration
    let comment: String?
    let store: ConfigurationStore?
    let number: UInt64
    var configuration: AccountConfiguration?
    var forcedPinsSerial: UInt32 = 0
    /// Whether the service was asked for a configuration or a token.
    var hasAsked = false
    var pace = ObservationPace()
    /// The keys for signed messages, each with the token that it came with, the last one last.
    private(set) var messageKeys: [(token: String, key: MessageKey)] = []

    /// The key that came with the last token.
    var messageKey: MessageKey? { messageKeys.last?.key }

    /// A bound above the number of tokens that an app has at once.
    private static let messageKeysMax = 32

    /// Takes the key that came with a token; nil if the account has no key any more.
    mutating func take(_ messageKey: MessageKey?, with token: String) {
      guard let messageKey else {
        messageKeys = []
        return
      }
      messageKeys.append((token, messageKey))
      if messageKeys.count > Self.messageKeysMax { messageKeys.removeFirst() }
    }

    mutating func dropMessageKeys() { messageKeys = [] }

    /// The key for a message: that of the token in the message, or else the last one. While the
    /// account's key is rotated, an app has tokens that name different keys.
    func messageKey(for message: [UInt8]) -> MessageKey? {
      guard let last = messageKeys.last else { return nil }
      guard messageKeys.contains(where: { $0.key != last.key }) else { return last.key }
      return messageKeys.last { Self.stands(Array($0.token.utf8), in: message) }?.key ?? last.key
    }

    /// Whether one byte string contains another. The standard library's search would link its
    /// string processing into the app, 1.6 MB.
    private static func stands(_ part: [UInt8], in whole: [UInt8]) -> Bool {
      guard part.count <= whole.count else { return false }
      return (0...whole.count - part.count).contains { start in
        whole[start..<start + part.count].elementsEqual(part)
      }
    }

    /// The newest pins.
    var pins: Pins {
      var pins = configuration?.pins ?? Pins([:])
      pins.serial = configuration?.serial ?? 0
      pins.forcedSerial = max(forcedPinsSerial, configuration?.forcedPinsSerial ?? 0)
      return pins
    }
  }

  /// The key of a fetch: calls with equal keys share one fetch.
  struct Key: Hashable {
    let request: FetchRequest
    let session: UInt64
    let settings: UInt64
    /// Differs for each fetch that is not shared, and after each new definition of a secure string.
    let distinction: UInt64
  }

  struct Flight {
    let number: UInt64
    let cancellation = Cancellation()
    var seats: [Seat] = []
    /// The session that it began with, which a reconfiguration may have replaced.
    var session: Session?
  }

  struct Kept {
    let result: FetchResult
    let goodUntil: Duration
    /// The environment at the fetch; nil for a failure, which is handed out without a check.
    let environment: EvidenceSet?
  }

  var session: Session?
  var settings = Settings()
  var flights: [Key: Flight] = [:]
  var kept: [Key: Kept] = [:]
  /// The number of new definitions of each secure string, by name.
  var definitions: [String: UInt64] = [:]
  /// Hardware whose sighting of a copy the service knows.
  var reportedCopies: Set<HardwareID> = []
  /// The last number drawn for a fetch, a session or a setting.
  var lastNumber: UInt64 = 0

  mutating func nextNumber() -> UInt64 {
    lastNumber += 1
    return lastNumber
  }

  /// Changes the app's own statements, and drops the results that were kept.
  mutating func changeSettings(_ change: (inout Settings) -> Void) {
    change(&settings)
    settings.number = nextNumber()
    kept = [:]
  }

  /// The app's environment has changed: drop its tokens and message keys.
  mutating func dropAll() {
    kept = [:]
    session?.dropMessageKeys()
  }

  /// The kept result of a fetch, if it is still valid.
  mutating func kept(_ key: Key, at now: Duration) -> Kept? {
    guard let found = kept[key] else { return nil }
    if now < found.goodUntil { return found }
    kept[key] = nil
    return nil
  }

  /// Ends a fetch and returns the callers that wait for it; empty if all have left.
  mutating func land(_ key: Key, _ number: UInt64) -> [Seat]? {
    guard let flight = flights[key], flight.number == number else { return nil }
    flights[key] = nil
    return flight.seats
  }

  /// Takes the result of a fetch.
  mutating func take(_ outcome: Outcome, of key: Key, isAwaited: Bool, at now: Duration) {
    // Ignore a fetch that began before a reinitialisation.
    guard session?.number == key.session else { return }
    adopt(outcome)
    if outcome.result.status == .success, key.settings == settings.number {
      settings.reportsMeasurementError = false
    }
    if [.success, .rejected].contains(outcome.result.status), key.settings == settings.number {
      reportedCopies.formUnion(settings.copySightings)
      settings.copySightings = []
    }
    if outcome.result.status == .success, key.request.isForToken {
      session?.take(outcome.messageKey, with: outcome.result.token)
    }
    if key.request.purpose == .secureString && !key.request.isShared {
      // Invalidate the string that other calls got before, or are still fetching.
      definitions[key.request.name] = nextNumber()
    }
    if isAwaited { keep(key, outcome, at: now) }
  }

  private mutating func adopt(_ outcome: Outcome) {
    guard var session else { return }
    session.hasAsked = true
    session.pace = outcome.pace ?? session.pace
    session.forcedPinsSerial = max(session.forcedPinsSerial, outcome.forcedPinsSerial)
    self.session = session
    if let configuration = outcome.configuration { adopt(configuration) }
  }

  /// Takes a newer configuration. An older one, from a fetch that ended late, is dropped.
  mutating func adopt(_ configuration: AccountConfiguration) {
    guard configuration.serial > session?.configuration?.serial ?? 0 else { return }
    session?.configuration = configuration
  }

  private mutating func keep(_ key: Key, _ outcome: Outcome, at now: Duration) {
    guard key.settings == settings.number, key.request.isShared else { return }
    // A caller that joins now must not get the result that was kept before.
    kept[key] = nil
    kept = kept.filter { now < $0.value.goodUntil }
    if let goodUntil = outcome.goodUntil {
      kept[key] = Kept(
        result: outcome.result, goodUntil: goodUntil,
        environment: outcome.result.status == .success ? outcome.environment : nil)
    } else if Self.isRemembered(outcome.result.status) {
      kept[key] = Kept(
        result: outcome.result, goodUntil: now + AttestorTimes.failure, environment: nil)
    }
  }

  /// Whether a result is kept for a while because a repeated fetch would fail at once again.
  private static func isRemembered(_ status: FetchStatus) -> Bool {
    switch status {
    case .noNetwork, .poorNetwork, .mitmDetected, .noService, .internalError, .rejected, .disabled,
      .unknownKey, .badKey, .badPayload, .badURL, .keyUnavailable:
      true
    case .success, .unknownURL, .unprotectedURL, .notInitialized, .cancelled, .noMessageKey: false
    }
  }
}

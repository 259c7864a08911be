// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// How likely fraud is, by the account's rules.
public enum RiskLevel: UInt8, Sendable, Hashable, CaseIterable, Comparable {
  /// No rule holds.
  case none = 0
  /// Worth a note.
  case low = 1
  /// Worth a second look.
  case medium = 2
  /// Likely fraud.
  case high = 3

  /// The word in configurations and answers.
  public var word: String {
    switch self {
    case .none: "none"
    case .low: "low"
    case .medium: "medium"
    case .high: "high"
    }
  }

  /// Reads ``word``.
  public init?(word: String) {
    guard let level = Self.allCases.first(where: { $0.word == word }) else { return nil }
    self = level
  }

  /// In ascending order.
  public static func < (left: RiskLevel, right: RiskLevel) -> Bool {
    left.rawValue < right.rawValue
  }
}

/// A rule of the account: a condition on an event that counts, the level that it means, and the reason to tell.
public struct RiskRule: Sendable, Hashable {
  /// The longest reason in bytes of UTF-8.
  public static let reasonMax = 80

  /// The events that it is for.
  public let numbers: ClosedRange<UInt16>
  /// When it holds.
  public let condition: RiskCondition
  /// The level that it means.
  public let level: RiskLevel
  /// The reason that the judgement tells.
  public let reason: String

  /// A rule; nil for a level or a reason that no rule may have.
  ///
  /// - Parameters:
  ///   - numbers: The events that it is for.
  ///   - condition: When it holds.
  ///   - level: The level that it means, above ``RiskLevel/none``.
  ///   - reason: 1 to 80 bytes of printable text.
  public init?(
    _ numbers: ClosedRange<UInt16>, _ condition: RiskCondition, _ level: RiskLevel, _ reason: String
  ) {
    guard level != .none, (1...Self.reasonMax).contains(reason.utf8.count),
      !reason.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else { return nil }
    self.numbers = numbers
    self.condition = condition
    self.level = level
    self.reason = reason
  }
}

/// A condition on an event: a fact, or a number and a bound.
public struct RiskCondition: Sendable, Hashable {
  /// The facts and numbers that a condition can name.
  public enum Subject: String, Sendable, Hashable, CaseIterable {
    /// The app failed its attestation.
    case failed
    /// An operator decided about the device.
    case forced
    /// The app's process was younger than two seconds.
    case young
    /// The token has no beacon of the last 15 minutes.
    case unanchored
    /// The token has findings of the SDK.
    case found
    /// Seconds since the measurement.
    case measured
    /// Seconds since the service saw the installation for the first time.
    case known
    /// Accounts of the device in the last minute.
    case accountsInMinute = "accounts-of-device/minute"
    /// Accounts of the device in the last hour.
    case accountsInHour = "accounts-of-device/hour"
    /// Accounts of the device in the last day.
    case accountsInDay = "accounts-of-device/day"
    /// Devices of the account in the last minute.
    case devicesInMinute = "devices-of-account/minute"
    /// Devices of the account in the last hour.
    case devicesInHour = "devices-of-account/hour"
    /// Devices of the account in the last day.
    case devicesInDay = "devices-of-account/day"
    /// Events of the device in the last minute.
    case eventsInMinute = "events-of-device/minute"
    /// Events of the device in the last hour.
    case eventsInHour = "events-of-device/hour"
    /// Events of the device in the last day.
    case eventsInDay = "events-of-device/day"
    /// Tokens from the client's address in the last hour that did not count.
    case invalidInHour = "invalid-of-address/hour"

    /// Whether it is a number.
    var isNumber: Bool {
      switch self {
      case .failed, .forced, .young, .unanchored, .found: false
      default: true
      }
    }
  }

  /// The side of the bound on which a number must be.
  public enum Side: String, Sendable, Hashable {
    /// Above the bound.
    case above = ">"
    /// Below the bound.
    case below = "<"
  }

  /// The fact or number.
  public let subject: Subject
  /// The side of the bound; of a fact it says nothing.
  public let side: Side
  /// The bound; 0 of a fact.
  public let bound: UInt32

  /// Reads a condition: the word of a fact, or a number's word, `>` or `<`, and the bound, as in
  /// `accounts-of-device/hour > 3`.
  ///
  /// - Parameter text: The condition.
  public init?(_ text: String) {
    let words = text.split(separator: " ", omittingEmptySubsequences: false)
    guard let subject = words.first.flatMap({ Subject(rawValue: String($0)) }),
      words.count == (subject.isNumber ? 3 : 1)
    else { return nil }
    self.subject = subject
    guard subject.isNumber else {
      (side, bound) = (.above, 0)
      return
    }
    guard let side = Side(rawValue: String(words[1])),
      !words[2].isEmpty, words[2].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
      let bound = UInt32(words[2])
    else { return nil }
    self.side = side
    self.bound = bound
  }

  /// The condition, as ``init(_:)`` reads it.
  public var text: String {
    subject.isNumber ? "\(subject.rawValue) \(side.rawValue) \(bound)" : subject.rawValue
  }

  /// Whether it holds for an event that counts.
  func holds(for event: RiskEvent) -> Bool {
    let number = event.number(of: subject)
    guard subject.isNumber else { return number > 0 }
    return side == .above ? number > UInt64(bound) : number < UInt64(bound)
  }
}

/// An event that counts, as conditions see it.
struct RiskEvent {
  let judgement: EventJudgement
  let facts: GateFacts
  let counts: EventCounts
  let invalid: EventCounts.Span
  let now: UnixTime

  /// The number of a subject; 1 for a fact that holds.
  func number(of subject: RiskCondition.Subject) -> UInt64 {
    switch subject {
    case .failed: facts.isFailed ? 1 : 0
    case .forced: facts.isForced ? 1 : 0
    case .young: judgement.isYoung ? 1 : 0
    case .unanchored: judgement.isAnchored ? 0 : 1
    case .found: facts.findings.isEmpty ? 0 : 1
    case .measured: UInt64(judgement.measured ?? .max)
    case .known: UInt64(clamping: now - facts.firstSeen)
    case .accountsInMinute: UInt64(counts.accountsOfDevice.minute)
    case .accountsInHour: UInt64(counts.accountsOfDevice.hour)
    case .accountsInDay: UInt64(counts.accountsOfDevice.day)
    case .devicesInMinute: UInt64(counts.devicesOfAccount.minute)
    case .devicesInHour: UInt64(counts.devicesOfAccount.hour)
    case .devicesInDay: UInt64(counts.devicesOfAccount.day)
    case .eventsInMinute: UInt64(counts.eventsOfDevice.minute)
    case .eventsInHour: UInt64(counts.eventsOfDevice.hour)
    case .eventsInDay: UInt64(counts.eventsOfDevice.day)
    case .invalidInHour: UInt64(invalid.hour)
    }
  }
}

/// The risk of one event: the highest level of the rules that hold, and their reasons.
public struct EventRisk: Sendable, Hashable {
  /// How many reasons a judgement tells.
  public static let reasonsMax = 8

  /// The level.
  public let level: RiskLevel
  /// The reasons, those of the highest level first.
  public let reasons: [String]

  /// No risk by any rule.
  public init() { (level, reasons) = (.none, []) }

  init(level: RiskLevel, reasons: [String]) { (self.level, self.reasons) = (level, reasons) }

  /// The rules that hold for an event of a number.
  init(_ rules: [RiskRule], _ number: UInt16, _ event: RiskEvent) {
    let found = rules.filter { $0.numbers.contains(number) && $0.condition.holds(for: event) }
    level = found.map(\.level).max() ?? .none
    var reasons: [String] = []
    for level in RiskLevel.allCases.reversed() {
      for rule in found where rule.level == level && !reasons.contains(where: { $0 == rule.reason })
      {
        reasons.append(rule.reason)
      }
    }
    self.reasons = Array(reasons.prefix(Self.reasonsMax))
  }
}

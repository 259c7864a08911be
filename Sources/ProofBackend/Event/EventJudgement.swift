// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A redeemer's decision on one event token.
public struct EventJudgement: Sendable, Hashable {
  /// The reason why a token does not count.
  public enum Reason: Sendable, Hashable {
    /// The core's reason, from ``/ProofModel/GateRefusal/text`` to ``/ProofModel/GateRefusal/replayed``.
    case refused(GateRefusal)
    /// An earlier process may have accepted it, and the replay store may have lost that.
    case beforeStart
    /// The account's name is empty or too long, or the token names an account key that is not here.
    case unknownAccountKey
    /// The idempotency key was used for another token or question.
    case otherQuestion
    /// The replay store did not answer; ask again.
    case store
    /// The account lists no event of this number for the audience.
    case unlistedEvent
    /// The account demands that tokens of this event name a user account, and the question has none.
    case needsAccount
    /// The account demands that tokens of this event are bound to business data, and the question has none.
    case needsData
    /// The token is of another app installation than the one that sent the request.
    case otherApp
  }

  /// Nil if the token counts.
  public let reason: Reason?
  /// Facts of the gate token; nil if no tag was verified.
  public let facts: GateFacts?
  /// The moment of the token by the app's clock; nil if no tag was verified.
  public let created: UnixTime?
  /// Seconds from the moment to the judgement; negative if the app's clock is ahead.
  public let age: Int64?
  /// Seconds since the measurement, 255 for more; nil if no tag was verified.
  public let measured: UInt8?
  /// Whether the app's process was younger than two seconds.
  public let isYoung: Bool
  /// Whether the token carries a beacon of the last 15 minutes.
  public let isAnchored: Bool
  /// Whether this is the answer to a question that was asked before under the same idempotency key.
  public let isRepeated: Bool
  /// Counts with this event in them; nil for a token that does not count.
  public internal(set) var counts: EventCounts? = nil
  /// Tokens from the client's address that did not count, with this one if it does not; zeros without an address.
  public internal(set) var invalidOfAddress = EventCounts.Span()
  /// The risk by the account's rules; none for a token that does not count.
  public internal(set) var risk = EventRisk()

  /// Whether the token counts. An app that failed its attestation has tokens that count too, so
  /// check ``facts``.
  public var isValid: Bool { reason == nil }
}

extension EventJudgement.Reason: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .refused(let refusal): refusal.description
    case .beforeStart: "An earlier process of this redeemer may have accepted the token."
    case .unknownAccountKey: "The token names an account key that this redeemer does not have."
    case .otherQuestion: "The idempotency key was used for another token, event, account or data."
    case .store: "The replay store did not answer. Ask again."
    case .unlistedEvent: "The account lists no event of this number for the redeemer's audience."
    case .needsAccount: "The event needs a user account: ask with the account's name."
    case .needsData: "The event needs business data: ask with the data."
    case .otherApp: "The token is of another app installation than the one that sent the request."
    }
  }
}

/// The fields of a judgement that are kept under an idempotency key: 49 bytes, and for a token that counts the counts
/// and the risk.
struct KeptJudgement: Equatable {
  static let headByteCount = 32 + 2 + 4 + 8 + 3
  static let spanByteCount = 12
  /// SHA-256 of the question.
  var question: [UInt8]
  /// 0 for a token that counts; else 1 to 255 of a refusal, or 256 and more.
  var reason: UInt16
  var created: UnixTime
  var age: Int64
  var measured: UInt8
  var isYoung: Bool
  var isAnchored: Bool
  var counts: EventCounts?
  var invalidOfAddress = EventCounts.Span()
  var risk = EventRisk()

  var bytes: [UInt8] {
    question + reason.littleEndianBytes + UInt32(clamping: created.seconds).littleEndianBytes
      + age.littleEndianBytes
      + [measured, isYoung ? 1 : 0, isAnchored ? 1 : 0]
      + (counts.map { counts in
        [
          counts.accountsOfDevice, counts.devicesOfAccount, counts.eventsOfDevice, invalidOfAddress,
        ].flatMap(Self.bytes) + [risk.level.rawValue, UInt8(clamping: risk.reasons.count)]
          + risk.reasons.flatMap { [UInt8(clamping: $0.utf8.count)] + Array($0.utf8) }
      } ?? [])
  }

  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.headByteCount else { return nil }
    question = Array(bytes[..<32])
    reason = UInt16(littleEndianBytes: bytes[32..<34])
    created = UnixTime(clamping: UInt32(littleEndianBytes: bytes[34..<38]))
    age = Int64(littleEndianBytes: bytes[38..<46])
    measured = bytes[46]
    isYoung = bytes[47] == 1
    isAnchored = bytes[48] == 1
    // A program of an earlier version kept no counts.
    var rest = bytes[Self.headByteCount...]
    guard !rest.isEmpty else { return }
    guard rest.count >= 4 * Self.spanByteCount + 2 else { return nil }
    var counts = EventCounts()
    counts.accountsOfDevice = Self.span(&rest)
    counts.devicesOfAccount = Self.span(&rest)
    counts.eventsOfDevice = Self.span(&rest)
    self.counts = counts
    invalidOfAddress = Self.span(&rest)
    guard let level = rest.popFirst().flatMap(RiskLevel.init(rawValue:)),
      let count = rest.popFirst()
    else { return nil }
    var reasons: [String] = []
    for _ in 0..<count {
      guard let length = rest.popFirst(), rest.count >= length,
        let reason = String(validating: rest.prefix(Int(length)), as: UTF8.self)
      else { return nil }
      reasons.append(reason)
      rest = rest.dropFirst(Int(length))
    }
    guard rest.isEmpty else { return nil }
    risk = EventRisk(level: level, reasons: reasons)
  }

  init(_ question: [UInt8], _ judgement: EventJudgement) {
    self.question = question
    reason =
      switch judgement.reason {
      case nil: 0
      case .refused(let refusal): UInt16(refusal.rawValue)
      case .beforeStart: 256
      case .unknownAccountKey: 257
      case .otherQuestion: 258
      case .store: 259
      case .unlistedEvent: 260
      case .needsAccount: 261
      case .needsData: 262
      case .otherApp: 263
      }
    created = judgement.created ?? 0
    age = judgement.age ?? 0
    measured = judgement.measured ?? 255
    isYoung = judgement.isYoung
    isAnchored = judgement.isAnchored
    counts = judgement.counts
    invalidOfAddress = judgement.invalidOfAddress
    risk = judgement.risk
  }

  /// The judgement again.
  func judgement(_ facts: GateFacts?) -> EventJudgement {
    let reason: EventJudgement.Reason? =
      switch self.reason {
      case 0: nil
      case 256: .beforeStart
      case 257: .unknownAccountKey
      case 1...255: GateRefusal(rawValue: UInt8(self.reason)).map { .refused($0) } ?? .otherQuestion
      default: .otherQuestion
      }
    var judgement = EventJudgement(
      reason: reason, facts: facts, created: created, age: age, measured: measured,
      isYoung: isYoung, isAnchored: isAnchored, isRepeated: true)
    judgement.counts = counts
    judgement.invalidOfAddress = invalidOfAddress
    judgement.risk = risk
    return judgement
  }

  private static func bytes(_ span: EventCounts.Span) -> [UInt8] {
    [span.minute, span.hour, span.day].flatMap(\.littleEndianBytes)
  }

  private static func span(_ bytes: inout ArraySlice<UInt8>) -> EventCounts.Span {
    let own = Array(bytes.prefix(spanByteCount))
    bytes = bytes.dropFirst(spanByteCount)
    return EventCounts.Span(
      minute: UInt32(littleEndianBytes: own[0..<4]), hour: UInt32(littleEndianBytes: own[4..<8]),
      day: UInt32(littleEndianBytes: own[8..<12]))
  }
}

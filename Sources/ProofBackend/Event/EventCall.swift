// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
public import ProofModel

/// A question about an event token to the listener for events of a gate or of the service: for a backend in a process
/// of its own.
///
/// Send ``body`` with POST to ``path`` below the listener's URL, with the header field `Authorization: Bearer` and the
/// backend's credential. Any HTTP client does. ``EventAnswer`` reads the answer. Ask again under the same idempotency
/// key if no answer came: the token counts once, and the judgement is the same.
public struct EventCall: Sendable, Hashable {
  /// The listener's path.
  public static let path = "/v1/event"

  /// JSON of at most 4,096 bytes for a question within the listener's bounds.
  public let body: [UInt8]

  /// Writes a question. The business data stays here: the listener gets its SHA-256.
  public init(_ question: EventVerifier.Question) {
    var object: JSONObject = [
      "event": .number(JSONNumber(Int64(question.event))), "token": .string(question.token),
    ]
    if let account = question.account { object["account"] = .string(account) }
    if let address = question.address { object["address"] = .string(address) }
    if let key = question.idempotencyKey { object["key"] = .string(key) }
    if let data = question.bound {
      object["data"] = .string(Base64.encode(data.bytes, .url))
    }
    body = Array(JSONValue.object(object).text.utf8)
  }
}

/// The judgement of a listener for events.
public struct EventAnswer: Sendable, Hashable {
  /// The attestation behind a token whose app the redeemer knows.
  public struct Attestation: Sendable, Hashable {
    /// Whether the app failed its attestation. The app must not be able to tell: decide late, or log.
    public var isFailed: Bool
    /// Whether an operator decided about this device.
    public var isForced: Bool
    /// The attestation response code; nil for none.
    public var responseCode: String?
    /// Findings of the SDK about its process.
    public var findings: [GateFinding] = []
    /// Bit n for the property of number n.
    public var properties: UInt32 = 0
    /// The time when the service saw the installation first.
    public var firstSeen: UnixTime = 0
  }

  /// Whether the token counts. An app that failed its attestation has tokens that count too: look at ``attestation``.
  public let isValid: Bool
  /// The word of docs/GATE.md for a token that does not count; nil for one that counts.
  public let reason: String?
  /// Whether the question was asked before under the same idempotency key.
  public let isRepeated: Bool
  /// Seconds since the token was made; nil if its tag was not verified.
  public let age: Int64?
  /// The installation; nil if no app was found. Keep it out of logs.
  public let device: InstanceID?
  /// The attestation; nil if no app was found.
  public let attestation: Attestation?
  /// Counts with this event in them; nil for a token that does not count.
  public let counts: EventCounts?
  /// Tokens from the client's address that did not count.
  public let invalidOfAddress: EventCounts.Span
  /// The risk by the account's rules.
  public let risk: EventRisk

  /// Reads an answer.
  ///
  /// - Parameters:
  ///   - status: The status of the HTTP answer.
  ///   - body: Its body.
  /// - Throws: ``EventCallError`` for an answer without a judgement. No event may count then.
  public init(status: Int, body: [UInt8]) throws(EventCallError) {
    guard status == 200 else { throw EventCallError(status, body) }
    guard case .object(let object)? = try? JSONValue(parsing: body.span),
      case .bool(let isValid)? = object["valid"], case .bool(let isRepeated)? = object["repeated"],
      let risk = EventRisk(object["risk"]), case .object(let told)? = object["counts"],
      let invalid = EventCounts.Span(told["invalidOfAddress"])
    else { throw .unreadable }
    self.isValid = isValid
    self.isRepeated = isRepeated
    self.risk = risk
    invalidOfAddress = invalid
    reason = object["reason"].text
    age = object["age"].integer
    device = object["device"].text.flatMap { try? InstanceID($0) }
    counts = EventCounts(told)
    if case .object(let facts)? = object["attestation"] {
      guard let attestation = Attestation(facts) else { throw .unreadable }
      self.attestation = attestation
    } else {
      attestation = nil
    }
    let isWhole = age != nil && device != nil && attestation != nil && counts != nil
    guard isValid ? reason == nil && isWhole : reason != nil else { throw .unreadable }
  }
}

extension EventAnswer.Attestation {
  fileprivate init?(_ object: JSONObject) {
    guard case .bool(let isFailed)? = object["failed"],
      case .bool(let isForced)? = object["forced"],
      let properties = object["properties"].integer.flatMap({ UInt32(exactly: $0) }),
      let firstSeen = object["firstSeen"].integer, firstSeen >= 0,
      case .array(let findings)? = object["findings"]
    else { return nil }
    self.init(isFailed: isFailed, isForced: isForced)
    responseCode = object["arc"].text
    self.properties = properties
    self.firstSeen = UnixTime(seconds: firstSeen)
    for finding in findings {
      guard let finding = GateFinding(text: Optional(finding).text) else { return nil }
      self.findings.append(finding)
    }
  }
}

/// The reason why a listener for events gave no judgement. No event may count then.
public enum EventCallError: Error, Sendable, Hashable {
  /// The listener cannot judge now: ask again. Nothing was used up.
  case unavailable
  /// The credential asks too often: ask again later.
  case tooOften
  /// The credential is missing, unknown or has ended.
  case unauthorized
  /// The listener refuses the question, with its words.
  case refused(status: Int, words: String)
  /// The answer is none of a listener for events.
  case unreadable

  init(_ status: Int, _ body: [UInt8]) {
    switch status {
    case 401: self = .unauthorized
    case 429: self = .tooOften
    case 503: self = .unavailable
    default:
      guard case .object(let object)? = try? JSONValue(parsing: body.span),
        let words = object["title"].text
      else {
        self = .unreadable
        return
      }
      self = .refused(status: status, words: words)
    }
  }
}

extension EventCallError: CustomStringConvertible {
  /// The failure and the next step.
  public var description: String {
    switch self {
    case .unavailable: "The listener cannot judge events now. Ask again."
    case .tooOften:
      "The credential asks the listener too often. Ask again later, or raise --event-rate."
    case .unauthorized:
      "The listener does not take the credential. Draw another one: proof-gate event-credential."
    case .refused(let status, let words): "The listener refused the question (\(status)): \(words)"
    case .unreadable: "The answer is no judgement. Is it a listener for events?"
    }
  }
}

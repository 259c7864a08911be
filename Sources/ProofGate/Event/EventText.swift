// SPDX-License-Identifier: Apache-2.0

package import ProofBackend
internal import ProofJOSE
internal import ProofModel

/// The JSON of the events' endpoint: questions of backends, and the gate's judgements.
package enum EventText {
  /// The most bytes of a question.
  package static let byteMax = 4_096
  /// The longest name of a user account in bytes of UTF-8.
  static let accountMax = 128
  /// The longest idempotency key in bytes of UTF-8.
  static let keyMax = 128

  private static let members: Set<String> = ["token", "event", "account", "data", "address", "key"]

  /// Reads a question about a token.
  ///
  /// - Parameters:
  ///   - body: The body of `POST /v1/event`.
  ///   - asker: The name of the backend's credential: idempotency keys of two backends are told apart by it.
  /// - Returns: The question.
  /// - Throws: ``EventTextError`` with the member that cannot be used.
  package static func question(
    _ body: [UInt8], from asker: String
  ) throws(EventTextError) -> EventVerifier.Question {
    let object = try object(body, members)
    guard case .number(let number)? = object["event"], let integer = number.integer,
      let event = UInt16(exactly: integer)
    else { throw EventTextError("event", "is the event's number, 0 to 65535") }
    guard let token = try text("token", in: object, 1...256) else {
      throw EventTextError("token", "is missing")
    }
    var question = EventVerifier.Question(token, event: event)
    question.account = try text("account", in: object, 1...accountMax)
    question.address = try text("address", in: object, 2...45)
    guard question.address?.utf8.allSatisfy(isOfAddress) ?? true else {
      throw EventTextError("address", "is an IPv4 or IPv6 address")
    }
    if let data = try text("data", in: object, 1...64) {
      guard let bytes = Base64.decode(data, .url), let digest = try? Digest(bytes) else {
        throw EventTextError("data", "is SHA-256 of the business data in base64url, 43 characters")
      }
      question.digest = digest
    }
    question.idempotencyKey = try text("key", in: object, 1...keyMax)
      .map { "\(asker.utf8.count):\(asker)\($0)" }
    return question
  }

  /// Reads the account that a backend wants forgotten: the body of `POST /v1/forget`.
  package static func account(_ body: [UInt8]) throws(EventTextError) -> String {
    guard let account = try text("account", in: object(body, ["account"]), 1...accountMax) else {
      throw EventTextError("account", "is missing")
    }
    return account
  }

  /// The judgement as JSON. The caller's account and data are not in it.
  package static func answer(_ judgement: EventJudgement) -> [UInt8] {
    var object: JSONObject = [
      "valid": .bool(judgement.isValid), "repeated": .bool(judgement.isRepeated),
      "risk": .object(judgement.risk.object),
    ]
    if let reason = judgement.reason {
      object["reason"] = .string(reason.word)
      object["detail"] = .string(reason.description)
    }
    if let age = judgement.age { object["age"] = number(age) }
    if let facts = judgement.facts {
      object["device"] = .string(Hexadecimal.encode(facts.instance.bytes))
      object["attestation"] = .object(attestation(facts, judgement))
    }
    var counts = judgement.counts?.object ?? JSONObject()
    counts["invalidOfAddress"] = .object(judgement.invalidOfAddress.object)
    object["counts"] = .object(counts)
    return Array(JSONValue.object(object).text.utf8)
  }

  /// How many devices a forgotten account was seen with, as JSON.
  package static func answer(forgotten count: Int) -> [UInt8] {
    Array(JSONValue.object(["devices": number(Int64(count))]).text.utf8)
  }

  /// A failure as problem details (RFC 9457).
  package static func problem(_ status: Int, _ title: String) -> [UInt8] {
    let object: JSONObject = ["title": .string(title), "status": number(Int64(status))]
    return Array(JSONValue.object(object).text.utf8)
  }

  // MARK: Parts

  private static func attestation(_ facts: GateFacts, _ judgement: EventJudgement) -> JSONObject {
    var object: JSONObject = [
      "failed": .bool(facts.isFailed), "forced": .bool(facts.isForced),
      "properties": number(Int64(facts.properties)),
      "findings": .array(facts.findings.map { .string($0.text) }),
      "firstSeen": number(facts.firstSeen.seconds),
      "issued": number(facts.issued.seconds),
    ]
    if let code = facts.responseCode { object["arc"] = .string(code) }
    // They are unknown, and not false, if no tag was verified.
    if let measured = judgement.measured {
      object["measured"] = number(Int64(measured))
      object["young"] = .bool(judgement.isYoung)
      object["anchored"] = .bool(judgement.isAnchored)
    }
    return object
  }

  private static func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }

  private static func object(
    _ body: [UInt8], _ members: Set<String>
  ) throws(EventTextError) -> JSONObject {
    guard body.count <= byteMax, case .object(let object)? = try? JSONValue(parsing: body.span)
    else { throw EventTextError("", "is no JSON object of at most \(byteMax) bytes") }
    // An unknown member may be a misspelt one, such as an account that would then be left out.
    for (name, _) in object.members where !members.contains(name) {
      throw EventTextError(
        "", "has a member that is not one of \(members.sorted().joined(separator: ", "))")
    }
    return object
  }

  private static func text(
    _ name: String, in object: JSONObject, _ range: ClosedRange<Int>
  ) throws(EventTextError) -> String? {
    guard let value = object[name] else { return nil }
    guard case .string(let text) = value, range.contains(text.utf8.count) else {
      throw EventTextError(
        name, "is a text of \(range.lowerBound) to \(range.upperBound) bytes")
    }
    return text
  }

  private static func isOfAddress(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66, UInt8(ascii: "."), UInt8(ascii: ":"): true
    default: false
    }
  }
}

/// The reason why a question cannot be read. It has nothing of the question's values.
package struct EventTextError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The member, or the body.
  package let description: String

  init(_ member: String, _ problem: String) {
    description = member.isEmpty ? "The body \(problem)." : "The member \"\(member)\" \(problem)."
  }
}

extension EventJudgement.Reason {
  /// The word in answers, logs and measures.
  package var word: String {
    switch self {
    case .beforeStart: "before-start"
    case .unknownAccountKey: "unknown-account-key"
    case .otherQuestion: "other-question"
    case .store: "store"
    case .unlistedEvent: "unlisted-event"
    case .needsAccount: "needs-account"
    case .needsData: "needs-data"
    case .otherApp: "other-app"
    case .refused(let refusal):
      switch refusal {
      case .text, .compactLength, .compactVersion, .compactKind, .reserved: "malformed"
      case .errorState: "error-state"
      case .handle: "unknown-app"
      case .otherAccount: "other-account"
      case .otherData: "other-data"
      case .generation: "generation"
      case .event: "other-event"
      case .ahead: "ahead"
      case .stale: "stale"
      case .unanchored: "unanchored"
      case .measured: "measured"
      case .kept: "kept"
      case .replayed: "replayed"
      default: "tag"
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofModel
import ProofRequest

extension GateClient {
  /// A gate's challenge, read from an answer. The text is checked for its form alone: the gate that set it judges it.
  package struct Challenge: Sendable, Hashable {
    /// The way in which a challenge is answered. The numbers stand in the id.
    package enum Kind: UInt8, Sendable, Hashable, CaseIterable {
      /// The app sends its ticket, then its gate token.
      case token = 5
      /// The app measures itself and answers with a proof.
      case proof = 6
      /// The processor solves 16 puzzles.
      case work = 7
      /// The processor solves birthday problems, which take 32 MiB each.
      case memoryWork = 8
      /// A person answers on a page.
      case person = 9
    }

    /// The number of characters of an id.
    package static let characterCount = ChallengeWire.characterCount
    /// The longest body in which a challenge is looked for, in bytes.
    static let bodyMax = 4096
    /// The longest text of cookies in which a challenge is looked for, in bytes.
    static let cookiesMax = 16_384
    /// The highest levels that a gate sets: work (a), work (b).
    private static let levelMax: [Kind: UInt8] = [.work: 24, .memoryWork: 7]

    /// The id in base64url.
    package let id: String
    /// The way in which it is answered.
    package let kind: Kind
    /// How hard it is; 0 for kinds without levels.
    package let level: UInt8
    /// The last Unix second in which an answer counts, by the gate's clock.
    package let expiry: UInt32
    /// The id's bytes.
    let bytes: [UInt8]

    /// Whether a page must be shown.
    package var needsPerson: Bool { kind == .person }

    /// Reads an id.
    ///
    /// - Parameter id: 80 characters of base64url.
    /// - Throws: ``ChallengeError/malformed(reason:)``.
    package init(_ id: String) throws(ChallengeError) {
      guard id.utf8.count == Self.characterCount, let bytes = Base64.decode(id, .url) else {
        throw .malformed(reason: "it is not \(Self.characterCount) characters of base64url")
      }
      guard bytes[0] >> 4 == ChallengeWire.version else {
        throw .malformed(reason: "its version is \(bytes[0] >> 4)")
      }
      guard let kind = Kind(rawValue: bytes[0] & 15) else {
        throw .malformed(reason: "its kind is \(bytes[0] & 15)")
      }
      let level = bytes[ChallengeWire.levelAt]
      let isLevel = Self.levelMax[kind].map { (1...$0).contains(level) } ?? (level == 0)
      guard isLevel, bytes[ChallengeWire.levelAt + 1] == 0 else {
        throw .malformed(reason: "its level is \(level)")
      }
      self.id = id
      self.kind = kind
      self.level = level
      self.bytes = bytes
      expiry = UInt32(littleEndianBytes: bytes[ChallengeWire.expiryAt..<ChallengeWire.routeAt])
    }
  }

  /// The challenge in an answer of an app's own HTTP client; nil if the answer asks for nothing.
  ///
  /// The header field `Proof-Challenge` counts with any status. A client that hands on cookies and body alone finds the
  /// id in the cookie `proof-challenge` or in the body of the refusal, a JSON object of at most 4 KiB with `status` 428
  /// and `challenge`. Every other body is passed over, in constant memory.
  ///
  /// - Parameters:
  ///   - status: The HTTP status; nil if it is not known.
  ///   - fields: The header.
  ///   - cookies: The values of all `Set-Cookie` fields, merged as `name=value;name=value;`.
  ///   - body: The body.
  /// - Returns: The challenge.
  /// - Throws: ``GateError/challenge(_:)`` with ``ChallengeError/malformed(reason:)`` if the header field
  ///   is given twice or holds no id.
  package static func challenge(
    status: Int? = nil, fields: [HeaderField] = [], cookies: String = "", body: [UInt8] = []
  ) throws(GateError) -> Challenge? {
    let values = fields.values(of: GateField.challenge)
    guard values.count <= 1 else { throw .challenge(.malformed(reason: "it is given twice")) }
    if let value = values.first {
      do throws(ChallengeError) { return try Challenge(value) } catch { throw .challenge(error) }
    }
    return challenge(inCookies: cookies) ?? challenge(inBody: body)
  }

  /// The challenge in an answer; nil if the answer asks for nothing.
  ///
  /// - Parameters:
  ///   - response: The answer.
  ///   - cookies: The values of all `Set-Cookie` fields, merged, from a client that takes them out of the header.
  /// - Returns: The challenge.
  /// - Throws: As ``challenge(status:fields:cookies:body:)``.
  package static func challenge(
    in response: Response, cookies: String = ""
  ) throws(GateError) -> Challenge? {
    try challenge(
      status: response.status, fields: response.fields, cookies: cookies, body: response.body)
  }

  private static func challenge(inCookies cookies: String) -> Challenge? {
    guard cookies.utf8.count <= Challenge.cookiesMax else { return nil }
    for pair in cookies.utf8.split(separator: UInt8(ascii: ";")) {
      let pair = pair.drop { $0 == UInt8(ascii: " ") }
      guard pair.starts(with: "\(GateField.challenge)=".utf8) else { continue }
      let value = pair.dropFirst(GateField.challenge.utf8.count + 1)
      return try? Challenge(String(Substring(value)))
    }
    return nil
  }

  private static func challenge(inBody body: [UInt8]) -> Challenge? {
    guard (Challenge.characterCount...Challenge.bodyMax).contains(body.count),
      let members = (try? JSONText.parse(body))?.members, members["status"] == .integer(428),
      let id = members["challenge"]?.text
    else { return nil }
    return try? Challenge(id)
  }
}

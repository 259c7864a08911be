// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE
public import ProofModel

/// An API's demand that its gate challenges a client's next request: the value of `Proof-Demand`, docs/SPEC.md,
/// section 16.
public struct GateDemand: Sendable, Hashable {
  /// The way in which the challenge is answered.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A proof over the challenge, by an attested app.
    case proof
    /// Puzzles: work (a).
    case work
    /// Birthday problems: work (b).
    case memory
    /// A person's answer.
    case person
  }

  /// The longest time that a demand stands, in seconds.
  public static let secondsMax: UInt32 = 86_400

  /// The client: `h.` and an app's handle, or the text of ``GateVerdict/client``.
  public var client: String
  /// The kind of challenge.
  public var kind: Kind
  /// Its level; 0 for kinds without levels.
  public var level: UInt8
  /// How many seconds the demand stands.
  public var seconds: UInt32

  /// Describes a demand.
  public init(_ kind: Kind, level: UInt8 = 0, of client: String, seconds: UInt32 = 3600) {
    self.kind = kind
    self.level = level
    self.client = client
    self.seconds = seconds
  }

  /// Describes a demand for the client of a verdict; nil for a verdict that names none.
  ///
  /// - Parameters:
  ///   - kind: The kind of challenge.
  ///   - level: Its level; 0 for kinds without levels.
  ///   - verdict: The gate's verdict on the client's request.
  public init?(_ kind: Kind, level: UInt8 = 0, after verdict: GateVerdict) {
    let handle = verdict.app.map { "h." + Base64.encode($0.handle.bytes, .url) }
    guard let client = handle ?? verdict.client else { return nil }
    self.init(kind, level: level, of: client)
  }

  static let head: UInt8 = 0x1D
  static let label: StaticString = "pfc1.demand....."
  static let textMax = 1024

  /// The value of `Proof-Demand`.
  ///
  /// - Parameters:
  ///   - key: The verdict key of the API's host.
  ///   - now: The API's time.
  /// - Returns: Head and JSON in base64url, a dot, the tag of 32 bytes in base64url.
  public func text(with key: GateVerdictKey, at now: UnixTime) -> String {
    let object: JSONObject = [
      "at": .number(JSONNumber(now.seconds)), "for": .string(client),
      "kind": .string(kind.rawValue), "level": .number(JSONNumber(Int64(level))),
      "seconds": .number(JSONNumber(Int64(seconds))),
    ]
    let said = [Self.head, key.key.number] + Array(JSONValue.object(object).text.utf8)
    return Base64.encode(said, .url) + "."
      + Base64.encode(key.key.mac(Self.label, said).bytes, .url)
  }

  /// Reads a demand and its moment. Nil for a text that no API of this host made.
  package init?(_ text: String, with keys: GateKeySet, moment: inout UnixTime) {
    guard text.utf8.count <= Self.textMax else { return nil }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let said = Base64.decode(String(parts[0]), .url), said.count > 2,
      said[0] == Self.head, let key = keys.key(said[1]),
      let tag = Base64.decode(String(parts[1]), .url), tag.count == 32,
      CoreCrypto.equal(key.mac(Self.label, said).bytes.span, tag.span),
      let json = try? JSONValue(parsing: Array(said[2...]).span), case .object(let object) = json,
      case .number(let at)? = object["at"], let at = at.integer, at >= 0,
      case .string(let client)? = object["for"], client.utf8.count <= 64,
      case .string(let word)? = object["kind"], let kind = Kind(rawValue: word),
      case .number(let level)? = object["level"],
      let level = level.integer.flatMap({ UInt8(exactly: $0) }),
      case .number(let seconds)? = object["seconds"],
      let seconds = seconds.integer.flatMap({ UInt32(exactly: $0) }), seconds <= Self.secondsMax
    else { return nil }
    self.init(kind, level: level, of: client, seconds: seconds)
    moment = UnixTime(seconds: at)
  }
}

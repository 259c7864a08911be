// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
public import ProofModel

/// A challenge that a gate set: docs/SPEC.md, section 16. All of it stands in its id, so a gate keeps nothing of a
/// challenge until it is answered.
public struct GateChallenge: Sendable, Hashable {
  /// How many bytes an id has.
  public static let byteCount = ChallengeWire.byteCount
  /// How many characters it has in a header.
  public static let characterCount = ChallengeWire.characterCount

  /// The way in which it is answered.
  public let kind: ChallengeKind
  /// How hard it is; 0 for kinds without levels.
  public let level: UInt8
  /// The last second in which an answer counts.
  public let expiry: UnixTime
  /// The number of the route that asked for it.
  public let route: UInt32
  /// The id in base64url: the value of `Proof-GateChallenge`.
  public let text: String
  /// The id.
  public let bytes: [UInt8]

  static let label: StaticString = "pfc1.challenge.."
  static let bindingLabel: StaticString = "pfc1.binding...."
  static let startByteCount = 4

  /// Reads the fields of an id whose tag was checked.
  init(_ kind: ChallengeKind, _ bytes: [UInt8]) {
    self.kind = kind
    self.bytes = bytes
    level = bytes[ChallengeWire.levelAt]
    expiry = UnixTime(
      clamping: UInt32(littleEndianBytes: bytes[ChallengeWire.expiryAt..<ChallengeWire.routeAt]))
    route = UInt32(littleEndianBytes: bytes[ChallengeWire.routeAt..<ChallengeWire.nonceAt])
    text = Base64.encode(bytes, .url)
  }

  /// The mark of the process that set it.
  var start: ArraySlice<UInt8> {
    bytes[ChallengeWire.nonceAt..<ChallengeWire.nonceAt + Self.startByteCount]
  }

  /// The name under which it is used once.
  var replayKey: ReplayKey { ReplayKey(label: Self.label, bytes) }
}

extension ReplayKey {
  /// The key of a text that is used once: the beginning of a SHA-256 that begins with the text's label.
  init(label: StaticString, _ bytes: [UInt8]) {
    let digest = Digest(hashing: Array(label.description.utf8) + bytes)
    guard let key = try? ReplayKey(Array(digest.bytes.prefix(ReplayKey.byteCount))) else {
      preconditionFailure("A digest has more bytes than a replay key.")
    }
    self = key
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// A word of the gate on the time, made for one start of one verifier, that a client puts before the dot of a nonce:
/// `word.random`. It makes a wrong clock of the client harmless.
///
///     word = base64url(u32(time) ‖ start 4 ‖ HMAC(nonce key, "pfc1.gate-nonce." ‖ u32(time) ‖ start)[0..16))
final class GateNonce: Sendable {
  /// How long a word counts.
  static let seconds: UInt64 = 60
  static let label: StaticString = "pfc1.gate-nonce."
  private let keys: GateKeySet
  private let start: [UInt8]

  init(_ keys: GateKeySet) {
    self.keys = keys
    start = Array(GateID.random().bytes.prefix(4))
  }

  /// A word of this moment.
  func text(at now: UnixTime) -> String {
    let head = UInt32(clamping: now.seconds).littleEndianBytes + start
    return Base64.encode(head + keys.active.tag(Self.label, head), .url)
  }

  /// A word that this gate made: its time, and whether this verifier made it since its start. Nil for another text.
  func read(_ text: Substring) -> (time: UnixTime, isOfThisStart: Bool)? {
    guard text.utf8.count == 32, let bytes = Base64.decode(String(text), .url), bytes.count == 24
    else { return nil }
    let head = Array(bytes[..<8])
    // A word names no secret: at most four keys are tried.
    guard keys.keys.contains(where: { $0.isTag(bytes[8...], of: head, Self.label) }) else {
      return nil
    }
    let time = UnixTime(clamping: UInt32(littleEndianBytes: bytes[..<4]))
    return (time, Array(bytes[4..<8]) == start)
  }
}

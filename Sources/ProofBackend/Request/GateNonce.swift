internal import ProofModel

/// A word of the gate on the time, made for one start of one verifier, that a client puts before the dot of a nonce:
/// `word.random`. It makes a wrong clock of the client harmless.
///
///     key  = KDF("pfc1.gate-nonce.", gate's own secret, gate id ‖ u8(number of the secret))
///     word = base64url(u32(time) ‖ start 4 ‖ HMAC(key, "pfc1.gate-nonce." ‖ u32(time) ‖ start)[0..16))
final class GateNonce: Sendable {
  /// How long a word counts.
  static let seconds: UInt64 = 60
  private static let label = "pfc1.gate-nonce."
  private let key: SecretBytes
  private let start: [UInt8]

  init(from secret: borrowing SecretBytes, number: UInt8, of gate: GateID) {
    let info = gate.bytes + [number]
    key = CoreCrypto.derive(label: Self.label, key: secret, info: info.span)
    start = Array(GateID.random().bytes.prefix(4))
  }

  /// A word of this moment.
  func text(at now: UInt64) -> String {
    let head = Self.bytes(UInt32(clamping: now)) + start
    return Base64.encode(head + tag(head), .url)
  }

  /// A word that this gate made: its time, and whether this verifier made it since its start. Nil for another text.
  func read(_ text: Substring) -> (time: UInt64, isOfThisStart: Bool)? {
    guard text.utf8.count == 32, let bytes = Base64.decode(String(text), .url), bytes.count == 24
    else { return nil }
    let expected = tag(Array(bytes[..<8]))
    guard CoreCrypto.equal(expected.span, Array(bytes[8...]).span) else { return nil }
    let time = bytes[..<4].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return (time, Array(bytes[4..<8]) == start)
  }

  private func tag(_ head: [UInt8]) -> [UInt8] {
    Array(CoreCrypto.hmac(key: key, (Array(Self.label.utf8) + head).span).bytes.prefix(16))
  }

  private static func bytes(_ value: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * UInt32($0))) }
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofJOSE

/// The content of a response code (ARC): ten characters that a user can read out, and only the
/// account's operator can decipher.
///
/// 50 bits: passed 1, properties 22, noise 12, properties 4, zeros 11. They are enciphered as a whole
/// under a key of the account, so that equal findings give different codes. The zeros reveal a
/// mistyped code in all but one of 2,048 cases.
public struct ResponseCode: Sendable, Hashable {
  /// Whether the app passed.
  public var isPassed: Bool
  /// The findings.
  public var properties: Properties

  /// Makes a code of this content.
  public init(isPassed: Bool, properties: Properties) {
    self.isPassed = isPassed
    self.properties = properties
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)
  private static let half: UInt64 = (1 << 25) - 1
  private static let propertyBits: UInt64 = (1 << 22) - 1
  /// Properties 22 to 25 stand where codes of earlier versions have zeros.
  private static let moreBits: UInt64 = 15

  /// The text.
  ///
  /// - Parameters:
  ///   - key: The account's key.
  ///   - noise: 12 random bits.
  /// - Returns: Ten characters.
  func text(key: borrowing JOSESecret, noise: UInt64) -> String {
    let plain =
      (isPassed ? 1 : 0) | (UInt64(properties.rawValue) & Self.propertyBits) << 1
      | (noise & 0xFFF) << 23 | (UInt64(properties.rawValue) >> 22 & Self.moreBits) << 35
    let code = key.withBytes { key in Self.encipher(plain, key: key) }
    var text: [UInt8] = []
    for place in stride(from: 45, through: 0, by: -5) {
      text.append(Self.alphabet[Int(code >> UInt64(place) & 31)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads a code; nil if it is not one of this account's.
  init?(_ text: String, key: borrowing JOSESecret) {
    var code: UInt64 = 0
    let characters = Array(text.uppercased().utf8)
    guard characters.count == 10 else { return nil }
    for character in characters {
      guard let value = Self.alphabet.firstIndex(of: character) else { return nil }
      code = code << 5 | UInt64(value)
    }
    let plain = key.withBytes { key in Self.decipher(code, key: key) }
    guard plain >> 39 == 0 else { return nil }
    isPassed = plain & 1 == 1
    properties = Properties(
      rawValue: UInt32(plain >> 1 & Self.propertyBits)
        | UInt32(plain >> 35 & Self.moreBits) << 22)
  }

  // Eight rounds of a Feistel network over two halves of 25 bits.

  private static func encipher(_ plain: UInt64, key: Span<UInt8>) -> UInt64 {
    var (left, right) = (plain >> 25 & half, plain & half)
    for round in 0..<8 as Range<UInt8> {
      (left, right) = (right, left ^ mix(round, right, key: key))
    }
    return left << 25 | right
  }

  private static func decipher(_ code: UInt64, key: Span<UInt8>) -> UInt64 {
    var (left, right) = (code >> 25 & half, code & half)
    for round in (0..<8 as Range<UInt8>).reversed() {
      (left, right) = (right ^ mix(round, left, key: key), left)
    }
    return left << 25 | right
  }

  private static func mix(_ round: UInt8, _ value: UInt64, key: Span<UInt8>) -> UInt64 {
    let message: [5 of UInt8] = [
      round, UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8),
      UInt8(truncatingIfNeeded: value >> 16), UInt8(truncatingIfNeeded: value >> 24),
    ]
    let digest = CoreSodium.hash("pfs1.arc-round..", message.span, key: key)
    return (0..<4).reduce(0) { $0 << 8 | UInt64(digest[$1]) } & half
  }
}

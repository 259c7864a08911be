// SPDX-License-Identifier: Apache-2.0

/// A number as a JSON text spells it, digit for digit.
///
/// The spelling is kept exactly, also of a number that no `Double` holds.
public struct JSONNumber: Sendable, Hashable {
  /// The spelling.
  public let text: String

  /// A number that the parser has read.
  init(checked text: String) { self.text = text }

  /// An integer.
  ///
  /// - Parameter value: The integer.
  public init(_ value: Int64) { text = String(value) }

  /// Makes a number of a binary floating point value, in its shortest exact spelling.
  ///
  /// - Parameter value: The number; the result is `nil` for infinities and not-a-number.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    text = "\(value)"
  }

  /// The number, if it is spelled as an integer and fits 64 bits.
  public var integer: Int64? { Int64(text) }

  /// The nearest binary floating point number; infinite if it is too large.
  public var double: Double { Double(text) ?? .nan }
}

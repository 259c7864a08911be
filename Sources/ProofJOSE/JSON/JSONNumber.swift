/// A number as a JSON text spells it, digit for digit.
///
/// Nothing is lost on the way through: a number that no `Double` holds comes out as it came in.
public struct JSONNumber: Sendable, Hashable {
  /// The spelling.
  public let text: String

  /// A number that the parser has read.
  init(checked text: String) { self.text = text }

  /// An integer.
  ///
  /// - Parameter value: The integer.
  public init(_ value: Int64) { text = "\(value)" }

  /// A number of binary floating point, in the shortest spelling that means the same.
  ///
  /// - Parameter value: The number; `nil` comes of infinities and of what is no number.
  public init?(_ value: Double) {
    guard value.isFinite else { return nil }
    text = "\(value)"
  }

  /// The number, if it is spelled as an integer and is one of 64 bits.
  public var integer: Int64? { Int64(text) }

  /// The nearest number of binary floating point; infinite for what is too large.
  public var double: Double { Double(text) ?? .nan }
}

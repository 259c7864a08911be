// SPDX-License-Identifier: Apache-2.0

/// The reason why bytes are not JSON that this library accepts.
public struct JSONError: Error, Sendable, Hashable {
  /// The kind of error.
  public enum Reason: Sendable, Hashable {
    /// The bytes are not UTF-8.
    case notUTF8
    /// The text ended too early.
    case ended
    /// A character is not allowed at its place.
    case unexpected
    /// A number is not written as JSON requires.
    case badNumber
    /// A string has a wrong escape, half a surrogate pair, or a bare control character.
    case badString
    /// An object has two members of one name.
    case repeatedMember
    /// Other text follows the value.
    case trailing
    /// Arrays and objects are nested deeper than 16.
    case tooDeep
    /// The text has more bytes, or more values, than are allowed.
    case tooLarge
  }

  /// The kind of error.
  public let reason: Reason
  /// The offset, in bytes, at which the error was noticed.
  public let offset: Int
}

extension JSONError: CustomStringConvertible {
  /// The error and its place, as text.
  public var description: String {
    let what =
      switch reason {
      case .notUTF8: "the text is not UTF-8"
      case .ended: "the text ends too early"
      case .unexpected: "a character is not allowed at its place"
      case .badNumber: "a number is not written as JSON writes numbers"
      case .badString: "a string has a wrong escape or a control character"
      case .repeatedMember: "an object has two members of one name"
      case .trailing: "something follows the value"
      case .tooDeep: "values are nested too deep"
      case .tooLarge: "the text or the number of its values is too large"
      }
    return "\(what), at byte \(offset)"
  }
}

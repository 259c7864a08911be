// SPDX-License-Identifier: Apache-2.0

/// A parse error of JSON, and its place.
package struct JSONFault: Error, Sendable, Hashable {
  package enum Reason: Sendable, Hashable {
    case notUTF8, ended, unexpected, badNumber, badString, repeatedMember, trailing, tooDeep,
      tooLarge
  }

  package let reason: Reason
  /// In bytes.
  package let offset: Int

  package init(_ reason: Reason, offset: Int) {
    self.reason = reason
    self.offset = offset
  }
}

/// Bounds of a text.
package struct JSONLimits: Sendable {
  /// The most arrays and objects within each other.
  package let depth: Int
  /// The most bytes of the text.
  package let bytes: Int
  /// The most values and names.
  package let values: Int
  /// The most characters of one number.
  package let numberCharacters: Int

  package init(depth: Int, bytes: Int = .max, values: Int = .max, numberCharacters: Int = .max) {
    self.depth = depth
    self.bytes = bytes
    self.values = values
    self.numberCharacters = numberCharacters
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// A string in guarded memory, which is wiped when its last holder releases it.
public struct SecureString: Sendable, CustomStringConvertible, CustomReflectable {
  private final class Block: Sendable {
    let bytes: SecretBytes

    init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
  }

  private let block: Block

  init(_ bytes: consuming SecretBytes) { block = Block(bytes) }

  /// Lends the UTF-8 bytes while `body` runs.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public func withBytes<R: ~Copyable, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try block.bytes.withBytes(body)
  }

  /// Copies the text into ordinary memory, which is not wiped.
  public var text: String {
    withBytes { $0.text }
  }

  /// A text that never contains the string.
  public var description: String { "(secure string)" }

  /// Shows only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

/// The limits of the strings that an app defines.
public enum SecureStringLimits {
  /// The longest name, in Unicode scalars; the shortest has one.
  public static let nameLength = 64
  /// The longest value, in bytes of UTF-8; the shortest has one.
  public static let valueByteCount = 65_535
  /// The most strings of one account.
  public static let count = 64
  /// The most bytes of all values and names of one account together.
  public static let totalByteCount = 262_144

  /// A file keeps what other keys sealed as well, such as those of an app that failed for a while.
  static let sets = 4
}

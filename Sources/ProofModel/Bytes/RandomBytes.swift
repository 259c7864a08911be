// SPDX-License-Identifier: Apache-2.0

/// Fixed bytes that are drawn at random.
public protocol RandomBytes: FixedBytes {}

extension RandomBytes {
  /// Draws fresh bytes.
  ///
  /// Traps if the generator gives nothing but zeros.
  ///
  /// - Parameter generator: A generator fit for cryptography, or a seeded one in a test.
  /// - Returns: A value that has not been seen before.
  public static func random(using generator: inout some RandomNumberGenerator) -> Self {
    var bytes: [UInt8] = []
    while bytes.count < byteCount {
      var word: UInt64 = generator.next()
      for _ in 0..<min(8, byteCount - bytes.count) {
        bytes.append(UInt8(truncatingIfNeeded: word))
        word >>= 8
      }
    }
    return drawn(bytes)
  }

  /// Draws fresh bytes from the system's generator.
  ///
  /// - Returns: A value that has not been seen before.
  public static func random() -> Self {
    drawn(CoreSodium.random(count: byteCount))
  }

  /// The count is right, so only bytes that are all zeros are refused: a defective generator's.
  private static func drawn(_ bytes: [UInt8]) -> Self {
    do {
      return try Self(bytes)
    } catch {
      preconditionFailure("The generator of random numbers is defective. \(error)")
    }
  }
}

/// Fresh random bytes from the system's generator, for public values that have no type of their own.
package enum RandomSource {
  /// So many bytes.
  package static func bytes(_ count: Int) -> [UInt8] { CoreSodium.random(count: count) }
}

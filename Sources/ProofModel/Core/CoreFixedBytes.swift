// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

extension FixedBytes {
  /// Whether all bytes are equal, in time that does not depend on them.
  public static func == (left: Self, right: Self) -> Bool {
    left.withBytes { mine in
      right.withBytes { theirs in
        unsafe mine.withUnsafeBufferPointer { mine in
          unsafe theirs.withUnsafeBufferPointer { theirs in
            unsafe mine.count == theirs.count
              && pfc_equal(mine.baseAddress, theirs.baseAddress, mine.count) == 1
          }
        }
      }
    }
  }
}

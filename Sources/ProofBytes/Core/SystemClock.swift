// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The system's clock.
package enum SystemClock {
  /// The time since 1970.
  package static func read() -> (seconds: Int64, nanoseconds: Int32) {
    var time = timespec()
    let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
    precondition(result == 0, "Every POSIX system has a clock.")
    return (Int64(time.tv_sec), Int32(time.tv_nsec))
  }
}

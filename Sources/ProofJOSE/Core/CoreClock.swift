// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension UnixTime {
  /// Reads the system's clock.
  static func readSystemClock() -> UnixTime {
    var time = timespec()
    let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
    precondition(result == 0, "Every POSIX system has a clock.")
    return UnixTime(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }
}

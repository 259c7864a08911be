// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Core dumps of this process.
package enum CoreDumps {
  /// Forbids core dumps from now on: one would write every key to the disk in the clear.
  ///
  /// The limit is one byte rather than 0. A kernel that pipes core dumps to a program ignores every
  /// other limit (core(5)).
  package static func forbid() {
    var limit = rlimit(rlim_cur: 1, rlim_max: 1)
    unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  }
}

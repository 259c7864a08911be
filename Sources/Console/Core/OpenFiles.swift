// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The limit on files that the process may have open, connections included.
package enum OpenFiles {
  /// The system allows fewer.
  package struct TooFew: Error, CustomStringConvertible {
    let wanted: Int
    let allowed: Int

    package var description: String {
      "\(wanted) files may have to be open at once, and the system allows \(allowed): lower"
        + " --connections, or raise the system's limit (ulimit -n)"
    }
  }

  /// Raises the process's limit if needed.
  package static func allow(_ count: Int) throws(TooFew) {
    var limit = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
    if limit.rlim_cur >= rlim_t(count) { return }
    limit.rlim_cur = rlim_t(count)
    guard limit.rlim_max >= rlim_t(count),
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0
    else { throw TooFew(wanted: count, allowed: Int(limit.rlim_max)) }
  }
}

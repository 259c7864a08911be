internal import Glibc

/// Core dumps of this process.
package enum CoreDumps {
  /// No core dump from now on: it would bring every key to the disk in the clear.
  ///
  /// A limit of one byte and not of none, because a kernel that hands core dumps to a program obeys
  /// no other one (core(5)).
  package static func forbid() {
    var limit = rlimit(rlim_cur: 1, rlim_max: 1)
    unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
  }
}

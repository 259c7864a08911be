// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The names of the files that this process has open, sorted, each as often as it is open.
///
/// A socket or a pipe has the name of its kind. The dispatch library opens two kinds of files whenever it likes, and
/// they are left out: its queues of events, and this process's files of `/proc`, by which it sees which threads run.
///
/// - Parameter root: The beginning of the names that count.
/// - Returns: The names.
/// - Throws: An error of the file system.
package func openFiles(in root: String = "") throws -> [String] {
  let own = "/proc/\(getpid())/"
  return try FileManager.default.contentsOfDirectory(atPath: own + "fd").compactMap { entry in
    guard
      let name = try? FileManager.default.destinationOfSymbolicLink(atPath: own + "fd/" + entry),
      !name.hasPrefix("anon_inode:"), !name.hasPrefix(own), name.hasPrefix(root)
    else { return nil }
    // `socket:[1234]`
    return name.hasPrefix("/") ? name : String(name.prefix { $0 != ":" })
  }.sorted()
}

// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

/// Forks this process. The child runs `body`, and exits with its value.
///
/// Call it in a process of its own: a fork has the locks of all threads as they are at its moment,
/// and each file that another test has open.
///
/// - Returns: The child's number.
func forked(_ body: () -> Int32) throws -> Int32 {
  typealias Fork = @convention(c) () -> Int32
  // Swift hides the function itself.
  let symbol = unsafe try #require(dlsym(nil, "fork"))
  let child = unsafe unsafeBitCast(symbol, to: Fork.self)()
  guard child == 0 else { return child }
  _exit(body())
}

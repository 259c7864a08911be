// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs a closure on so many threads of their own at once, however few processors there are, and
/// returns when all have ended.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    Thread {
      body(index)
      group.leave()
    }.start()
  }
  group.wait()
}

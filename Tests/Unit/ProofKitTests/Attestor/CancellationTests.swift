// SPDX-License-Identifier: Apache-2.0

import ProofKit
import Synchronization
import Testing

@Suite("A cancellation")
struct CancellationTests {
  @Test("reaches every body under way, and none that has ended")
  func several() {
    let cancellation = Cancellation()
    let told = Mutex<[String]>([])
    @Sendable func note(_ name: String) { told.withLock { $0.append(name) } }
    cancellation.withHandler({ note("outer") }) {
      cancellation.withHandler({ note("ended") }) {}
      cancellation.withHandler({ note("inner") }) { cancellation.cancel() }
    }
    #expect(told.withLock { $0.sorted() } == ["inner", "outer"])
    #expect(cancellation.isCancelled)
  }
}

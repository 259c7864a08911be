// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import ProofKit

@Suite("Calls that share one body")
struct SharedCallsTests {
  @Test("a call that left and was answered at the same time gets one value")
  func once() {
    let given = Mutex<[Int]>([])
    let place = SharedCalls<String, Int>.Place { value in given.withLock { $0.append(value) } }
    place.fill(1)
    place.fill(2)
    #expect(given.withLock { $0 } == [1])
  }
}

// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import Foundation
import Testing

@Suite("Folders of this machine")
struct LiveFolderTests {
  @Test("a file whose mode cannot be set is refused, and its descriptor is closed")
  func closed() throws {
    // The kernel refuses to change the mode of a file of /proc, also to root.
    let folder = try LiveFolder("/proc/self")
    let error = #expect(throws: FileFailure.self) { try folder.openAtEnd("comm") }
    #expect(error?.code == EPERM)
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    let open = descriptors.compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    let own = "/proc/\(ProcessInfo.processInfo.processIdentifier)/comm"
    #expect(!open.contains(own))
  }
}

// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
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
    let own = "/proc/\(ProcessInfo.processInfo.processIdentifier)/comm"
    #expect(try !openFiles().contains(own))
  }

  @Test("a file that is closed has no descriptor")
  func descriptor() throws {
    let place = URL(filePath: NSTemporaryDirectory()).appending(path: UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: place) }
    let folder = try LiveFolder(place)
    let file = try folder.openAtEnd("log")
    #expect(try openFiles().contains { $0.hasSuffix("/log") && $0.hasPrefix(place) })
    folder.close(file)
    #expect(try !openFiles().contains { $0.hasSuffix("/log") && $0.hasPrefix(place) })
  }

  /// The names of the files that this process has open.
  private func openFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
  }
}

@Suite("Folders whose files are replaced whole")
struct DurableFolderTests {
  @Test("a file that cannot be removed is told, and stays", arguments: [0, 1])
  func remove(failing call: Int) throws {
    let access = ModelFolder(.init(failing: (call, EIO)), holding: ["a": [1]])
    let error = #expect(throws: DurableFolder.Failure.self) {
      try DurableFolder(access).remove("a")
    }
    switch (call, error) {
    case (0, .unchanged), (1, .notDurable): break
    default: Issue.record("call \(call): \(String(describing: error))")
    }
    #expect(try access.exists("a") == (call == 0))
  }
}

// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
import Foundation
import OpenFiles
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

  @Test("no file stays open after it was read, made, replaced, refused or locked in vain")
  func others() throws {
    let place = URL(filePath: "/var/tmp").appending(path: "proofkit-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: place) }
    do { _ = try LiveFolder(place + "/inner") }
    #expect(try openFiles(in: place) == [])
    let folder = try LiveFolder(place)
    #expect(try openFiles(in: place) == [place])
    try SecretFile.create(place + "/key", [1, 2].span)
    try SecretFile.replace(place + "/key", [3, 4].span)
    for limit in [1, 2] { _ = try? SecretFile.read(place + "/key", limit: limit) }
    for name in ["key", "inner", "none"] {
      _ = try? SecretFile.read("\(place)/\(name)", limit: 9)
      _ = try? SmallFile.read("\(place)/\(name)", limit: 9)
      _ = try? folder.read(name, limit: 9)
      try? SecretFile.create("\(place)/\(name)/x", [1].span)
    }
    #expect(try openFiles(in: place) == [place])
    let first = try FolderLock(place + "/lock")
    for _ in 0..<2 { #expect(throws: FolderLock.Refusal.self) { try FolderLock(place + "/lock") } }
    #expect(try openFiles(in: place) == [place, place + "/lock"])
    withExtendedLifetime((folder, first)) {}
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

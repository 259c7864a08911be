// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import FolderModel
import Foundation
import Testing

/// Files and folders of this machine: limits, modes, and what an error says.
@Suite("Durable files")
struct DurableFilesTests {
  /// A folder that goes with its owner.
  private final class Place: Sendable {
    let path = "/var/tmp/proofkit-\(UUID().uuidString)"

    init() throws {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func file(_ name: String, _ bytes: [UInt8] = [], mode: Int = 0o600) -> String {
      let file = "\(path)/\(name)"
      #expect(
        FileManager.default.createFile(
          atPath: file, contents: Data(bytes), attributes: [.posixPermissions: mode]))
      return file
    }

    func mode(_ name: String) throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")[.posixPermissions] as? Int
    }
  }

  private static func code(_ body: () throws(FileFailure) -> Void) -> Int32 {
    do throws(FileFailure) { try body() } catch { return error.code }
    return 0
  }

  // MARK: Secrets

  @Test("a secret has its limit at most, and is read whole")
  func limit() throws {
    let place = try Place()
    for count in [0, 1, 31, 32] {
      let bytes = [UInt8](repeating: 7, count: count)
      #expect(try SecretFile.read(place.file("key", bytes), limit: 32) == bytes)
    }
    let long = place.file("long", [UInt8](repeating: 7, count: 33))
    #expect(
      Self.code { () throws(FileFailure) in _ = try SecretFile.read(long, limit: 32) } == EFBIG)
    let error = #expect(throws: FileFailure.self) {
      try SecretFile.read("\(place.path)/none", limit: 32)
    }
    #expect(error?.isMissing == true && error?.isTooLong == false)
    #expect(error?.description == "open \(place.path)/none: No such file or directory")
    // More than one block of the reader.
    let many = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 / 3) }
    #expect(try SecretFile.read(place.file("many", many), limit: 100_000) == many)
    for mode in [0o601, 0o602, 0o610] {
      let open = place.file("open", mode: mode)
      #expect(
        Self.code { () throws(FileFailure) in _ = try SecretFile.read(open, limit: 1) } == EPERM)
    }
  }

  @Test("a secret is made for its owner, once, and is replaced whole")
  func make() throws {
    let place = try Place()
    let path = "\(place.path)/key"
    try SecretFile.create(path, [1, 2].span)
    #expect(try place.mode("key") == 0o600)
    #expect(Self.code { () throws(FileFailure) in try SecretFile.create(path, [3].span) } == EEXIST)
    // A piece of an attempt that was ended by force does not stop the next one.
    _ = place.file("key.new", [9, 9, 9])
    try SecretFile.replace(path, [4].span)
    #expect(try SecretFile.read(path, limit: 9) == [4])
    #expect(try place.mode("key") == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["key"])
    let error = #expect(throws: FileFailure.self) {
      try SecretFile.create("\(place.path)/none/key", [1].span)
    }
    #expect(error?.operation == "create" && error?.code == ENOENT)
    // A folder in the place of the piece is not removed.
    try FileManager.default.createDirectory(
      atPath: path + ".new/in", withIntermediateDirectories: true)
    let other = #expect(throws: FileFailure.self) { try SecretFile.replace(path, [5].span) }
    #expect(other?.operation == "remove" && other?.name == path + ".new")
    #expect(try SecretFile.read(path, limit: 9) == [4])
  }

  // MARK: Locks

  @Test("a lock is waited for as many milliseconds as was said")
  func wait() throws {
    let place = try Place()
    let path = "\(place.path)/lock"
    let first = try FolderLock(path)
    for milliseconds in [0, 1, 2, 20] {
      var pauses = 0
      #expect(throws: FolderLock.Refusal.held(by: getpid())) {
        try FolderLock(path, waiting: milliseconds) { pauses += 1 }
      }
      #expect(pauses == milliseconds)
    }
    // A lock is waited for only if that was said.
    #expect(throws: FolderLock.Refusal.held(by: getpid())) {
      try FolderLock(path, pause: { Issue.record("the lock was waited for") })
    }
    withExtendedLifetime(first) {}
  }

  @Test("the file of a lock has 16 bytes, and only its owner's bits")
  func lockFile() throws {
    let place = try Place()
    for mode in [0o600, 0o601, 0o602, 0o604, 0o610, 0o620, 0o640, 0o700, 0o777] {
      let path = place.file("lock", mode: mode)
      let lock = try FolderLock(path)
      #expect(try place.mode("lock") == 0o600, "\(String(mode, radix: 8))")
      #expect(try Data(contentsOf: URL(filePath: path)).count == 16)
      withExtendedLifetime(lock) {}
    }
  }

  @Test("a lock that ends during the wait is taken, and its file names the new owner")
  func taken() throws {
    let place = try Place()
    let path = place.file("lock", Array("123456789\n\n\n\n\n\n\n".utf8), mode: 0o644)
    var first: FolderLock? = try FolderLock(path)
    var pauses = 0
    let second = try FolderLock(path, waiting: 9) {
      pauses += 1
      if pauses == 3 { first = nil }
    }
    #expect(pauses == 3 && first == nil)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    #expect(text == "\(getpid())".padding(toLength: 16, withPad: "\n", startingAt: 0))
    #expect(try place.mode("lock") == 0o600)
    withExtendedLifetime(second) {}
  }

  @Test("a lock ends with its owner's value, whatever a forked process does")
  func forks() async {
    await #expect(processExitsWith: .success) {
      let place = try Place()
      let path = "\(place.path)/lock"
      var status: Int32 = 0
      var locks = [try FolderLock(path)]
      let releasing = try forked {
        locks = []
        return 0
      }
      #expect(unsafe waitpid(releasing, &status, 0) == releasing && status == 0)
      #expect(throws: FolderLock.Refusal.held(by: getpid())) { _ = try FolderLock(path) }

      let living = try forked { while true { pause() } }
      #expect(locks.count == 1)
      locks = []
      #expect(throws: Never.self) { _ = try FolderLock(path) }
      #expect(kill(living, SIGKILL) == 0)
      #expect(unsafe waitpid(living, &status, 0) == living)
    }
  }

  @Test("a lock's file that names no process, or cannot be opened, is told")
  func unnamed() throws {
    let place = try Place()
    let path = "\(place.path)/lock"
    let first = try FolderLock(path)
    for (text, holder) in [
      ("", nil), ("7", nil), ("x\n", nil), ("7\n", 7), ("0123456789\n", 123_456_789),
    ]
      as [(String, Int32?)]
    {
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      try file.truncate(atOffset: 0)
      try file.write(contentsOf: Data(text.utf8))
      try file.close()
      #expect(throws: FolderLock.Refusal.held(by: holder)) { try FolderLock(path) }
    }
    withExtendedLifetime(first) {}
    #expect(
      throws: FolderLock.Refusal.failed(FileFailure("open", "\(place.path)/a/lock", code: ENOENT))
    ) { try FolderLock("\(place.path)/a/lock") }
    // A link could lead to a file of another user.
    try FileManager.default.createSymbolicLink(
      atPath: "\(place.path)/link", withDestinationPath: path)
    #expect(
      throws: FolderLock.Refusal.failed(FileFailure("open", "\(place.path)/link", code: ELOOP))
    ) { try FolderLock("\(place.path)/link") }
  }

  // MARK: Folders

  @Test("a folder is made with its parents, for its owner alone")
  func parents() throws {
    let place = try Place()
    for name in ["a", "b/c/d", "e/f/", "g//h"] {
      _ = try LiveFolder("\(place.path)/\(name)")
      #expect(try place.mode(name) == 0o700, "\(name)")
      _ = try LiveFolder("\(place.path)/\(name)")
    }
    #expect(try place.mode("b") == 0o700)
    let file = place.file("file")
    #expect(
      Self.code { () throws(FileFailure) in _ = try LiveFolder(file) } == ENOTDIR)
    #expect(
      Self.code { () throws(FileFailure) in _ = try LiveFolder(file + "/in") } == ENOTDIR)
    #expect(Self.code { () throws(FileFailure) in _ = try LiveFolder("") } == ENOENT)
  }

  @Test("a folder that others can write in is not trusted", arguments: [0o720, 0o702, 0o770])
  func shared(mode: Int) throws {
    let place = try Place()
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: place.path)
    let error = #expect(throws: FileFailure.self) { try LiveFolder(place.path) }
    #expect(error?.code == EPERM && error?.operation == "trust")
    #expect(
      error?.description
        == "\(place.path): belongs to another user, or others can write in it. Say: chmod go-w"
        + " \(place.path)")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: place.path)
    #expect(try LiveFolder(place.path).path == place.path)
  }

  @Test("a file is read from an offset on, one byte beyond the limit at most")
  func offsets() throws {
    let place = try Place()
    let bytes = [UInt8](0..<100)
    _ = place.file("file", bytes)
    let folder = try LiveFolder(place.path)
    #expect(try folder.read("file", limit: 100) == bytes)
    #expect(try folder.read("file", limit: 98) == Array(bytes[..<99]))
    #expect(try folder.read("file", limit: 0) == [0])
    #expect(try folder.read("file", from: 1, limit: 2) == [1, 2, 3])
    #expect(try folder.read("file", from: 90, limit: 5) == Array(bytes[90..<96]))
    #expect(try folder.read("file", from: 99, limit: 5) == [99])
    #expect(try folder.read("file", from: 100, limit: 5) == [])
    #expect(
      try folder.read("none", from: 1, limit: 5) == nil && folder.read("none", limit: 5) == nil)
    try FileManager.default.createDirectory(
      atPath: "\(place.path)/inner", withIntermediateDirectories: false)
    let inner = #expect(throws: FileFailure.self) { try folder.read("inner", limit: 5) }
    #expect(inner?.code == EINVAL && inner?.operation == "read")
    try FileManager.default.createSymbolicLink(
      atPath: "\(place.path)/link", withDestinationPath: "\(place.path)/file")
    #expect(Self.code { () throws(FileFailure) in _ = try folder.read("link", limit: 5) } == ELOOP)
    #expect(try SmallFile.read("\(place.path)/link", limit: 100) == bytes)
    #expect(
      Self.code { () throws(FileFailure) in
        _ = try SmallFile.read("\(place.path)/link", limit: 99)
      } == EFBIG)
    for count in [1, 99, 100, 101] {
      #expect(
        try SmallFile.beginning(of: "\(place.path)/link", byteCount: count)
          == Array(bytes.prefix(count)))
    }
    #expect(try SmallFile.beginning(of: "\(place.path)/none", byteCount: 4) == nil)
    #expect(try SmallFile.read("\(place.path)/none", limit: 4) == nil)
    #expect(
      Self.code { () throws(FileFailure) in _ = try SmallFile.read(place.path, limit: 4) } == EISDIR
    )
    #expect(
      Self.code { () throws(FileFailure) in
        _ = try SmallFile.read("\(place.path)/file/x", limit: 4)
      } == ENOTDIR)
  }

  @Test("files are made, written at their end, renamed and removed within the folder")
  func work() throws {
    let place = try Place()
    let folder = try LiveFolder(place.path)
    let file = try folder.create("one")
    #expect(try place.mode("one") == 0o600)
    #expect(try folder.write([1, 2, 3][1...], to: file) == 2)
    try folder.synchronize(file)
    folder.close(file)
    #expect(Self.code { () throws(FileFailure) in _ = try folder.create("one") } == EEXIST)
    for byte in [4, 5] as [UInt8] {
      let end = try folder.openAtEnd("one")
      #expect(try folder.write([byte], to: end) == 1)
      folder.close(end)
    }
    #expect(try folder.read("one", limit: 9) == [2, 3, 4, 5])
    // Nothing that is written is no progress, whatever the call before ended with.
    let end = try folder.openAtEnd("one")
    _ = try folder.read("none", limit: 1)
    #expect(Self.code { () throws(FileFailure) in _ = try folder.write([], to: end) } == EIO)
    folder.close(end)
    _ = place.file("open", mode: 0o666)
    folder.close(try folder.openAtEnd("open"))
    #expect(try place.mode("open") == 0o600)
    #expect(try folder.exists("one") && !folder.exists("two"))
    try folder.rename("one", to: "two")
    #expect(try !folder.exists("one") && folder.exists("two"))
    let missing = #expect(throws: FileFailure.self) { try folder.rename("one", to: "two") }
    #expect(missing?.operation == "rename" && missing?.name == "one" && missing?.code == ENOENT)
    try folder.remove("two")
    try folder.remove("two")
    try folder.synchronizeFolder()
    #expect(try !folder.exists("two"))
    let closed = OpenFile(-1)
    for failure in [
      Self.code { () throws(FileFailure) in _ = try folder.write([1], to: closed) },
      Self.code { () throws(FileFailure) in try folder.synchronize(closed) },
    ] { #expect(failure == EBADF) }
    try FileManager.default.createDirectory(
      atPath: "\(place.path)/inner", withIntermediateDirectories: false)
    #expect(Self.code { () throws(FileFailure) in try folder.remove("inner") } == EISDIR)
    #expect(Self.code { () throws(FileFailure) in _ = try folder.exists("one/two/") } == 0)
    _ = place.file("plain")
    #expect(Self.code { () throws(FileFailure) in _ = try folder.exists("plain/x") } == ENOTDIR)
  }

  @Test("a damaged file gets the first free number, and the ones before stay")
  func aside() throws {
    let folder = DurableFolder(ModelFolder(holding: ["a": [1], "a.damaged-1": [2]]))
    #expect(try folder.setAside("a") == "a.damaged-2")
    #expect(try folder.read("a", limit: 9) == nil && folder.read("a.damaged-2", limit: 9) == [1])
    #expect(try folder.read("a.damaged-1", limit: 9) == [2])
  }

  @Test("an error has the operation, the name and the system's words, or the next step")
  func errors() {
    let plain = FileFailure("write", "a", code: ENOSPC)
    #expect(plain.description == "write a: No space left on device")
    #expect(plain.reason == "No space left on device" && !plain.isMissing && !plain.isTooLong)
    #expect(FileFailure("write", "a", code: EFBIG).isTooLong)
    #expect(FileFailure("open", "a", code: ENOENT).isMissing)
    let advised = FileFailure("read", "a", code: EPERM, advice: "is wrong. Do this")
    #expect(advised.description == "a: is wrong. Do this" && advised.reason == "is wrong. Do this")
    #expect(FileFailure.busy("a") == FileFailure("lock", "a", code: EBUSY))
  }

  // MARK: Marks

  @Test("backups know the folder by a whole file, which is written once")
  func tag() throws {
    let place = try Place()
    let folder = try LiveFolder(place.path)
    BackupExclusion.mark(folder)
    let text = try String(contentsOfFile: "\(place.path)/CACHEDIR.TAG", encoding: .utf8)
    #expect(text.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
    _ = place.file("CACHEDIR.TAG", [1])
    BackupExclusion.mark(folder)
    #expect(try folder.read("CACHEDIR.TAG", limit: 9) == [1])
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.path) == ["CACHEDIR.TAG"])
  }

  @Test("state belongs in XDG_STATE_HOME if it is a path, or else below HOME")
  func state() async {
    // In a process of its own: the environment is one for all tests.
    await #expect(processExitsWith: .success) {
      func found(_ state: String?, _ home: String?) -> String? {
        for (name, value) in [("XDG_STATE_HOME", state), ("HOME", home)] {
          if let value { unsafe setenv(name, value, 1) } else { unsafe unsetenv(name) }
        }
        return BackupExclusion.stateFolder
      }
      #expect(found("/state", "/kept") == "/state" && found("/state", nil) == "/state")
      for none in ["", "state", nil] {
        #expect(found(none, "/kept") == "/kept/.local/state")
        #expect(found(none, "") == nil && found(none, nil) == nil)
      }
    }
  }

  @Test("a file's mark changes with its content, and with the file in its place")
  func fileMark() throws {
    let place = try Place()
    let path = "\(place.path)/file"
    let none = FileMark(path)
    #expect(none == FileMark("\(place.path)/other"))
    _ = place.file("file", [1])
    let first = FileMark(path)
    #expect(first != none && first == FileMark(path))
    let file = try FileHandle(forWritingTo: URL(filePath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data([2]))
    try file.close()
    let second = FileMark(path)
    #expect(second != first)
    // Another file of the same size and time.
    _ = place.file("fresh", [1, 2])
    let date = try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    try FileManager.default.setAttributes(
      [.modificationDate: #require(date)], ofItemAtPath: "\(place.path)/fresh")
    #expect(unsafe rename("\(place.path)/fresh", path) == 0)
    #expect(FileMark(path) != second)
  }
}

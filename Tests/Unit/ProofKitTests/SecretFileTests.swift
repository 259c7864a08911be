// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import Foundation
import Testing

@Suite("Secret files")
struct SecretFileTests {
  @Test("a file that others can read or write is refused, and the error says what to do")
  func shown() throws {
    let path = "/var/tmp/proofkit-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    for mode in [0o604, 0o640, 0o620] {
      _ = FileManager.default.createFile(
        atPath: path, contents: Data([1]), attributes: [.posixPermissions: mode])
      let error = #expect(throws: FileFailure.self) { try SecretFile.read(path, limit: 32) }
      #expect(error?.code == EPERM)
      #expect(
        error?.description
          == "\(path): holds a secret, and others can read or write it. Say: chmod 600 \(path)")
    }
    let folder = #expect(throws: FileFailure.self) { try SecretFile.read("/var/tmp", limit: 32) }
    #expect(folder?.description == "/var/tmp: is no file. Name a file")
  }

  @Test("a key that cannot replace what is there leaves no other file")
  func noReplacement() throws {
    let folder = "/var/tmp/proofkit-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(
      atPath: folder + "/key/inner", withIntermediateDirectories: true)
    let error = #expect(throws: FileFailure.self) {
      try SecretFile.replace(folder + "/key", [7].span)
    }
    #expect(error?.code == EISDIR)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["key"])
  }

  @Test("a key that could not be written whole is not there, and the next attempt makes it")
  func piece() async {
    // In a process of its own: how long a file may be is said for a whole process.
    await #expect(processExitsWith: .success) {
      let path = "/var/tmp/proofkit-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: path) }
      let key = [UInt8](repeating: 7, count: 32)
      _ = signal(SIGXFSZ, SIG_IGN)
      var limits = rlimit()
      unsafe getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
      limits.rlim_cur = 16
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
      let error = #expect(throws: FileFailure.self) { try SecretFile.create(path, key.span) }
      #expect(error?.code == EFBIG)
      #expect(!FileManager.default.fileExists(atPath: path))
      limits.rlim_cur = limits.rlim_max
      unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
      try SecretFile.create(path, key.span)
      #expect(try SecretFile.read(path, limit: 32) == key)
      #expect(throws: FileFailure.self) { try SecretFile.create(path, [8].span) }
      #expect(try SecretFile.read(path, limit: 32) == key)
    }
  }
}

@Suite("Folder locks")
struct FolderLockTests {
  @Test("a lock that another user has is tried again, with a pause, as often as was said")
  func tries() throws {
    let path = "/var/tmp/proofkit-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let first = try FolderLock(path)
    // 1 is RUSAGE_THREAD, which Glibc gives to GNU sources alone.
    var (before, after) = (rusage(), rusage())
    unsafe getrusage(1, &before)
    #expect(throws: FolderLock.Refusal.held(by: getpid())) { try FolderLock(path, waiting: 20) }
    unsafe getrusage(1, &after)
    // A sleep that is over before it begins, on a busy machine, is no switch.
    #expect(after.ru_nvcsw - before.ru_nvcsw >= 5)
    withExtendedLifetime(first) {}
  }
}

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

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

/// A Unix socket of a TPM that a test plays.
enum TPMSocket {
  /// Makes the socket, and listens at it.
  static func listen(at path: String) throws -> Int32 {
    let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
    let size = socklen_t(MemoryLayout<sockaddr_un>.size)
    let bound = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe bind(file, $0, size)
      }
    }
    try #require(bound == 0 && Glibc.listen(file, 8) == 0)
    return file
  }

  /// Ends the waiting of the thread that accepts. That thread closes the socket: until then no
  /// other file has its number.
  static func end(_ listener: Int32, at path: String) {
    shutdown(listener, Int32(SHUT_RDWR))
    unsafe _ = unlink(path)
  }
}

extension Place {
  /// Makes the file of a key in a TPM: docs/SDK.md has its layout. Its private part is 32 times 7,
  /// its point 64 times 4.
  func holdTPMKey() throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    let bytes: [UInt8] =
      [0x50, 0x49, 1, 2] + [UInt8](repeating: 7, count: 32) + [UInt8](repeating: 4, count: 64)
    #expect(
      FileManager.default.createFile(
        atPath: file, contents: Data(bytes), attributes: [.posixPermissions: 0o600]))
  }

  /// A folder that holds such a file.
  static func withTPMKey() throws -> Place {
    let place = Place()
    try place.holdTPMKey()
    return place
  }
}

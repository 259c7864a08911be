// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A socket of loopback that accepts connections by the kernel alone, and never answers.
final class Listening {
  struct Failed: Error {}

  let port: Int
  private var descriptor: Int32

  init() throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = descriptor
    let bound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      let general = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
      return unsafe bind(descriptor, general, size) == 0 && listen(descriptor, 8) == 0
        && getsockname(descriptor, general, &size) == 0
    }
    guard bound else { throw Failed() }
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  func close() {
    if descriptor >= 0 { _ = Glibc.close(descriptor) }
    descriptor = -1
  }

  deinit { close() }
}

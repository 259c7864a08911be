// SPDX-License-Identifier: Apache-2.0

import Glibc
import ProofModel
import Testing

@testable import ProofKit

/// A browser that is connected, and has sent all it sends before the server waits.
final class Browser {
  private let file: Int32

  init(_ port: UInt16, _ text: String = "") throws {
    file = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let file = file
    let result = unsafe withUnsafePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe connect(file, $0, size)
      }
    }
    try #require(result == 0)
    let bytes = Array(text.utf8)
    let sent = unsafe send(file, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    try #require(sent == bytes.count)
  }

  deinit { _ = close(file) }
}

extension AttestorClock {
  /// A clock whose times are those of a list, and then its last one. It calls `end` at each time
  /// after the list, which may cancel a server: the server then waits for no further browser.
  static func listed(
    _ times: [Duration], _ end: @escaping @Sendable () -> Void = {}
  ) -> AttestorClock {
    let asked = CoreLock(0)
    return AttestorClock(uptime: {
      let number = asked.withLock { asked in
        asked += 1
        return asked
      }
      if number > times.count { end() }
      return times[min(number, times.count) - 1]
    })
  }
}

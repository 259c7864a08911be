// SPDX-License-Identifier: Apache-2.0

internal import CSodium

/// Access to libsodium itself: initialisation and random bytes.
enum CoreSodium {
  /// libsodium draws its allocator's canary and learns the page size here, once for the process.
  static let isReady: Bool = sodium_init() >= 0

  /// Fresh random bytes from the system's generator, for public values.
  static func random(count: Int) -> [UInt8] {
    precondition(isReady, "libsodium could not be initialised.")
    return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      unsafe randombytes_buf(buffer.baseAddress!, count)
      initialized = count
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD
internal import Glibc

/// The operating system's numbers and texts.
enum CoreSystem {
  static let addressInUse = EADDRINUSE
  static let accessDenied = EACCES
  static let addressNotAvailable = EADDRNOTAVAIL
  static let notPermitted = EPERM

  /// The error number of the last failed call.
  static var failure: Int32 { errno }

  /// The system's text for an error number.
  static func words(_ code: Int32) -> String {
    unsafe strerror(code).map { unsafe String(cString: $0) } ?? "error \(code)"
  }

  /// The time since 1970.
  static var time: Duration {
    var time = timespec()
    let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
    precondition(result == 0, "Every POSIX system has a clock.")
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Writes to standard output, at once and in one piece, so that lines of several threads do not
  /// mix.
  static func print(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      // Write errors are ignored: no other output is left to report them to.
      _ = unsafe write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
    }
  }
}

/// An IP address in its canonical form.
package struct IPAddress: Hashable, Sendable {
  package let text: String

  /// `nil` for text that is no address.
  package init?(_ text: String) {
    var canonical = [CChar](repeating: 0, count: Int(PFH_ADDRESS_TEXT))
    guard unsafe pfh_address_canonical(&canonical, text) == PFH_OK else { return nil }
    self.text = Self.text(canonical)
  }

  /// The network that an address is counted under in limits. The owner of one IPv6 address has all
  /// that share its first 64 bits, and could use another one for each request. Text that is no
  /// address stands for itself.
  package static func network(of text: String) -> String {
    var canonical = [CChar](repeating: 0, count: Int(PFH_ADDRESS_TEXT))
    guard unsafe pfh_address_network(&canonical, text) == PFH_OK else { return text }
    return Self.text(canonical)
  }

  private static func text(_ canonical: [CChar]) -> String {
    let bytes = canonical.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Whether it is a loopback address.
  package var isLoopback: Bool { unsafe pfh_address_is_loopback(text) == 1 }
}

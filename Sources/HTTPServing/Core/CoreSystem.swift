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
    let canonical = unsafe Self.text { unsafe pfh_address_canonical($0, text) }
    guard let canonical else { return nil }
    self.text = canonical
  }

  /// The network that an address is counted under in limits. The owner of one IPv6 address has all
  /// that share its first 64 bits, and could use another one for each request. Text that is no
  /// address stands for itself.
  package static func network(of text: String) -> String {
    unsafe Self.text { unsafe pfh_address_network($0, text) } ?? text
  }

  /// The text that the C code writes; nil if it does not accept the address.
  private static func text(
    _ write: (UnsafeMutablePointer<CChar>) -> pfh_result
  ) -> String? {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PFH_ADDRESS_TEXT)) {
      guard let start = $0.baseAddress, unsafe write(start) == PFH_OK else { return nil }
      return unsafe String(cString: start)
    }
  }

  /// Whether it is a loopback address.
  package var isLoopback: Bool { unsafe pfh_address_is_loopback(text) == 1 }
}

// SPDX-License-Identifier: Apache-2.0

/// Finds the client that a request comes from, when proxies stand between.
struct ForwardedPeer: Sendable {
  /// The trusted proxies.
  let trusted: Set<IPAddress>
  /// Whether each connection is a trusted proxy's: those of a Unix socket, whose mode says who may connect.
  let trustsAll: Bool

  init(
    trusting addresses: Set<String>, trustsAll: Bool = false
  ) throws(HTTPServerError) {
    self.trustsAll = trustsAll
    var trusted: Set<IPAddress> = []
    for text in addresses {
      guard let address = IPAddress(text) else { throw .address(text) }
      trusted.insert(address)
    }
    self.trusted = trusted
  }

  /// Whether an address is a trusted proxy's.
  func isProxy(_ peer: String) -> Bool {
    trustsAll || IPAddress(peer).map(trusted.contains) ?? false
  }

  /// The last address in `X-Forwarded-For` that is no trusted proxy's. Each proxy appends the
  /// address that it saw. Addresses before the last untrusted one are that client's own claim, and
  /// are ignored.
  ///
  /// - Parameter request: A request whose ``HTTPRequest/isForwarded`` is set.
  /// - Returns: The address.
  func peer(of request: HTTPRequest) -> String {
    guard request.isForwarded, let forwarded = request.value(of: "x-forwarded-for") else {
      return request.peer
    }
    var peer = request.peer
    // By bytes: to find where characters end takes longer than all that follows.
    let parts = forwarded.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
    for part in parts.reversed() {
      guard let address = IPAddress(String(Substring(part.trimmed))) else { break }
      peer = address.text
      if !trusted.contains(address) { break }
    }
    return peer
  }
}

extension Substring.UTF8View {
  /// The text, trimmed of blanks at both ends.
  fileprivate var trimmed: Substring.UTF8View {
    func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
    var text = drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }
}

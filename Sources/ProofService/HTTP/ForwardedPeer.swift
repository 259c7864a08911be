/// Whom a request comes from, where proxies stand between.
struct ForwardedPeer: Sendable {
  /// The proxies that are named.
  let trusted: Set<IPAddress>

  init(trusting addresses: Set<String>) throws(HTTPServerError) {
    var trusted: Set<IPAddress> = []
    for text in addresses {
      guard let address = IPAddress(text) else { throw .address(text) }
      trusted.insert(address)
    }
    self.trusted = trusted
  }

  /// Whether an address is a named proxy's.
  func isProxy(_ peer: String) -> Bool { IPAddress(peer).map(trusted.contains) ?? false }

  /// The last address in `X-Forwarded-For` that is no trusted proxy's. Each proxy appends whom it
  /// heard; what stands before the last stranger is that stranger's claim, and not believed.
  func peer(of request: HTTPRequest) -> String {
    guard !trusted.isEmpty, let connected = IPAddress(request.peer), trusted.contains(connected),
      let forwarded = request.headers["x-forwarded-for"]
    else { return request.peer }
    var peer = request.peer
    for part in forwarded.split(separator: ",", omittingEmptySubsequences: false).reversed() {
      guard let address = IPAddress(String(part.trimmed)) else { break }
      peer = address.text
      if !trusted.contains(address) { break }
    }
    return peer
  }
}

extension Substring {
  /// The text, trimmed of blanks at both ends.
  fileprivate var trimmed: Substring {
    var text = drop { $0 == " " || $0 == "\t" }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return text
  }
}

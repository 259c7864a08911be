// SPDX-License-Identifier: Apache-2.0

/// A host as certificates and pins know it: lower case, letters, digits, hyphens and dots.
struct HostName: Sendable, Hashable {
  let text: String

  init?(_ text: some StringProtocol) {
    // Check before lower-casing, because the Kelvin sign's lower case is an ASCII letter.
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    let lower = text.lowercased()
    let labels = lower.split(separator: ".", omittingEmptySubsequences: false)
    guard lower.utf8.count <= 253, labels.allSatisfy(Self.isLabel) else { return nil }
    self.text = lower
  }

  static func isPort(_ text: Substring) -> Bool {
    text.first != "+" && UInt16(text) ?? 0 > 0
  }

  private static func isLabel(_ label: Substring) -> Bool {
    (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
      && label.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}

/// An API as the account lists it for a gate: a host in lower case, and its port unless it is 443.
struct APIAuthority: Sendable, Hashable {
  let text: String

  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count <= 2, let host = HostName(parts[0]) else { return nil }
    guard parts.count == 2 else {
      self.text = host.text
      return
    }
    guard HostName.isPort(Substring(parts[1])) else { return nil }
    self.text = UInt16(parts[1]) == 443 ? host.text : "\(host.text):\(parts[1])"
  }
}

/// The API that a token is for, as an app names it: a host, or an `https` URL whose host counts.
/// `?measurement` at the end asks for a measurement.
struct APIDomain: Sendable, Hashable {
  static let measurementSuffix = "?measurement"

  let host: String
  let isMeasured: Bool

  init?(_ text: String) {
    var rest = text[...]
    let suffix = Self.measurementSuffix
    isMeasured = rest.hasSuffix(suffix)
    if isMeasured { rest = rest.dropLast(suffix.count) }
    if let scheme = rest.range(of: "://") {
      guard rest[..<scheme.lowerBound].lowercased() == "https" else { return nil }
      rest = rest[scheme.upperBound...]
      rest = rest.prefix { !"/?#".contains($0) }
    }
    if let colon = rest.firstIndex(of: ":") {
      guard HostName.isPort(rest[rest.index(after: colon)...]) else { return nil }
      rest = rest[..<colon]
    }
    guard let host = HostName(rest) else { return nil }
    self.host = host.text
  }
}

/// The address of a service: `https`, or `http`, which a transport allows only to this machine
/// itself; a host; perhaps a port and a path.
struct ServiceAddress: Sendable, Hashable {
  /// The URL, with no slash at the end.
  let url: String
  /// Its host: a name, an IPv4 address, or an IPv6 address in brackets.
  let host: String

  init?(url: String) {
    guard let scheme = ["https://", "http://"].first(where: { url.hasPrefix($0) }) else {
      return nil
    }
    let rest = url.dropFirst(scheme.count)
    let authority = rest.prefix { $0 != "/" }
    let path = rest.dropFirst(authority.count)
    guard let host = Self.host(of: authority) else { return nil }
    let port = authority.dropFirst(host.count)
    guard port.isEmpty || port.first == ":" && HostName.isPort(port.dropFirst()) else { return nil }
    guard
      path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
      !path.contains(where: { "?#\\\"%".contains($0) })
    else { return nil }
    self.host = String(host)
    self.url = String(url.reversed().drop { $0 == "/" }.reversed())
  }

  /// The same address with another host; nil if that is no host name.
  func named(_ name: String) -> ServiceAddress? {
    guard let name = HostName(name), let colon = url.firstIndex(of: ":") else { return nil }
    let start = url.index(colon, offsetBy: 3)
    return ServiceAddress(url: url[..<start] + name.text + url[start...].dropFirst(host.count))
  }

  private static func host(of authority: Substring) -> Substring? {
    guard authority.first == "[" else {
      let name = authority.prefix { $0 != ":" }
      return HostName(name) == nil ? nil : name
    }
    guard let end = authority.firstIndex(of: "]") else { return nil }
    let address = authority[authority.index(after: authority.startIndex)..<end]
    // The longest IPv6 address has 45 characters. libcurl refuses one with the right characters in
    // a wrong order.
    guard (2...45).contains(address.utf8.count),
      address.utf8.count(where: { $0 == UInt8(ascii: ":") }) >= 2,
      address.utf8.allSatisfy({ byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
          UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: ":"), UInt8(ascii: "."):
          true
        default: false
        }
      })
    else { return nil }
    return authority[...end]
  }
}

extension Substring {
  /// The first occurrence of a text.
  fileprivate func range(of text: String) -> Range<Index>? {
    var start = startIndex
    while start < endIndex {
      if self[start...].hasPrefix(text) { return start..<index(start, offsetBy: text.count) }
      start = index(after: start)
    }
    return nil
  }
}

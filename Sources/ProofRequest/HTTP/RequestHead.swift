// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP request as it is on the wire: the part that a proof covers.
public struct RequestHead: Sendable, Hashable {
  /// The scheme of the connection.
  public enum Scheme: String, Sendable, Hashable {
    /// Plain HTTP: on one machine, behind a proxy that ends TLS.
    case http
    /// With TLS.
    case https

    var defaultPort: String { self == .http ? "80" : "443" }
  }

  /// The method in its own case, such as `POST`.
  public let method: String
  /// The scheme that the client used.
  public let scheme: Scheme
  /// Host and port in lower case, without the scheme's default port and the dot of the DNS root.
  public let authority: String
  /// Path and query as they are sent: never decoded, never normalised.
  public let target: String
  /// The raw path: never empty.
  public let path: Substring
  /// The raw query with its question mark; nil for none.
  public let query: Substring?
  /// The header fields.
  public var fields: HeaderFields

  /// Takes the parts of a request.
  ///
  /// - Parameters:
  ///   - method: The method, such as `GET`.
  ///   - scheme: The scheme that the client used. A gate takes it from its routes, not from a header.
  ///   - authority: Host with an optional port.
  ///   - target: Path with an optional query, as sent.
  ///   - fields: The header fields.
  /// - Throws: ``RequestFormatError`` with the part that HTTP forbids.
  public init(
    method: String, scheme: Scheme, authority: String, target: String,
    fields: HeaderFields = HeaderFields()
  ) throws(RequestFormatError) {
    guard method.utf8.count <= 32, ASCII.isToken(method.utf8.span) else {
      throw .badMethod(method)
    }
    guard let host = Authority.normalised(authority, scheme) else { throw .badAuthority(authority) }
    guard let pathCount = Self.pathCount(of: target.utf8.span) else { throw .badTarget(target) }
    self.method = method
    self.scheme = scheme
    self.authority = host
    self.target = target
    let end = target.utf8.index(target.startIndex, offsetBy: pathCount)
    path = target[..<end]
    query = end == target.endIndex ? nil : target[end...]
    self.fields = fields
  }

  /// How many bytes of a target are its path; nil for a target that HTTP forbids.
  private static func pathCount(of target: Span<UInt8>) -> Int? {
    guard !target.isEmpty, target[0] == UInt8(ascii: "/") else { return nil }
    var end: Int?
    for index in target.indices {
      let byte = target[index]
      guard 0x21...0x7e ~= byte, byte != UInt8(ascii: "#") else { return nil }
      if byte == UInt8(ascii: "?"), end == nil { end = index }
    }
    return end ?? target.count
  }

  /// Takes an absolute URL as it will be sent: scheme, authority, path and query.
  ///
  /// An empty path becomes `/`.
  ///
  /// - Throws: ``RequestFormatError``.
  public init(
    method: String, url: String, fields: HeaderFields = HeaderFields()
  ) throws(RequestFormatError) {
    let bytes = Array(url.utf8)
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
      bytes[colon...].starts(with: "://".utf8),
      let scheme = Scheme(
        rawValue: String(decoding: bytes[..<colon].map(ASCII.lower), as: UTF8.self))
    else { throw .badURL(url) }
    let rest = bytes[(colon + 3)...]
    let end =
      rest.firstIndex {
        $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#")
      } ?? rest.endIndex
    var target = String(decoding: rest[end...], as: UTF8.self)
    if target.utf8.first != UInt8(ascii: "/") { target = "/" + target }
    try self.init(
      method: method, scheme: scheme, authority: String(decoding: rest[..<end], as: UTF8.self),
      target: target, fields: fields)
  }

  /// Whether the method promises to change nothing: `GET`, `HEAD`, `OPTIONS`, `TRACE`.
  public var isSafe: Bool {
    method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE"
  }
}

/// The host and port of a request.
enum Authority {
  /// The authority in lower case without the default port, or nil if it is none.
  static func normalised(_ text: String, _ scheme: RequestHead.Scheme) -> String? {
    guard text.utf8.count <= 261 else { return nil }
    if isNormalised(text.utf8.span) { return text }
    let bytes = text.utf8.map(ASCII.lower)
    guard let split = split(bytes) else { return nil }
    var host = bytes[..<split]
    // The dot of the DNS root names the same host.
    if host.last == UInt8(ascii: ".") { host.removeLast() }
    let port = bytes[split...].dropFirst()
    guard isHost(host), split == bytes.endIndex || isPort(port) else { return nil }
    let isDefault = split == bytes.endIndex || port.elementsEqual(scheme.defaultPort.utf8)
    return String(decoding: isDefault ? host : host + [UInt8(ascii: ":")] + port, as: UTF8.self)
  }

  /// Whether a text is a name in lower case without a port and without the dot of the DNS root, as almost all are.
  private static func isNormalised(_ text: Span<UInt8>) -> Bool {
    var isLabel = false
    for index in text.indices {
      let byte = text[index]
      if byte == UInt8(ascii: ".") {
        guard isLabel else { return false }
        isLabel = false
      } else {
        guard isLabelCharacter(byte) else { return false }
        isLabel = true
      }
    }
    return isLabel
  }

  private static func isLabelCharacter(_ byte: UInt8) -> Bool {
    ASCII.isLower(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "-")
      || byte == UInt8(ascii: "_")
  }

  /// Where the colon of the port is, or the end; nil for a bracket that is not closed.
  private static func split(_ bytes: [UInt8]) -> Int? {
    guard bytes.first == UInt8(ascii: "[") else {
      return bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
    }
    guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
    let end = bracket + 1
    return end == bytes.endIndex || bytes[end] == UInt8(ascii: ":") ? end : nil
  }

  private static func isHost(_ host: ArraySlice<UInt8>) -> Bool {
    guard let first = host.first else { return false }
    if first == UInt8(ascii: "[") {
      return host.count > 4
        && host.dropFirst().dropLast().allSatisfy {
          ASCII.hexValue($0) != nil || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
        }
    }
    return host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).allSatisfy {
      !$0.isEmpty && $0.allSatisfy(isLabelCharacter)
    }
  }

  private static func isPort(_ port: ArraySlice<UInt8>) -> Bool {
    1...5 ~= port.count && port.allSatisfy(ASCII.isDigit)
      && port.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 65535
  }
}

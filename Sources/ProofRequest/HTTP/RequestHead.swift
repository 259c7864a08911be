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
    guard !method.isEmpty, method.utf8.count <= 32, method.utf8.allSatisfy(ASCII.isTokenCharacter)
    else { throw .badMethod(method) }
    guard let host = Authority.normalised(authority, scheme) else { throw .badAuthority(authority) }
    guard target.utf8.first == UInt8(ascii: "/"),
      target.utf8.allSatisfy({ 0x21...0x7e ~= $0 && $0 != UInt8(ascii: "#") })
    else { throw .badTarget(target) }
    self.method = method
    self.scheme = scheme
    self.authority = host
    self.target = target
    let end = target.utf8.firstIndex(of: UInt8(ascii: "?"))
    path = target[..<(end ?? target.endIndex)]
    query = end.map { target[$0...] }
    self.fields = fields
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
      !$0.isEmpty
        && $0.allSatisfy {
          ASCII.isLower($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "-")
            || $0 == UInt8(ascii: "_")
        }
    }
  }

  private static func isPort(_ port: ArraySlice<UInt8>) -> Bool {
    1...5 ~= port.count && port.allSatisfy(ASCII.isDigit)
      && port.reduce(0) { $0 * 10 + Int($1 - 0x30) } <= 65535
  }
}

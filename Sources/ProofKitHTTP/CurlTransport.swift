// SPDX-License-Identifier: Apache-2.0

public import ProofKit
import ProofModel

/// The way to the service over HTTPS, by libcurl.
///
/// It uses TLS 1.2 or later. The certificate's chain and name are always verified, against an
/// account's own authorities or those of the system; pins are an additional check. A peer that
/// fails either check receives no part of the request. Connections are kept and reused. It
/// uses no redirect, no proxy and no cookie, and writes no connection secrets to a file, even if
/// the environment asks for that.
public final class CurlTransport: Transport {
  /// The set-up of a transport.
  public struct Options: Sendable, Hashable {
    /// A file of certificates (PEM), the only authorities for the service; nil for the system's.
    public var authorities: String?
    /// Whether `http` is allowed to this machine itself, for tests and for a proxy beside the app.
    public var allowsPlainLoopback: Bool
    /// The time limit of connecting, TLS included.
    public var connectTimeout: Duration
    /// The most idle connections that are kept.
    public var keptConnectionCount: Int

    /// Describes a transport.
    public init(
      authorities: String? = nil, allowsPlainLoopback: Bool = false,
      connectTimeout: Duration = .seconds(5), keptConnectionCount: Int = 4
    ) {
      self.authorities = authorities
      self.allowsPlainLoopback = allowsPlainLoopback
      self.connectTimeout = connectTimeout
      self.keptConnectionCount = keptConnectionCount
    }
  }

  private struct Pool {
    var idle: [CoreClient] = []
    var madeBefore = 0
  }

  private let options: Options
  private let pool = CoreLock(Pool())

  /// Makes a transport. It connects at the first request.
  public init(_ options: Options = Options()) { self.options = options }

  /// Sends one request and waits for its answer.
  public func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    try check(request)
    try Self.check(method: request.method, request.fields ?? [])
    guard let client = pool.withLock({ $0.idle.popLast() }) ?? makeClient() else {
      throw .refused("there is no memory for a connection")
    }
    let before = client.connectionCount
    defer {
      let count = client.connectionCount - before
      pool.withLock { pool in
        pool.madeBefore += count
        if pool.idle.count < options.keptConnectionCount { pool.idle.append(client) }
      }
    }
    return try client.send(request)
  }

  /// The number of connections made so far.
  public var connectionCount: Int { pool.withLock { $0.madeBefore } }

  private func makeClient() -> CoreClient? {
    CoreClient(
      authorities: options.authorities, allowsPlain: options.allowsPlainLoopback,
      connectTimeout: options.connectTimeout)
  }

  private func check(_ request: TransportRequest) throws(TransportError) {
    let isSecure = request.url.hasPrefix("https://")
    guard isSecure || request.url.hasPrefix("http://") else {
      throw .refused("\(request.url) is no https URL")
    }
    let authority = request.url.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
    let target = request.connectHost.map { $0[...] } ?? Self.host(of: authority)
    try Self.check(target, request.addressFamily)
    if isSecure { return }
    guard options.allowsPlainLoopback, !authority.contains("@"),
      Self.isLoopback(Self.host(of: authority)), Self.isLoopback(target)
    else {
      throw .refused("http is allowed to this machine only, and only where it was asked for")
    }
    guard request.pins.isEmpty else { throw .refused("pins are given, and http has no keys") }
  }

  private static func host(of authority: Substring) -> Substring {
    if authority.first == "[", let end = authority.firstIndex(of: "]") { return authority[...end] }
    return authority.prefix { $0 != ":" }
  }

  /// An address of one IP version cannot be reached by the other. libcurl would connect to it.
  private static func check(
    _ target: Substring, _ family: AddressFamily
  ) throws(TransportError) {
    switch family {
    case .any: return
    case .v4 where target.first == "[":
      throw .unreachable("\(target) is an IPv6 address, and only IPv4 may be used")
    case .v6 where isIPv4(target):
      throw .unreachable("\(target) is an IPv4 address, and only IPv6 may be used")
    default: return
    }
  }

  private static func isIPv4(_ host: Substring) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
  }

  /// Method and fields stand in the request as they are: none of them may begin another line.
  private static func check(
    method: String?, _ fields: [HeaderField]
  ) throws(TransportError) {
    func isToken(_ text: String) -> Bool {
      !text.isEmpty
        && text.utf8.allSatisfy { byte in
          switch byte {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
          default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
          }
        }
    }
    if let method, !isToken(method) { throw .refused("the method is no HTTP method") }
    for field in fields {
      guard isToken(field.name),
        field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
      else { throw .refused("the header field \(field.name) has a character that HTTP forbids") }
    }
  }

  /// Whether a host is this machine. A name other than `localhost` could resolve to any address.
  private static func isLoopback(_ host: Substring) -> Bool {
    host == "localhost" || host == "[::1]" || isIPv4(host) && host.hasPrefix("127.")
  }
}

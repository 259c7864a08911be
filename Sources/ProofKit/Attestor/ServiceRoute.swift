// SPDX-License-Identifier: Apache-2.0

/// The IP versions that a connection may use.
public enum AddressFamily: Sendable, Hashable, CaseIterable {
  /// Both: the first of them that answers.
  case any
  /// IPv4 alone.
  case v4
  /// IPv6 alone.
  case v6
}

/// The name of one of an account's regions. An operator names a region with `proofctl config region`.
public struct ServiceRegion: Sendable, Hashable, CustomStringConvertible {
  /// The name.
  public let name: String

  /// The region of the account's own address. Every account has it.
  public static let home = ServiceRegion(named: "home")
  /// The region `abroad`, if the account has one.
  public static let abroad = ServiceRegion(named: "abroad")

  /// The longest name, in bytes.
  public static let nameMax = 32

  private init(named name: String) { self.name = name }

  /// Checks a name.
  ///
  /// - Parameter name: 1 to 32 lower-case letters, digits and hyphens.
  /// - Throws: ``SetupError/malformedRoute(reason:)``.
  public init(_ name: String) throws(SetupError) {
    guard Self.isName(name) else {
      throw .malformedRoute(
        reason: "the region “\(name.prefix(40))” is not 1 to 32 characters of a-z, 0-9 and -")
    }
    self.init(named: name)
  }

  /// The name.
  public var description: String { name }

  static func isName(_ name: String) -> Bool {
    (1...nameMax).contains(name.utf8.count)
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
          UInt8(ascii: "-"):
          true
        default: false
        }
      }
  }
}

/// An address of the app's own choice for its account's service, such as a proxy in another network.
///
/// It is used only if the account pins its service's keys, and only while the peer has one of them.
public struct ServiceEndpoint: Sendable, Hashable {
  /// The URL of requests: the service's host name, with the port and path of the address.
  let url: String
  /// The host or address to connect to; nil for that of the URL.
  let connectHost: String?

  /// Checks an endpoint.
  ///
  /// - Parameters:
  ///   - url: `https://HOST` or `https://HOST:PORT`, where to connect to; a path may follow.
  ///   - host: The host name that the peer's certificate must have, and that stands in requests; nil
  ///     for the URL's own.
  /// - Throws: ``SetupError/malformedRoute(reason:)``.
  public init(url: String, host: String? = nil) throws(SetupError) {
    guard let address = ServiceAddress(url: url) else {
      throw .malformedRoute(reason: "the endpoint's URL is not https://HOST or https://HOST:PORT")
    }
    guard let host else {
      self.url = address.url
      connectHost = nil
      return
    }
    guard let named = address.named(host) else {
      throw .malformedRoute(reason: "the endpoint's host “\(host.prefix(80))” is no host name")
    }
    self.url = named.url
    connectHost = address.host
  }
}

/// The way from the app to its account's service.
package struct ServiceRoute: Sendable, Hashable {
  enum Destination: Sendable, Hashable {
    case region(ServiceRegion)
    case endpoint(ServiceEndpoint)
  }

  let destination: Destination
  /// The IP versions that connections to the service may use.
  package let addressFamily: AddressFamily

  /// Goes to the addresses that the account lists for a region: the region's address, then its
  /// fail-over address.
  ///
  /// Until the app has a configuration, requests for it go to the address of the initial one. An app
  /// that must not reach that address is built with a signed configuration.
  ///
  /// - Parameters:
  ///   - region: The region. A fetch in a region that the account does not list fails.
  ///   - addressFamily: The IP versions that may be used.
  package init(region: ServiceRegion = .home, addressFamily: AddressFamily = .any) {
    destination = .region(region)
    self.addressFamily = addressFamily
  }

  /// Goes to an address of the app's own choice in place of the account's.
  ///
  /// - Parameters:
  ///   - endpoint: The address. There is no fail-over from it.
  ///   - addressFamily: The IP versions that may be used.
  package init(endpoint: ServiceEndpoint, addressFamily: AddressFamily = .any) {
    destination = .endpoint(endpoint)
    self.addressFamily = addressFamily
  }
}

/// An address of the service, and the one to use while it does not answer.
public struct ServiceAddresses: Sendable, Hashable {
  /// The first address, with no slash at the end.
  public let url: String
  /// The fail-over address; nil if there is none.
  public let failover: String?

  init(url: String, failover: String? = nil) {
    self.url = url
    self.failover = failover
  }

  /// The addresses in the order in which they are tried.
  var all: [String] { [url] + (failover.map { [$0] } ?? []) }
}

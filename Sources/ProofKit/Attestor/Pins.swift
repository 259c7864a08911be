/// How a pin is made of a certificate.
public enum PinType: String, Sendable, CaseIterable {
  /// Base64 of SHA-256 of the certificate's SubjectPublicKeyInfo.
  case publicKeySHA256 = "public-key-sha256"
}

/// The keys that an account's APIs may have, by host.
public struct Pins: Sendable, Hashable {
  /// What a connection to one host is held to.
  public enum Rule: Sendable, Hashable {
    /// One of the certificates of the verified chain must have one of these keys.
    case keys([String])
    /// The host has no pins of its own: the chain must end in one of these trusted roots.
    case trustRoots([String])
    /// The host is one of the account's, and pinned by nothing.
    case unpinned
    /// The host is none of the account's: nothing is said about it.
    case unknown
  }

  /// The host name that stands for the trusted roots.
  public static let trustRootsHost = "*"

  /// Hosts, in lower case, with their pins; an empty array is a host that is known and has none of its
  /// own.
  public let byHost: [String: [String]]

  /// Takes pins by host.
  public init(_ byHost: [String: [String]]) {
    self.byHost = Dictionary(byHost.map { ($0.lowercased(), $1) }, uniquingKeysWith: +)
  }

  /// What a connection is held to.
  ///
  /// A host that is listed without pins is held to the trusted roots, if there are any; a host that is
  /// not listed is held to nothing.
  ///
  /// - Parameter host: The host's name, in either case, with or without the root's dot at its end.
  /// - Returns: The rule for its certificates.
  public func rule(for host: String) -> Rule {
    var name = host.lowercased()
    // The whole name of a host ends with the root's dot, and is the same host.
    if name.last == "." { name.removeLast() }
    guard name != Self.trustRootsHost, let own = byHost[name] else { return .unknown }
    if !own.isEmpty { return .keys(own) }
    if let roots = byHost[Self.trustRootsHost], !roots.isEmpty { return .trustRoots(roots) }
    return .unpinned
  }

  /// The pins as JSON: an object of arrays, hosts in order.
  public var json: String {
    let hosts = byHost.sorted { $0.key < $1.key }.map { host, pins in
      JSONText.quote(host) + ":[" + pins.map(JSONText.quote).joined(separator: ",") + "]"
    }
    return "{" + hosts.joined(separator: ",") + "}"
  }

  static func isPin(_ text: String) -> Bool { Base64.decode(text.utf8)?.count == 32 }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// The keys that an account's APIs may have, by host: base64 of SHA-256 of a certificate's
/// SubjectPublicKeyInfo. A value, which never changes by itself.
public struct Pins: Sendable, Hashable {
  /// The rule for a connection to one host.
  public enum Rule: Sendable, Hashable {
    /// One of the certificates of the verified chain must have one of these keys.
    case keys([String])
    /// The host has no pins of its own: the chain must end in one of these trusted roots.
    case trustRoots([String])
    /// The host is one of the account's, and has no pins.
    case unpinned
    /// The host is not one of the account's, so no rule applies.
    case unknown
  }

  /// The rule for a host that the account does not list.
  public enum UnlistedHosts: Sendable {
    /// No rule applies: ``Rule/unknown``.
    case unknown
    /// The trusted roots, if the account has any, as the SDKs of other vendors do.
    case trustRoots
  }

  /// The host name that stands for the trusted roots.
  public static let trustRootsHost = "*"

  /// The pins by host, in lower case. An empty array is for a known host that has no pins of its
  /// own.
  public let byHost: [String: [String]]
  /// The serial of the configuration that they stand in; 0 for pins made by hand.
  public package(set) var serial: UInt32 = 0
  /// The serial below which pins must be replaced at once.
  package var forcedSerial: UInt32 = 0

  /// Takes pins by host.
  public init(_ byHost: [String: [String]]) {
    self.byHost = Dictionary(byHost.map { ($0.lowercased(), $1) }, uniquingKeysWith: +)
  }

  /// Whether connections that were made under older pins must be closed: the operator forced newer
  /// ones.
  ///
  /// - Parameter older: The pins that the connections were made under.
  /// - Returns: Whether these are newer, and the older ones are no longer allowed.
  public func mustReplace(_ older: Pins) -> Bool {
    older.serial < forcedSerial && serial > older.serial
  }

  /// The rule for a connection to one host.
  ///
  /// A host that is listed with no pins must chain to the trusted roots, if there are any.
  ///
  /// - Parameters:
  ///   - host: The host's name, in either case, with or without the root's dot at its end.
  ///   - unlisted: The rule for a host that is not listed. The default decides nothing, so that an
  ///     account's roots do not apply to hosts that its operator never named.
  /// - Returns: The rule for its certificates.
  public func rule(for host: String, unlisted: UnlistedHosts = .unknown) -> Rule {
    var name = host.lowercased()
    // A full host name may end with the root's dot; it is the same host.
    if name.last == "." { name.removeLast() }
    if name == Self.trustRootsHost { return .unknown }
    let own = byHost[name]
    if let own, !own.isEmpty { return .keys(own) }
    if own == nil, unlisted == .unknown { return .unknown }
    if let roots = byHost[Self.trustRootsHost], !roots.isEmpty { return .trustRoots(roots) }
    return own == nil ? .unknown : .unpinned
  }

  /// The pins as JSON: an object of arrays, hosts in order.
  public var json: String {
    let hosts = byHost.sorted { $0.key < $1.key }.map { host, pins in
      JSONText.quote(host) + ":[" + pins.map(JSONText.quote).joined(separator: ",") + "]"
    }
    return "{" + hosts.joined(separator: ",") + "}"
  }

  static func isPin(_ text: String) -> Bool { Base64.decode(text)?.count == 32 }
}

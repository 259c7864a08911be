// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

/// A gate's rule for the requests of one route.
package struct RouteRule: Sendable, Hashable {
  /// The effect of a refusal.
  package enum Mode: String, Sendable, CaseIterable {
    /// The request passes, and log and verdict say why it would have been refused.
    case watch
    /// The request is refused.
    case enforce
  }

  /// The place where the body is compared with the digest that the proof covers. Forward auth hands no body to a gate.
  package enum Body: String, Sendable, CaseIterable {
    /// At the gate: the proxy hands it over, as HAProxy can.
    case gate
    /// Behind the gate, by the digest in the verdict.
    case behind
    /// Nowhere.
    case unchecked
  }

  /// The answer while the gate cannot judge: its configuration is too old, or the replay store does not answer.
  package enum Doubt: String, Sendable, CaseIterable {
    /// Status 503.
    case refuse
    /// Requests that promise to change nothing pass; others get status 503.
    case pass
  }

  /// The worth of a proof that carries no word of the gate on the time.
  package enum Unanchored: String, Sendable, CaseIterable {
    /// It counts.
    case pass
    /// It counts for methods that promise to change nothing, and in the standard form for all.
    case safe
    /// The client proves the request anew, with a word of the gate.
    case refuse
  }

  /// The rule's name, in log, metrics and verdict.
  package let name: String
  /// The host that it is for; nil for each host of the gate.
  package var host: String?
  /// The methods that it is for; empty for each.
  package var methods: [String] = []
  /// The paths that it is for; nil if only the proxy names it.
  package var path: RoutePath?
  /// The parts that a request must have.
  package var need = RouteNeed.proof
  /// The level of work that an app pays in the first day after the service saw it; nil for none.
  package var young: UInt8? = 16
  /// Whether each clearance counts once.
  package var spends = false
  /// The origins whose pages may read answers of the gate.
  package var origins: [String] = []
  /// The rate limits.
  package var limits: [RouteLimit] = []
  /// The share of clients for which a refusal has an effect.
  package var rollout = Rollout.all
  /// The effect of a refusal.
  package var mode = Mode.enforce
  /// The place where the body is compared.
  package var body = Body.behind
  /// The answer while the gate cannot judge.
  package var doubt = Doubt.refuse
  /// The worth of a proof without a word of the gate.
  package var unanchored = Unanchored.safe

  package init(_ name: String) { self.name = name }

  /// The number of the rule in challenges: the same on all nodes.
  package var number: UInt32 {
    UInt32(littleEndianBytes: Digest(hashing: Array(name.utf8)).bytes.prefix(4))
  }

  /// The name of the rule for requests that no other rule is for.
  package static let unmatchedName = "unmatched"

  /// The strictest rule: for requests that no rule is for.
  package static var unmatched: RouteRule {
    var rule = RouteRule(unmatchedName)
    rule.unanchored = .refuse
    return rule
  }

  /// Whether the rule is for a request of this host and method.
  func takes(host: String, method: String) -> Bool {
    (self.host == nil || self.host == host)
      && (methods.isEmpty || methods.contains { $0 == method })
  }
}

/// A path of a rule: `/prices` for this path alone, `/payments/*` for it and all below it.
package struct RoutePath: Sendable, Hashable {
  /// The path without the star and the slash before it.
  let path: String
  let isFolder: Bool

  /// Reads a pattern; nil for a text that is none.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "/"), bytes.allSatisfy(Self.isPlain) else { return nil }
    isFolder = bytes.suffix(2).elementsEqual("/*".utf8)
    path = String(decoding: isFolder ? bytes.dropLast(2) : bytes[...], as: UTF8.self)
    let stars = path.utf8.count { $0 == UInt8(ascii: "*") }
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    // The one empty part is the end of "/" itself, or of a folder's own spelling with a slash.
    guard stars == 0, !parts.dropLast().contains(where: \.isEmpty),
      !(isFolder && !path.isEmpty && parts.last?.isEmpty == true),
      !parts.contains(where: { $0 == "." || $0 == ".." })
    else { return nil }
  }

  /// Visible ASCII without what ends a path or stands for something else.
  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x21...0x7E).contains(byte) && !"%?#\\\"<>[]^`{|}".utf8.contains(byte)
  }

  /// Whether a raw path is the rule's.
  package func takes(_ raw: Substring) -> Bool {
    guard isFolder else { return raw.utf8.elementsEqual(path.utf8) }
    guard raw.utf8.starts(with: path.utf8) else { return false }
    let rest = raw.utf8.dropFirst(path.utf8.count)
    return rest.isEmpty || rest.first == UInt8(ascii: "/")
  }
}

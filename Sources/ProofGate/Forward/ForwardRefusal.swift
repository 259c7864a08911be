// SPDX-License-Identifier: Apache-2.0

internal import ProofModel
package import ProofRequest

/// The reason why a proxy's question about a request is refused before the request is judged. The client gets status
/// 403 and the class `refused`.
package enum ForwardRefusal: Error, Sendable, Hashable {
  /// The proxy did not send the field.
  case missing(String)
  /// The field came twice, or in another spelling beside it.
  case repeated(String)
  /// HTTP forbids a part of the request.
  case format(RequestFormatError)
  /// The target can be read in two ways.
  case ambiguousTarget(TargetRule)
  /// The target's path percent-encodes a character that needs no encoding, so rules that compare texts miss it.
  case encodedLetter
  /// The client's connection has no TLS.
  case scheme(String)
  /// The account does not list the host for this gate.
  case host(String)
  /// A field of this gate's own that is not the client's to send.
  case foreignField(String)
  /// An emergency token that does not count.
  case bypass
  /// The gate wants the body, and did not get all of it.
  case body(String)
  /// A field that makes a server read another method, and that no proof covers.
  case methodOverride(String)

  /// A word for metrics.
  package var code: String {
    switch self {
    case .missing: "forward-missing"
    case .repeated: "forward-repeated"
    case .format: "format"
    case .ambiguousTarget, .encodedLetter: "ambiguous-target"
    case .scheme: "scheme"
    case .host: "host"
    case .foreignField: "foreign-field"
    case .methodOverride: "method-override"
    case .bypass: "bypass-refused"
    case .body: "body"
    }
  }
}

extension ForwardRefusal: CustomStringConvertible {
  /// One sentence for a log.
  package var description: String {
    switch self {
    case .missing(let name):
      "The proxy did not send \(name). Set it in the location that asks the gate: docs/GATE.md."
    case .repeated(let name):
      "\(name) came twice, or in two spellings. Have the proxy overwrite it: docs/GATE.md."
    case .format(let error): "The request is malformed: \(error)"
    case .ambiguousTarget(let rule):
      "The target can be read in two ways (TargetRule \(rule.rawValue)): a proxy and an API could disagree on it."
    case .encodedLetter:
      "The path percent-encodes a letter, digit, hyphen, dot, underscore or tilde: rules by path would miss it."
    case .scheme(let scheme): "The client used \(scheme), and proofs are made over https."
    case .host(let host): "The account does not list the host \(host) for this gate."
    case .foreignField(let name): "The client sent \(name), which only a gate or its proxy sends."
    case .bypass: "The emergency token is unknown or has ended: see --bypass-file."
    case .body(let cause):
      "The rule has the gate judge the body, and \(cause): raise the proxy's buffer, or write body behind."
    case .methodOverride(let name): "The client sent \(name), which no proof covers here."
    }
  }
}

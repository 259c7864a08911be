// SPDX-License-Identifier: Apache-2.0

package import ProofBackend

/// A gate's answer to a proxy, and what log and metrics say about it.
package struct ForwardAnswer: Sendable {
  /// 200 for a request that passes; else the status for the client: 401, 403, 428, 429 or 503.
  package var status: Int
  /// The header fields of the answer. A proxy hands `Proof-Verdict` to the API, and the others to the client.
  package var fields: [(name: String, value: String)]
  /// The reference of the answer, of the log line and of the verdict.
  package var reference: String
  /// The name of the rule.
  package var route: String
  /// Whether the rule refused the request, and does not enforce it.
  package var isWatched = false
  /// A word for metrics: `passed`, or that of the reason.
  package var code = "passed"
  /// The reason, for the log; nil for a request that passes without one.
  package var reason: String?
  /// The handle of the app in base64url; nil for a client without a valid proof.
  package var handle: String?
  /// The clearance that counted for the request, or that its answer earned; nil for none.
  package var clearance: Clearance?
  /// The parts of the request that the form of a refusal depends on; nil for a request that could not be read.
  package var asker: RefusalDocument.Asker?

  /// The status that a proxy gets. nginx knows 401 and 403 as refusals, and takes others for a failure of the gate.
  package func status(for style: ForwardStyle) -> Int {
    guard style == .original, status != 200 else { return status }
    return status == 403 ? 403 : 401
  }
}

extension RejectedRequest {
  /// A word for metrics: the number is that of the reason in docs/SPEC.md.
  package var code: String {
    switch self {
    case .format: "format"
    case .request(let refusal): "request-\(refusal.rawValue)"
    case .gate(let refusal): "gate-\(refusal.rawValue)"
    case .digestField: "digest-field"
    case .busy: "busy"
    case .store: "store"
    }
  }
}

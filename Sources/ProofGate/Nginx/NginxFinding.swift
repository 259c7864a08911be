// SPDX-License-Identifier: Apache-2.0

/// A mistake in an nginx configuration that asks a gate.
package struct NginxFinding: Sendable, Hashable, CustomStringConvertible {
  /// The kinds of mistakes, by the names that `--allow` takes.
  package enum Kind: String, Sendable, CaseIterable {
    /// No location asks a gate.
    case noQuestion = "no-question"
    /// `auth_request` names a location that the server does not have.
    case noEndpoint = "no-endpoint"
    /// Clients reach the location of the question.
    case notInternal = "not-internal"
    /// The question waits for a body.
    case questionBody = "question-body"
    /// The question has no header fields of the client.
    case questionFields = "question-fields"
    /// The question goes to another path than `/judge`.
    case questionPath = "question-path"
    /// The gate's answers, or the protected ones, are cached.
    case cache
    /// A field that tells about the request is missing, or has another value.
    case told
    /// The client's own `Proof-Route` reaches the gate.
    case route
    /// nginx replaces answers of the gate or of the API.
    case intercept
    /// A buffer is too small for the fields of a request or an answer.
    case buffer
    /// One of several conditions lets a request pass.
    case satisfy
    /// The API gets another target than the gate.
    case target
    /// The client's own `Proof-Verdict` reaches the API, or none does.
    case verdict
    /// A field of the gate's answer does not reach the client.
    case answerField = "answer-field"
    /// The client of a refused request does not get the gate's answer.
    case refusal
    /// A nested location takes the question away.
    case nestedOff = "nested-off"
    /// A location of the server reaches a backend, and asks no gate.
    case unguarded
    /// nginx answers or decides before it asks the gate.
    case early
    /// A rule says `body gate`, and nginx hands no body to a gate.
    case bodyGate = "body-gate"
  }

  /// The kind.
  package let kind: Kind
  /// The place in the configuration.
  package let place: NginxDirective.Place
  /// The cause, and the next step.
  package let problem: String

  package var description: String { "\(place): \(kind.rawValue): \(problem)" }
}

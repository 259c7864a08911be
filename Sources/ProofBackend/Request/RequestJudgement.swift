// SPDX-License-Identifier: Apache-2.0

public import ProofModel
public import ProofRequest

/// The reason why a request does not count, for the log. A client gets ``told`` alone.
public enum RejectedRequest: Error, Sendable, Hashable {
  /// HTTP forbids a part of it.
  case format(RequestFormatError)
  /// A proof of the standard form, or of no form.
  case request(RequestRefusal)
  /// A gate token, or a proof of a compact form.
  case gate(GateRefusal)
  /// The digest in its own header field.
  case digestField(DigestFieldRefusal)
  /// The installation is not known, and the budget of openings is spent.
  case busy
  /// The replay store did not answer.
  case store(ReplayStoreFailure)
}

extension RejectedRequest {
  /// The part that the client gets; nil for an answer by its status alone.
  public var told: GateRefusal.Kind? {
    switch self {
    case .format: .refused
    case .request(let refusal): refusal.told
    case .gate(let refusal): refusal.kind
    case .digestField(let refusal): refusal.told
    case .busy: .token
    case .store: nil
    }
  }

  /// A status for the answer.
  public var status: Int {
    switch self {
    case .format: 400
    case .busy: 429
    case .store: 503
    case .request, .gate, .digestField: told == .refused ? 403 : 401
    }
  }
}

extension RejectedRequest: CustomStringConvertible {
  /// One sentence for a log.
  public var description: String {
    switch self {
    case .format(let error): "The request is malformed: \(error)"
    case .request(let refusal): refusal.description
    case .gate(let refusal): refusal.description
    case .digestField(let refusal): refusal.description
    case .busy: "The installation is not known, and no gate token is opened for its address now."
    case .store(let failure): failure.description
    }
  }
}

extension RequestRefusal {
  /// The part that the client gets.
  public var told: GateRefusal.Kind {
    switch self {
    case .unknownKey: .token
    case .stale, .ahead, .expired: .clock
    case .noSignature, .missingField, .uncoveredComponent, .uncoveredBody, .otherBody,
      .wrongSignature, .replayed:
      .proof
    case .malformedInput, .malformedSignature, .severalSignatures, .labelWithoutSignature,
      .repeatedComponent, .unknownComponent, .repeatedField, .badParameter, .missingParameter,
      .wrongAlgorithm, .ambiguousTarget, .malformedDigest, .tooLong:
      .refused
    }
  }
}

/// A verifier's decision on one request, and the header fields of the answer.
public struct RequestJudgement: Sendable {
  /// The verdict, or the reason for the log.
  public let result: Result<RequestVerdict, RejectedRequest>
  /// Fields that the answer must have: `Proof-Time`, and on a refusal `Proof-Refusal` and `Proof-Nonce`. They do not
  /// depend on whether the app passed its attestation.
  public let fields: [(name: String, value: String)]
  /// The grant of a gate token that was opened for this request; nil if none was, and for a refused request.
  package var opened: GateGrant?

  /// The verdict; nil for a refused request.
  public var verdict: RequestVerdict? { try? result.get() }

  /// The reason; nil for a request that counts.
  public var rejection: RejectedRequest? {
    if case .failure(let rejection) = result { rejection } else { nil }
  }
}

extension GateRefusal.Kind {
  /// The value of `Proof-Refusal`.
  public var text: String {
    switch self {
    case .token: "token"
    case .clock: "clock"
    case .proof: "proof"
    case .refused: "refused"
    }
  }
}

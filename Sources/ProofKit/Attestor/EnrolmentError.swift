// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The reason why an app could not be paired: the backend that issues measurement tokens, or a boundary
/// on the way to it. The pairs that were stored before are as they were.
public enum EnrolmentError: Error, Sendable, Hashable {
  /// The attestation service gave no measured token.
  case attestation(AttestationError)
  /// The request to the backend got no answer.
  case transport(TransportError)
  /// The backend refused: its status, and its word for it.
  case backend(status: Int, word: String)
  /// The closure of the app threw; its description.
  case issuing(String)
  /// The backend's answer is no measurement token.
  case unusableToken(ProofError)
  /// The pairs could not be read or stored.
  case store(MeasurementStoreError)
  /// The task was cancelled.
  case cancelled
}

extension EnrolmentError {
  /// Whether the backend issues no tokens for this piece of hardware, for example because it is revoked:
  /// status 403 and the word `hardware`. No other refusal says that, a proxy's 403 among them.
  public var isOfHardware: Bool { self == .backend(status: 403, word: "hardware") }
}

extension EnrolmentError: CustomStringConvertible {
  /// The failure, the value and the next step.
  public var description: String {
    switch self {
    case .attestation(let error): error.description
    case .transport(let error): "The backend gave no token: \(error)."
    case .backend(let status, let word):
      "The backend refused to issue a token (status \(status)): \(word). Ask its operator."
    case .issuing(let words): "No token was issued: \(words)"
    case .unusableToken(let error): "The backend's answer is no measurement token. \(error)"
    case .store(let error): error.description
    case .cancelled: "The enrolment was cancelled. Nothing was changed."
    }
  }
}

/// The reason why the app could not be measured for a proof, a diagnosis or its name.
public enum MeasurementError: Error, Sendable, Hashable {
  /// The kernel or the app's own files.
  case notMeasured(ProofError)
  /// The stored pairs could not be read, or there are none.
  case store(MeasurementStoreError)
  /// The task was cancelled.
  case cancelled
}

extension MeasurementError: CustomStringConvertible {
  /// The failure, the value and the next step.
  public var description: String {
    switch self {
    case .notMeasured(let error): error.description
    case .store(let error): error.description
    case .cancelled: "The measurement was cancelled."
    }
  }
}

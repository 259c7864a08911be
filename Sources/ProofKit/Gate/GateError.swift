// SPDX-License-Identifier: Apache-2.0

/// The reason why an app cannot prove a request to a gate.
public enum GateError: Error, Sendable, Hashable {
  /// ``Attestor/ready()`` was not called, and no request was sent yet.
  case notStarted
  /// The admission of the attestation service is not here yet. The error is that of the last try, if one
  /// failed.
  case notReady(AttestationError?)
  /// The attestation service's answer is final: waiting does not help.
  case attestation(AttestationError)
  /// The app could not be measured.
  case notMeasured(reason: String)
  /// The app's environment is not the one that was attested. The session attests anew.
  case environmentChanged
  /// The folder cannot be used.
  case storageUnusable(reason: String)
  /// The session was made for a text that is no host.
  case malformedHost(String)
  /// The account does not list the host for this gate, or the URL is no `https` URL. No proof was made.
  case hostNotListed(String)
  /// The method cannot be used.
  case malformedMethod(String)
  /// The request cannot be signed as it is.
  case malformedRequest(reason: String)
  /// The gate has no event of this number.
  case unknownEvent(UInt16)
  /// The name of a user account has no bytes, or more than 128.
  case malformedAccount(byteCount: Int)
  /// The gate refused the gate token twice. The session asks the service for another one.
  case tokenRefused
  /// The gate set a challenge that was not answered.
  case challenge(ChallengeError)
  /// The request got no answer.
  case transport(TransportError)
  /// The time for the request is over.
  case timedOut
  /// The request was cancelled.
  case cancelled
  /// The installation's key cannot sign the request; nil if the attestor was made without one.
  case installationKey(InstallationKeyError?)
}

extension GateError: CustomStringConvertible {
  /// The failure, its value and the next step.
  public var description: String {
    switch self {
    case .notStarted: "Nothing was prepared for gates. Call ready() first."
    case .notReady(nil): "The attestation service has not answered yet. Try again later."
    case .notReady(let error?): "There is no admission to the gate yet. \(error)"
    case .attestation(let error): "There is no admission to the gate. \(error)"
    case .notMeasured(let reason): "The app could not be measured: \(reason). Try again."
    case .environmentChanged:
      "The app's environment is not the one that was attested. The session attests anew: try again."
    case .storageUnusable(let reason):
      "The admission cannot be kept: \(reason). Name a folder that belongs to this user alone."
    case .malformedHost(let host):
      "\(host) is no host. Name the API's host, and its port unless it is 443, such as "
        + "api.example.com."
    case .hostNotListed(let host):
      "The account does not list \(host) for this gate, so no proof was made. Send the request "
        + "without a proof, or have the operator list the host."
    case .malformedMethod(let method):
      "\(method) is no HTTP method. Use one such as GET or POST."
    case .malformedRequest(let reason): "The request cannot be proved: \(reason)"
    case .unknownEvent(let number):
      "The gate has no event \(number). Use a number that the account lists."
    case .malformedAccount(let count):
      "The account's name has \(count) bytes of UTF-8; 1 to 128 are allowed."
    case .tokenRefused:
      "The gate refused the app's gate token twice. The session fetches another one: try again later."
    case .challenge(let error): error.description
    case .transport(let error): "The request got no answer: \(error)."
    case .timedOut: "The request took too long. Try again, or allow more time."
    case .cancelled: "The request was cancelled."
    case .installationKey(nil):
      "The attestor was made without an installation key. Give it one to sign requests."
    case .installationKey(let error?): "The installation's key cannot sign the request: \(error)"
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The result of a fetch.
///
/// Fetch again before each request instead of keeping a result: the SDK knows whether a token is
/// valid.
public struct FetchResult: Sendable, Hashable {
  /// The status of the fetch.
  public let status: FetchStatus
  /// The token, or the custom token; empty if there is none.
  public let token: String
  /// The secure string, if the call asked for one and it exists.
  public let secureString: String?
  /// The attestation response code (ARC), for the support of an account; empty if there is none. It
  /// may be logged: only the service can read it.
  public let arc: String
  /// The reasons why the app failed, comma-separated, if the account's policy reveals them;
  /// otherwise empty.
  public let rejectionReasons: String
  /// Whether there is a newer configuration that ``Attestor/fetchConfig()`` has not returned yet.
  public let isConfigChanged: Bool
  /// Whether the app still uses pins of a configuration that is no longer allowed. Reading
  /// ``Attestor/pins(_:)`` clears it for the fetches that follow.
  public let isForceApplyPins: Bool
  /// The configuration that a `?measurement` fetch measured, to be stored and handed to the proofs;
  /// otherwise nil.
  public let measurementConfig: MeasurementConfig?
  /// The instance that the service measured, if there is a ``measurementConfig``: the SDK's
  /// ``Attestor/instance()``. Proofs are made in its name.
  public let instance: InstanceID?
  /// The failure, in words for people; empty if there was none. Never a secret.
  public let reason: String
  /// The answer to a fetch for a gate.
  let admitted: Admitted?
  /// The keys of the installation's own strings, the active one first; empty for other fetches.
  let stringKeys: [StringKey]
  /// The cause of ``FetchStatus/noService``, as far as it is known.
  let fault: ServiceFault?
}

/// An admission to a gate, with all that an app needs to use it.
struct Admitted: Sendable, Hashable {
  let admission: GateAdmission
  /// The configuration of the gate's own line. It never replaces the one that opens locks.
  let config: MeasurementConfig
  let instance: InstanceID
  /// The name that follows from the evidence of the report. A measurement that gives another name was made in
  /// another environment.
  let handle: GateHandle
  /// The service's time when it answered, in Unix seconds; nil if it did not tell.
  let serverTime: Int64?
}

/// The defects of an answer that are all ``FetchStatus/noService``.
enum ServiceFault: Sendable, Hashable {
  /// The answer has no body.
  case empty
  /// The answer does not parse, or has a wrong tag.
  case garbled
  /// The service's configuration was refused.
  case configuration
  /// Another status than 200.
  case status
  /// The account has no such region, or no pins for a custom endpoint.
  case route
}

extension FetchResult {
  /// Copies the result with the present flags.
  func flagged(isConfigChanged: Bool, isForceApplyPins: Bool) -> FetchResult {
    FetchResult(
      status: status, token: token, secureString: secureString, arc: arc,
      rejectionReasons: rejectionReasons, isConfigChanged: isConfigChanged,
      isForceApplyPins: isForceApplyPins, measurementConfig: measurementConfig,
      instance: instance, reason: reason, admitted: admitted, stringKeys: stringKeys,
      fault: fault)
  }

  typealias Measured = (config: MeasurementConfig, instance: InstanceID)

  /// A result without flags.
  init(
    _ status: FetchStatus, token: String = "", secureString: String? = nil, arc: String = "",
    rejectionReasons: String = "", measured: Measured? = nil, reason: String = "",
    admitted: Admitted? = nil, stringKeys: [StringKey] = [], fault: ServiceFault? = nil
  ) {
    self.init(
      status: status, token: token, secureString: secureString, arc: arc,
      rejectionReasons: rejectionReasons, isConfigChanged: false, isForceApplyPins: false,
      measurementConfig: measured?.config, instance: measured?.instance, reason: reason,
      admitted: admitted, stringKeys: stringKeys, fault: fault)
  }
}

extension FetchResult: CustomStringConvertible, CustomReflectable {
  /// Status, ARC and reason; never the token or the secure string.
  public var description: String {
    var text = "fetch result: \(status)"
    if !arc.isEmpty { text += ", ARC \(arc)" }
    if !rejectionReasons.isEmpty { text += ", rejected for \(rejectionReasons)" }
    if !reason.isEmpty { text += ", \(reason)" }
    return text
  }

  /// Shows only the description.
  public var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

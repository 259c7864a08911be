// SPDX-License-Identifier: Apache-2.0

package import ProofModel

/// The result of a fetch.
///
/// Fetch again before each request instead of keeping a result: the SDK knows whether a token is
/// valid.
package struct FetchResult: Sendable, Hashable {
  /// The status of the fetch.
  package let status: FetchStatus
  /// The token, or the custom token; empty if there is none.
  package let token: String
  /// The secure string, if the call asked for one and it exists.
  package let secureString: String?
  /// The attestation response code (ARC), for the support of an account; empty if there is none. It
  /// may be logged: only the service can read it.
  package let arc: String
  /// The reasons why the app failed, comma-separated, if the account's policy reveals them;
  /// otherwise empty.
  package let rejectionReasons: String
  /// The uptime at which the token ends; nil if there is none.
  package let tokenEnd: Duration?
  /// The configuration that a `?measurement` fetch measured, to be stored and handed to the proofs;
  /// otherwise nil.
  package let measurementConfig: MeasurementConfig?
  /// The instance that the service measured, if there is a ``measurementConfig``. Proofs are made in
  /// its name.
  package let instance: InstanceID?
  /// The pairs for measurements to come that the service predicted: for the app's next build, for the
  /// system's next state, for both. Empty for other fetches.
  package let upcoming: [UpcomingPair]
  /// The failure, in words for people; empty if there was none. Never a secret.
  package let reason: String
  /// The answer to a fetch for a gate.
  let admitted: Admitted?
  /// The keys of the installation's own strings, the active one first; empty for other fetches.
  let stringKeys: [StringKey]
  /// The cause of ``FetchStatus/noService``, as far as it is known.
  package let fault: ServiceFault?
  /// The failure to measure the app, for ``FetchStatus/internalError``.
  package let measurement: ProofError?
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
  /// The service's time when it answered; nil if it did not tell.
  let serverTime: UnixTime?
}

/// The defects of an answer that are all ``FetchStatus/noService``.
package enum ServiceFault: Sendable, Hashable {
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
  typealias Measured = (config: MeasurementConfig, instance: InstanceID)

  init(
    _ status: FetchStatus, token: String = "", tokenEnd: Duration? = nil,
    secureString: String? = nil, arc: String = "", rejectionReasons: String = "",
    measured: Measured? = nil, reason: String = "", admitted: Admitted? = nil,
    stringKeys: [StringKey] = [], fault: ServiceFault? = nil, measurement: ProofError? = nil,
    upcoming: [UpcomingPair] = []
  ) {
    self.init(
      status: status, token: token, secureString: secureString, arc: arc,
      rejectionReasons: rejectionReasons, tokenEnd: tokenEnd,
      measurementConfig: measured?.config, instance: measured?.instance, upcoming: upcoming,
      reason: reason,
      admitted: admitted, stringKeys: stringKeys, fault: fault, measurement: measurement)
  }
}

extension FetchResult: CustomStringConvertible, CustomReflectable {
  /// Status, ARC and reason; never the token or the secure string.
  package var description: String {
    var text = "fetch result: \(status)"
    if !arc.isEmpty { text += ", ARC \(arc)" }
    if !rejectionReasons.isEmpty { text += ", rejected for \(rejectionReasons)" }
    if !reason.isEmpty { text += ", \(reason)" }
    return text
  }

  /// Shows only the description.
  package var customMirror: Mirror { Mirror(self, children: ["description": description]) }
}

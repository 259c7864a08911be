// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The facts that a gate token told about one app installation. Public within the backend.
public struct GateFacts: Sendable, Hashable {
  /// The name under which the gate knows the installation; another one for each gate and generation.
  public let handle: GateHandle
  /// The installation. Do not write it into a log: the handle is there for that.
  public let instance: InstanceID
  /// The generation of the gate's own line of configurations.
  public let generation: UInt32
  /// Whether the app failed its attestation. The app must not be able to tell: decide late, or log.
  public let isFailed: Bool
  /// Whether an operator decided about this device.
  public let isForced: Bool
  /// The attestation response code; nil for none.
  public let responseCode: String?
  /// Findings of the SDK about its process.
  public let findings: [GateFinding]
  /// Bit n for the property of number n.
  public let properties: UInt32
  /// The time when the service saw the installation first.
  public let firstSeen: UnixTime
  /// The first 16 bytes of the app digest; nil for none.
  public let app: [UInt8]?
  /// The time when the gate token was issued.
  public let issued: UnixTime
  /// The last second in which the gate token counts.
  public let notAfter: UnixTime

  init(_ grant: GateGrant, handle: GateHandle) {
    self.handle = handle
    instance = grant.instance
    generation = grant.secret.generation
    isFailed = grant.isFailed
    isForced = grant.isForced
    responseCode = grant.responseCode
    findings = grant.findings
    properties = grant.properties
    firstSeen = grant.firstSeen
    app = grant.app
    issued = grant.issued
    notAfter = grant.notAfter
  }
}

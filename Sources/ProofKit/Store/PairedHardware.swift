// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A piece of hardware that this app holds a token for, with the configuration to measure under.
public struct PairedHardware: Sendable, Hashable, Identifiable {
  /// The hardware.
  public let id: HardwareID
  /// This installation, in whose name commands are proved.
  public let instance: InstanceID
  /// The generation of configuration and token.
  public var generation: UInt32 { config.generation }
  /// The configuration to measure under.
  package let config: MeasurementConfig
  /// The token that the hardware can open.
  package let token: MeasurementToken
  /// The form of the token's secrets.
  package let form: TokenForm

  /// Pairs by hand, for a store of the app's own.
  ///
  /// - Parameters:
  ///   - token: The token, with its hardware and form.
  ///   - instance: The instance that the service measured.
  ///   - config: The configuration of the very measurement that the token was made from.
  public init(_ token: StoredToken, of instance: InstanceID, under config: MeasurementConfig) {
    id = token.hardware
    self.instance = instance
    self.config = config
    self.token = token.token
    form = token.form
  }
}

extension MeasurementStore {
  /// Loads the pair for a piece of hardware.
  ///
  /// - Parameter id: The hardware.
  /// - Returns: The pair.
  /// - Throws: ``MeasurementStoreError/notPaired(_:)``, and the errors of ``load()``.
  public func hardware(_ id: HardwareID) throws(MeasurementStoreError) -> PairedHardware {
    guard let stored = try load(), let token = stored.token(for: id) else { throw .notPaired(id) }
    return PairedHardware(token, of: stored.instance, under: stored.config)
  }
}

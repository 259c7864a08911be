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
  public let config: MeasurementConfig
  /// The token that the hardware can open.
  public let token: MeasurementToken
  /// The form of the token's secrets.
  public let form: TokenForm

  /// Pairs by hand, for an app with a store of its own.
  ///
  /// - Parameters:
  ///   - token: The token, as a backend issued it.
  ///   - hardware: The hardware that it was issued for.
  ///   - instance: The instance that the service measured.
  ///   - config: The configuration of the very measurement that the token was made from.
  ///   - form: The form of the token's secrets.
  /// - Throws: ``MeasurementStoreError/tokenForOther(_:)``.
  public init(
    _ token: MeasurementToken, for hardware: HardwareID, of instance: InstanceID,
    under config: MeasurementConfig, form: TokenForm = .diversified
  ) throws(MeasurementStoreError) {
    self.init(
      try StoredToken(token, for: hardware, form: form), of: instance, under: config)
  }

  /// Takes a stored pair.
  package init(_ token: StoredToken, of instance: InstanceID, under config: MeasurementConfig) {
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
  package func hardware(_ id: HardwareID) throws(MeasurementStoreError) -> PairedHardware {
    guard let stored = try load(), let token = stored.token(for: id) else { throw .notPaired(id) }
    return PairedHardware(token, of: stored.instance, under: stored.config)
  }
}

// SPDX-License-Identifier: Apache-2.0

// expect: method cannot be declared public because its result uses an internal type
internal import ProofCore

extension MeasurementConfig {
  /// A leak.
  public func leak() -> pfc_config { pfc_config() }
}

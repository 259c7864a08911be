// SPDX-License-Identifier: Apache-2.0

// expect: nothing
internal import ProofCore

extension MeasurementConfig {
  func noLeak() -> pfc_config { pfc_config() }
}

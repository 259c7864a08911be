// SPDX-License-Identifier: Apache-2.0

internal import ProofKey
public import ProofModel

extension MeasurementProofKey {
  /// The key of this build of the SDK, split up in generated code.
  ///
  /// No contiguous copy of it is stored; it exists whole only while a call of the core runs. The
  /// key in the repository is a development key, and public; `CSources/ProofKey/generate` makes
  /// another.
  public static let sdk: MeasurementProofKey = {
    let key = unsafe pfc_sdk_key
    guard let mode = unsafe Mode(rawValue: key.mode), let load = unsafe key.load else {
      preconditionFailure("The generated key of the SDK is damaged. Generate it again.")
    }
    return unsafe MeasurementProofKey(mode: mode, context: key.context, load: load)
  }()
}

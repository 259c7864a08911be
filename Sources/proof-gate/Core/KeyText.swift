// SPDX-License-Identifier: Apache-2.0

internal import ProofBackend
internal import ProofModel

extension GateVerdictKey {
  /// The key in hexadecimal, for the file that its API gets.
  var text: String {
    withBytes { unsafe $0.withUnsafeBytes { unsafe Hexadecimal.encode(Array($0)) } }
  }
}

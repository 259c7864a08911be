// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// The version of every program (`CSources/ProofCore/include/version.h`).
package enum Version {
  package static var text: String { PROOFKIT_VERSION }
}

// SPDX-License-Identifier: Apache-2.0

// expect: cannot convert value of type 'ProofNonce' to expected argument type 'Proof'
import ProofModel

func client(
  state: ProofKeyState, nonce: ProofNonce, proof: Proof, measurement: Measurement
) throws { try state.check(nonce, for: proof, of: measurement) }

// SPDX-License-Identifier: Apache-2.0

// expect: extra arguments
import ProofModel

func client(nonce: ProofNonce) -> Receipt {
  Receipt(verdict: .accepted, detail: 0, counter: 0, nonce: nonce)
}

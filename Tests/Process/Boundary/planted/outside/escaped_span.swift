// SPDX-License-Identifier: Apache-2.0

// expect: lifetime-dependent variable 'kept' escapes its scope
import ProofModel

func client(secret: borrowing SecretBytes) -> Int {
  var kept = RawSpan()
  secret.withBytes { span in kept = span }
  return kept.byteCount
}

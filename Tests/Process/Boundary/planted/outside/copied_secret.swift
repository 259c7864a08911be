// SPDX-License-Identifier: Apache-2.0

// expect: 'secret' consumed more than once
import ProofModel

func client(secret: consuming SecretBytes) {
  let first = secret
  let second = secret
  print(first.count, second.count)
}

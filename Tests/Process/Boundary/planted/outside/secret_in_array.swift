// SPDX-License-Identifier: Apache-2.0

// expect: type 'SecretBytes' does not conform to protocol 'Copyable'
import ProofModel

func client() -> [SecretBytes] { [] }

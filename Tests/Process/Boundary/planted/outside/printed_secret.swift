// SPDX-License-Identifier: Apache-2.0

// expect: 'SecretBytes' conform to 'Copyable'
import ProofModel

func client(secret: borrowing SecretBytes) { print("\(secret)") }

// SPDX-License-Identifier: Apache-2.0

// expect: binary operator '==' cannot be applied to two 'SecretBytes' operands
import ProofModel

func client(left: borrowing SecretBytes, right: borrowing SecretBytes) -> Bool { left == right }

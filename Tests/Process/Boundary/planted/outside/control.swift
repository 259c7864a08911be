// SPDX-License-Identifier: Apache-2.0

// expect: nothing
import ProofModel

func client(secret: consuming SecretBytes) -> Int { secret.withBytes { $0.byteCount } }

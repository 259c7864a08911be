// SPDX-License-Identifier: Apache-2.0

// expect: cannot find 'CoreCrypto' in scope
import ProofModel

func client() { _ = CoreCrypto.self }

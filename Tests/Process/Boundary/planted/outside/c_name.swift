// SPDX-License-Identifier: Apache-2.0

// expect: cannot find 'pfc_config' in scope
import ProofModel

func client() { _ = pfc_config() }

// SPDX-License-Identifier: Apache-2.0

// expect: is inaccessible due to 'internal' protection level
import ProofModel

func client(config: MeasurementConfig) { _ = config.core }

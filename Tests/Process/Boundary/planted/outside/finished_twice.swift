// SPDX-License-Identifier: Apache-2.0

// expect: 'fold' consumed more than once
import ProofModel

func client(fold: consuming MeasurementFold) throws -> [Measurement] {
  [try fold.finish(), try fold.finish()]
}

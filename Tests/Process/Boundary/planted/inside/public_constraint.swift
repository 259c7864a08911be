// SPDX-License-Identifier: Apache-2.0

// expect: cannot be declared public because its generic requirement uses an internal type
internal import ProofCore

/// A leak.
public func leak<Values: Sequence>(_ values: Values) where Values.Element == pfc_source {}

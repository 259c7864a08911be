// SPDX-License-Identifier: Apache-2.0

package import ProofBytes

/// The random numbers of tests. Not for secrets.
package typealias SeededGenerator = SplitMix64

extension SplitMix64 {
  /// With a seed of its own, which is printed with the name.
  package init(_ name: String) {
    let seed = UInt64.random(in: .min ... .max)
    print("\(name): seed \(seed)")
    self.init(seed: seed)
  }
}

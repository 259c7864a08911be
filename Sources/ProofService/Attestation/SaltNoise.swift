// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The numbers by which the salts of one second and device differ.
///
/// Any 65,536 numbers in a row are different: a counter in secret permutations. 64 in a row share their
/// high bits, so that marks of salts which are spent at the same time stand side by side in a store.
/// A salt tells no more of the number of challenges than whether two of them are within 64 in a row.
final class SaltNoise: Sendable {
  private static let lowBits = 6

  private let counter = Atomic<UInt16>(0)
  private let high = SaltNoise.permutation(of: 1 << (16 - SaltNoise.lowBits))
  /// One for some of the high bits, so that neighbours do not teach the order of others.
  private let low = (0..<32).map { _ in SaltNoise.permutation(of: 1 << SaltNoise.lowBits) }

  private static func permutation(of count: UInt16) -> [UInt16] {
    // The standard generator is the system's, which is made for secrets.
    Array(0..<count).shuffled()
  }

  func next() -> UInt16 {
    let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
    let high = high[Int(number >> Self.lowBits)]
    let order = low[Int(high) % low.count]
    return high << Self.lowBits | order[Int(number) % order.count]
  }
}

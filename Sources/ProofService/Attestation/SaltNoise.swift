// SPDX-License-Identifier: Apache-2.0

internal import ProofModel
internal import Synchronization

/// The numbers by which the salts of one second and device differ.
///
/// Any 65,536 numbers in a row are different: a counter goes through four rounds of a Feistel network.
/// Its tables are random, so that a salt does not tell how many challenges the service made.
final class SaltNoise: Sendable {
  private let counter = Atomic<UInt16>(0)
  private let tables = (0..<4).map { _ in RandomSource.bytes(256) }

  func next() -> UInt16 {
    let number = counter.wrappingAdd(1, ordering: .relaxed).newValue
    var left = UInt8(number >> 8)
    var right = UInt8(truncatingIfNeeded: number)
    for table in tables { (left, right) = (right, left ^ table[Int(right)]) }
    return UInt16(left) << 8 | UInt16(right)
  }
}

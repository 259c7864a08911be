// SPDX-License-Identifier: Apache-2.0

/// Checks of sums over many keys, which no key's order decides.
package enum Bounds {
  /// A call that adds something, and whether it is known to have been applied.
  package struct Added: Sendable {
    let began: Int
    /// The place of its acknowledgement; nil: unknown.
    let ended: Int?

    package init(began: Int, ended: Int?) {
      self.began = began
      self.ended = ended
    }
  }

  /// Whether a count read from `began` to `ended` is possible: at least all that was acknowledged
  /// before it began, at most all that had begun before it ended.
  package static func allows(count: Int, began: Int, ended: Int, _ added: [Added]) -> Bool {
    let known = added.filter { $0.ended.map { $0 < began } ?? false }.count
    let possible = added.filter { $0.began < ended }.count
    return (known...possible).contains(count)
  }

  /// Whether blocks of numbers overlap nowhere. Gaps are allowed.
  package static func areDisjoint(_ blocks: [Range<Int>]) -> Bool {
    let sorted = blocks.filter { !$0.isEmpty }.sorted { $0.lowerBound < $1.lowerBound }
    return zip(sorted, sorted.dropFirst()).allSatisfy { $0.upperBound <= $1.lowerBound }
  }
}

// SPDX-License-Identifier: Apache-2.0

extension ReplayJournal {
  /// The slots by their keys, in the memory of this process: chains of slots.
  struct SlotIndex {
    private static let none = UInt32.max

    private var heads: [UInt32] = []
    private var nexts: [UInt32] = []
    /// The bucket of each slot that is in a chain.
    private var buckets: [UInt32] = []
    private var isChained: [Bool] = []

    /// Keys come from clients, so the hash has a secret of this process.
    func bucket(of entry: Entry) -> UInt32 {
      var hasher = Hasher()
      hasher.combine(entry.one)
      hasher.combine(entry.two)
      hasher.combine(entry.three)
      return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    func first(in bucket: UInt32) -> Int? { Self.slot(heads[place(bucket)]) }

    func next(after slot: Int) -> Int? { Self.slot(nexts[slot]) }

    mutating func put(_ slot: Int, in bucket: UInt32) {
      remove(slot)
      let place = place(bucket)
      nexts[slot] = heads[place]
      heads[place] = UInt32(slot)
      buckets[slot] = bucket
      isChained[slot] = true
    }

    private mutating func remove(_ slot: Int) {
      guard isChained[slot] else { return }
      isChained[slot] = false
      let place = place(buckets[slot])
      if heads[place] == UInt32(slot) {
        heads[place] = nexts[slot]
        return
      }
      var other = Int(heads[place])
      while nexts[other] != UInt32(slot) { other = Int(nexts[other]) }
      nexts[other] = nexts[slot]
    }

    mutating func grow(to slots: Int) {
      let more = slots - nexts.count
      guard more > 0 else { return }
      nexts += [UInt32](repeating: Self.none, count: more)
      buckets += [UInt32](repeating: 0, count: more)
      isChained += [Bool](repeating: false, count: more)
      guard slots > heads.count else { return }
      var size = max(64, heads.count)
      while size < slots { size *= 2 }
      heads = [UInt32](repeating: Self.none, count: size)
      for slot in isChained.indices where isChained[slot] {
        let place = place(buckets[slot])
        nexts[slot] = heads[place]
        heads[place] = UInt32(slot)
      }
    }

    private func place(_ bucket: UInt32) -> Int { Int(bucket) & (heads.count - 1) }

    private static func slot(_ number: UInt32) -> Int? { number == none ? nil : Int(number) }
  }
}

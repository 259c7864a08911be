// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A C structure that holds secrets while it is being worked on.
///
/// Its block is guarded memory, as for every secret. It is wiped when the work ends, and reused by
/// the next work of that size. A new block costs ten system calls that stop every thread of the
/// process, too many for a service that would need one for each hash.
struct CoreWork<Value: BitwiseCopyable>: ~Copyable, Sendable {
  private let block: WorkBlock

  init() { block = WorkBlocks.shared.take(count: MemoryLayout<Value>.stride) }

  deinit { WorkBlocks.shared.giveBack(block) }

  mutating func withMutablePointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeMutablePointer<Value>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe block.withMutablePointer { pointer throws(E) in
      try unsafe body(pointer.bindMemory(to: Value.self, capacity: 1))
    }
  }
}

/// A block that outlives the work that uses it.
///
/// `@unchecked Sendable` because it has one holder at a time: a work, or the cache.
private final class WorkBlock: @unchecked Sendable {
  let count: Int
  private let block: SecretBlock

  init(count: Int) {
    self.count = count
    block = SecretBlock(count: count)
  }

  func withMutablePointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeMutableRawPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe block.withSharedPointer(body)
  }

  func wipe() { unsafe block.withSharedPointer { unsafe pfc_wipe($0, count) } }
}

/// The cache of wiped blocks.
private final class WorkBlocks: Sendable {
  static let shared = WorkBlocks()

  /// More than the works that run at once on a machine of many processors; some hundred KiB in all.
  static let countMax = 64

  private let waiting = CoreLock<[WorkBlock]>([])

  /// A block of zeros.
  func take(count: Int) -> WorkBlock {
    let found = waiting.withLock { waiting in
      waiting.lastIndex { $0.count == count }.map { waiting.remove(at: $0) }
    }
    return found ?? WorkBlock(count: count)
  }

  func giveBack(_ block: WorkBlock) {
    block.wipe()
    // Evict the block that waited longest, so that sizes no longer in use leave the cache.
    let surplus: WorkBlock? = waiting.withLock { waiting in
      waiting.append(block)
      return waiting.count > Self.countMax ? waiting.removeFirst() : nil
    }
    _ = consume surplus
  }
}

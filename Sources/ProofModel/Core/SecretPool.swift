// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Room for many secrets of one size in few guarded blocks.
///
/// A block of its own for each secret costs three memory mappings, and Linux allows a process 65,530 of them: a verifier
/// with the keys of 100,000 installations would not start. A slab holds some hundred secrets between two guard pages. A
/// secret is wiped, and its room used again, when its owner goes.
package final class SecretPool: Sendable {
  /// The bytes of one slab.
  static let slabByteCount = 1 << 16

  private let slotByteCount: Int
  private let state = CoreLock(State())

  private struct State {
    var slabs: [SecretSlab] = []
    /// Free rooms: slab and offset.
    var free: [(slab: SecretSlab, offset: Int)] = []
  }

  /// Room for the keys of requests, or for the keys of events.
  package enum Use: Sendable {
    /// The keys of one installation's requests.
    case requests
    /// The keys of one installation's events for one audience.
    case events
  }

  /// Makes an empty pool.
  package init(for use: Use) {
    slotByteCount =
      switch use {
      case .requests: MemoryLayout<pfc_gate_keys>.stride
      case .events: MemoryLayout<pfc_compact_keys>.stride
      }
  }

  /// How many slabs were made; none is given back before the pool goes.
  package var slabCount: Int { state.withLock { $0.slabs.count } }

  /// A room, filled by the core.
  func slot(filledBy fill: (UnsafeMutableRawPointer) -> Void) -> SecretSlot {
    let count = slotByteCount
    let room = state.withLock { state in
      if state.free.isEmpty {
        let slab = SecretSlab(byteCount: Self.slabByteCount)
        state.slabs.append(slab)
        for index in (0..<Self.slabByteCount / count).reversed() {
          state.free.append((slab, index * count))
        }
      }
      return state.free.removeLast()
    }
    let slot = SecretSlot(pool: self, slab: room.slab, offset: room.offset, byteCount: count)
    unsafe room.slab.withMutablePointer(at: room.offset, fill)
    return slot
  }

  fileprivate func giveBack(_ slab: SecretSlab, _ offset: Int) {
    unsafe slab.withMutablePointer(at: offset) { unsafe pfc_wipe($0, slotByteCount) }
    state.withLock { $0.free.append((slab, offset)) }
  }
}

/// One guarded block with many rooms. The block never moves, so its rooms have fixed addresses.
///
/// `@unchecked Sendable` because the pool gives each room to one slot at a time, and a slot writes it before anything
/// else can read it.
@safe
private final class SecretSlab: @unchecked Sendable {
  private let block: SecretBlock
  private let base: UnsafeMutableRawPointer

  init(byteCount: Int) {
    var block = SecretBlock(count: byteCount)
    unsafe base = unsafe block.withMutablePointer { unsafe $0 }
    self.block = block
  }

  func withMutablePointer(at offset: Int, _ body: (UnsafeMutableRawPointer) -> Void) {
    unsafe body(base + offset)
  }

  func withPointer<R: ~Copyable, E: Error>(
    at offset: Int, _ body: (UnsafeRawPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe body(UnsafeRawPointer(base + offset))
  }
}

/// The room of one secret, which it gives back when it goes.
final class SecretSlot: Sendable {
  private let pool: SecretPool
  private let slab: SecretSlab
  private let offset: Int
  let byteCount: Int

  fileprivate init(pool: SecretPool, slab: SecretSlab, offset: Int, byteCount: Int) {
    self.pool = pool
    self.slab = slab
    self.offset = offset
    self.byteCount = byteCount
  }

  deinit { pool.giveBack(slab, offset) }

  func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe slab.withPointer(at: offset, body)
  }
}

/// A C structure of secrets: in a block of its own, or in the room of a pool.
enum CoreHolder<Value: BitwiseCopyable>: Sendable {
  case own(CoreSecret<Value>)
  case pooled(SecretSlot)

  init(in pool: SecretPool?, filledBy fill: (UnsafeMutablePointer<Value>) -> Void) {
    if let pool {
      self = .pooled(
        unsafe pool.slot { pointer in
          unsafe fill(pointer.bindMemory(to: Value.self, capacity: 1))
        })
    } else {
      self = .own(unsafe CoreSecret(filledBy: fill))
    }
  }

  func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<Value>) throws(E) -> R
  ) throws(E) -> R {
    switch self {
    case .own(let secret): try unsafe secret.withPointer(body)
    case .pooled(let slot):
      try unsafe slot.withPointer { pointer throws(E) in
        try unsafe body(pointer.assumingMemoryBound(to: Value.self))
      }
    }
  }
}

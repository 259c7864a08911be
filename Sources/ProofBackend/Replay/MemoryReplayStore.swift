// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A replay store in the memory of one process: for one verifier on one node.
///
/// It begins empty, so a verifier that starts with it accepts nothing that an earlier process may have accepted. It
/// takes about 100 bytes for each proof of the last 3 minutes, and about 600 bytes for each device that redeemed an event
/// in the last two days.
public final class MemoryReplayStore: RedemptionStore {
  private struct State {
    var highest: UnixTime = 0
    var used: Set<ReplayKey> = []
    var judgements: [ReplayKey: [UInt8]] = [:]
    /// Keys by the interval in which they expire.
    var ends: [UInt64: Ends] = [:]
    /// The first interval that may have an entry in `ends`.
    var first: UInt64 = 0
    var counts = MemoryCounts()

    var count: Int { used.count + judgements.count + counts.count }
  }

  private struct Ends {
    var used: [ReplayKey] = []
    var judgements: [ReplayKey] = []
  }

  /// Entries are forgotten by intervals of so many seconds.
  private static let interval: UInt64 = 16
  private let state = CoreLock(State())
  private let capacity: Int

  /// True: its memory is this process's.
  public var isOfOneProcess: Bool { true }

  /// Makes an empty store.
  ///
  /// - Parameter capacity: How many proofs, judgements, counted devices and counted accounts it holds.
  public init(capacity: Int = 1_000_000) { self.capacity = capacity }

  /// Nothing is known from before.
  public func begin(at now: UnixTime) -> ReplayMemory {
    let highest = state.withLock { $0.highest }
    return ReplayMemory(highest: highest, gap: max(now, highest))
  }

  /// Inserts a key unless it is there.
  public func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool {
    let result: Result<Bool, ReplayStoreFailure> = state.withLock { state in
      Self.advance(&state, to: now)
      guard !state.used.contains(key) else { return .success(false) }
      guard state.count < capacity else {
        return .failure(.full(entries: capacity))
      }
      state.used.insert(key)
      state.ends[expiry.unsigned / Self.interval, default: Ends()].used.append(key)
      return .success(true)
    }
    return try result.get()
  }

  /// The judgement that was recorded under a name.
  public func judgement(under name: ReplayKey) -> [UInt8]? {
    state.withLock { $0.judgements[name] }
  }

  /// Records a judgement and uses a proof.
  public func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    let result: Result<ReplayRecording, ReplayStoreFailure> = state.withLock { state in
      Self.advance(&state, to: now)
      if let known = state.judgements[record.name] { return .success(.known(known)) }
      if let key, state.used.contains(key) { return .success(.used) }
      guard state.count + 1 < capacity else {
        return .failure(.full(entries: capacity))
      }
      if let key {
        state.used.insert(key)
        state.ends[expiry.unsigned / Self.interval, default: Ends()].used.append(key)
      }
      state.judgements[record.name] = record.bytes
      state.ends[record.expiry.unsigned / Self.interval, default: Ends()].judgements.append(
        record.name)
      return .success(.recorded)
    }
    return try result.get()
  }

  /// Uses a token, counts it and records its judgement.
  public func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd {
    let result: Result<RedemptionEnd, ReplayStoreFailure> = state.withLock { state in
      Self.advance(&state, to: now)
      if let name = redemption.name, let known = state.judgements[name] {
        return .success(.known(known))
      }
      guard !state.used.contains(redemption.key) else { return .success(.used) }
      // Four entries: the token, the judgement, the device and the account.
      guard state.count + 3 < capacity else { return .failure(.full(entries: capacity)) }
      state.used.insert(redemption.key)
      state.ends[redemption.expiry.unsigned / Self.interval, default: Ends()].used.append(
        redemption.key)
      let counts = state.counts.add(
        device: redemption.device, account: redemption.account, at: state.highest)
      let bytes = judged(counts)
      if let name = redemption.name {
        state.judgements[name] = bytes
        state.ends[redemption.kept.unsigned / Self.interval, default: Ends()].judgements.append(
          name)
      }
      return .success(.redeemed(counts))
    }
    return try result.get()
  }

  /// Forgets which devices an account was seen with.
  @discardableResult
  public func forget(account: ReplayKey) -> Int {
    state.withLock { $0.counts.forget(account) }
  }

  /// Takes a time, and forgets the intervals that have passed by the highest time.
  private static func advance(_ state: inout State, to now: UnixTime) {
    guard now > state.highest else { return }
    state.highest = now
    let current = now.unsigned / interval
    guard current > state.first else { return }
    state.first = current
    for end in state.ends.keys where end < current {
      guard let ends = state.ends.removeValue(forKey: end) else { continue }
      for key in ends.used { state.used.remove(key) }
      for name in ends.judgements { state.judgements[name] = nil }
    }
  }
}

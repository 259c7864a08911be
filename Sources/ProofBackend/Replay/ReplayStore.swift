// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// Remembers proofs that were used, so that none counts twice.
///
/// All verifiers of one gate or one audience share a store. `ReplayStoreTests` in `Tests/Unit/ProofBackendTests` has the
/// properties that every implementation must show.
///
/// A store forgets an entry only when the highest time that it was ever given is past the entry's `expiry`. It refuses
/// an insertion for which it has no room; it never makes room by forgetting.
public protocol ReplayStore: Sendable {
  /// Whether only one process can use it. No other process of the gate is then alive; false unless a store says so.
  var isOfOneProcess: Bool { get }

  /// Says what the store knows from before. A verifier calls it once, when it starts.
  ///
  /// - Parameter now: The time by the verifier's clock.
  /// - Returns: The highest time, and the moment up to which something may be missing.
  /// - Throws: ``ReplayStoreFailure``.
  func begin(at now: UnixTime) throws(ReplayStoreFailure) -> ReplayMemory

  /// Inserts a key unless it is there, in one step.
  ///
  /// - Parameters:
  ///   - key: The name under which a proof is used once.
  ///   - expiry: The last second in which any verifier may accept the proof.
  ///   - now: The highest time that the verifier has seen.
  /// - Returns: Whether the key is new.
  /// - Throws: ``ReplayStoreFailure``; the key counts as unknown then.
  func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool
}

extension ReplayStore {
  /// False: several processes may share the store.
  public var isOfOneProcess: Bool { false }
}

/// The part of a store that outlived the last verifier.
public struct ReplayMemory: Sendable, Hashable {
  /// The highest time that the store was given; 0 for none.
  public var highest: UnixTime
  /// The second up to which the store may lack proofs that were used; `nil` if it lacks none.
  ///
  /// A store that is empty, was restored from a backup or cannot tell lacks proofs up to the moment of its start. A
  /// store in a file keeps this number for later starts.
  public var gap: UnixTime?

  /// Describes a store's memory.
  public init(highest: UnixTime, gap: UnixTime?) {
    self.highest = highest
    self.gap = gap
  }
}

/// A judgement that a repeated question gets again.
public struct ReplayRecord: Sendable, Hashable {
  /// How many bytes a judgement may have.
  public static let byteCountMax = 1_024

  /// The name: a digest of the redeemer's idempotency key.
  public var name: ReplayKey
  /// The judgement.
  public var bytes: [UInt8]
  /// The last second in which it is kept.
  public var expiry: UnixTime

  /// Describes a judgement.
  public init(name: ReplayKey, bytes: [UInt8], expiry: UnixTime) {
    self.name = name
    self.bytes = bytes
    self.expiry = expiry
  }
}

/// The end of a recording.
public enum ReplayRecording: Sendable, Hashable {
  /// The judgement was recorded, and the key was new.
  case recorded
  /// A judgement stands under the name already; the key was not looked at.
  case known([UInt8])
  /// The key was used before; nothing was recorded.
  case used
}

/// The reason why a store did not answer. A verifier then refuses events and requests that change
/// something.
public enum ReplayStoreFailure: Error, Sendable, Hashable {
  /// The store has no room.
  case full(entries: Int)
  /// The store cannot be read or written.
  case unavailable(place: String, reason: String)
  /// The file is no replay store, is damaged, or is of a newer version.
  case foreign(place: String, reason: String)
  /// The file of a new store exists already.
  case exists(place: String)
}

extension ReplayStoreFailure: CustomStringConvertible {
  /// The failure and the next step.
  public var description: String {
    switch self {
    case .full(let entries):
      "The replay store is full: \(entries) proofs wait for their end. Give it more room, or find out who sends so "
        + "many."
    case .unavailable(let place, let reason):
      "The replay store \(place) cannot be used: \(reason). Check the disk and the rights of this user."
    case .foreign(let place, let reason):
      "\(place) is not a replay store that this program can use: \(reason). Move it away; the verifier then begins "
        + "with an empty one."
    case .exists(let place):
      "\(place) exists already. A new gate's replay store is made once: open this one."
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A replay store in a file that is mapped into memory: for the verifiers of one machine. It survives the end of a
/// process, and a use waits for no disk.
///
/// A killed process forgets nothing. A power cut may take any of the uses back. The store then says that it is not
/// complete, because the machine was started anew, as it does when its file is damaged, was replaced by a backup, or was
/// silent for longer than the window.
///
/// Several processes may share the file. The file grows with the uses of the last minutes, 40 bytes for each, and does
/// not shrink. Keep it on a local disk.
public final class JournalReplayStore: ReplayStore {
  private let journal: CoreLock<ReplayJournal>
  /// The highest time when the file was opened.
  private let highest: UnixTime
  private let isUntouched: Bool
  /// The number of the machine's start.
  private let boot: UInt64
  private let systemTime: @Sendable () -> UInt64

  /// Opens a store, or makes one. Takes over the used proofs of a ``SQLiteReplayStore`` in the same place.
  ///
  /// - Parameter path: Its file. Only this user may read it.
  /// - Throws: ``ReplayStoreFailure``.
  public convenience init(at path: String) throws(ReplayStoreFailure) {
    try self.init(at: path, boot: ReplayFile.bootID, systemTime: { ReplayFile.systemTime })
  }

  /// Makes the store of a gate that has judged nothing yet, once: the verifiers that open it within 60 s miss nothing,
  /// and go on at once.
  ///
  /// The caller vouches that no verifier has judged proofs for this gate and these keys before. A store that was lost
  /// is replaced with ``init(at:)``, which waits until earlier proofs have ended.
  ///
  /// - Parameter path: The file. It must not exist.
  /// - Throws: ``ReplayStoreFailure``; ``ReplayStoreFailure/exists(place:)`` for a file that exists.
  public convenience init(provisioning path: String) throws(ReplayStoreFailure) {
    try self.init(
      provisioning: path, boot: ReplayFile.bootID, systemTime: { ReplayFile.systemTime })
  }

  init(
    provisioning path: String, boot: [UInt8], systemTime: @escaping @Sendable () -> UInt64
  ) throws(ReplayStoreFailure) {
    let now = systemTime()
    let boot = Self.number(of: boot)
    let journal = try ReplayJournal(path: path, mustBeNew: true)
    try journal.changeDurably { state in
      (state.highest, state.written, state.boot) = (now, now, boot)
    }
    highest = UnixTime(clamping: now)
    isUntouched = true
    self.boot = boot
    self.systemTime = systemTime
    self.journal = CoreLock(journal)
  }

  init(
    at path: String, boot: [UInt8], shape: ReplayJournal.Shape = ReplayJournal.Shape(),
    systemTime: @escaping @Sendable () -> UInt64
  ) throws(ReplayStoreFailure) {
    if ReplayFile.isThere(at: path) {
      try Self.takeOver(path, boot: boot, shape: shape, systemTime: systemTime)
    }
    let changed = ReplayFile.lastChange(of: path)
    let boot = Self.number(of: boot)
    let journal = try ReplayJournal(path: path, shape: shape)
    let found = try journal.current()
    highest = UnixTime(clamping: found.highest)
    isUntouched =
      found.boot == boot && found.written > 0
      && changed <= found.written + ReplayFile.strangeSeconds
    self.boot = boot
    self.systemTime = systemTime
    self.journal = CoreLock(journal)
  }

  deinit {
    // Unmapping changes nothing. The next start compares the file's time with this one.
    let written = systemTime()
    journal.withLock { journal in try? journal.change { $0.written = written } }
  }

  /// Says up to when the file may lack something that was used. The file keeps this for the next start, which may come
  /// while earlier proofs are still valid.
  public func begin(at now: UnixTime) throws(ReplayStoreFailure) -> ReplayMemory {
    let isComplete = isUntouched && now <= highest + SQLiteReplayStore.silenceMax
    let written = systemTime()
    let gap = try locked { (journal) throws(ReplayStoreFailure) in
      // Both in one step: a later start of the same machine finds its number only with the gap.
      try journal.changeDurably { state in
        if !isComplete { state.gap = max(state.gap, now.unsigned, highest.unsigned) }
        (state.boot, state.written) = (boot, written)
      }
      return try journal.current().gap
    }
    return ReplayMemory(highest: highest, gap: gap == 0 ? nil : UnixTime(clamping: gap))
  }

  /// Inserts a key unless it is there.
  public func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool {
    let time = systemTime()
    return try locked { (journal) throws(ReplayStoreFailure) in
      try journal.insert(key, expiry.unsigned, at: now.unsigned, systemTime: time)
    }
  }

  private func locked<R: Sendable>(
    _ body: (ReplayJournal) throws(ReplayStoreFailure) -> R
  ) throws(ReplayStoreFailure) -> R {
    try journal.withLock { (journal) throws(ReplayStoreFailure) in try body(journal) }
  }

  /// The number of a start of the machine; not that of a new file.
  private static func number(of boot: [UInt8]) -> UInt64 {
    let digest = Digest(hashing: boot)
    return digest.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } | 1
  }

  // MARK: The store of earlier versions

  /// Replaces a SQLite file by a journal with its used proofs. The file is the one or the other, however this ends.
  private static func takeOver(
    _ path: String, boot: [UInt8], shape: ReplayJournal.Shape, systemTime: () -> UInt64
  ) throws(ReplayStoreFailure) {
    let changed = ReplayFile.lastChange(of: path)
    let old = try ReplayFile(path: path)
    let isUntouched = try old.isUntouched(boot, changed: changed)
    try old.holdAlone()
    guard try !old.hasRedemptions else {
      throw .foreign(
        place: path,
        reason: "it has events that were redeemed: name it as the store of events, and another"
          + " file here")
    }
    let (highest, gap) = (try old.number(.highest), try old.number(.gap))
    let used = try old.used
    let fresh = path + ".new"
    ReplayFile.remove(fresh)
    do {
      let journal = try ReplayJournal(path: fresh, shape: shape, mustBeNew: true)
      let written = systemTime()
      for (key, expiry) in used {
        _ = try journal.insert(key, expiry, at: highest, systemTime: written)
      }
      // The store that opens a file without the machine's number finds it incomplete.
      let boot = isUntouched ? number(of: boot) : 0
      try journal.changeDurably { state in
        (state.highest, state.written, state.boot) = (highest, written, boot)
        state.gap = gap
      }
    } catch {
      ReplayFile.remove(fresh)
      throw error
    }
    try ReplayFile.rename(fresh, to: path)
  }
}

public import ProofModel

/// A replay store in one SQLite file: for the verifiers of one machine. It survives the end of a process.
///
/// A transaction is in the kernel's hands before ``insert(_:until:at:)`` answers, so a killed process forgets nothing.
/// A power cut may take the last ones back. The store then says that it is not complete, because the machine was
/// started anew, as it does when its file was replaced by a backup or when it was silent for longer than the window.
public final class SQLiteReplayStore: ReplayStore {
  /// A start later than this many seconds after the last entry is not complete: a volume may have been rolled back.
  static let silenceMax: UInt64 = 60
  /// A file that was changed this many seconds after the store wrote it was changed by something else.
  static let strangeSeconds: UInt64 = 5

  private let file: CoreLock<ReplayFile>
  /// The highest time when the file was opened.
  private let highest: UInt64
  private let isUntouched: Bool
  private let systemTime: @Sendable () -> UInt64

  /// Opens a store, or makes one.
  ///
  /// - Parameter path: Its file. Only this user may read it; companions `-wal` and `-shm` stand beside it.
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
    let file = try ReplayFile(path: path, mustBeNew: true)
    try file.note(boot: boot, written: now)
    try file.transaction(at: now, systemTime) { _ in }
    highest = now
    isUntouched = true
    self.systemTime = systemTime
    self.file = CoreLock(file)
  }

  init(
    at path: String, boot: [UInt8], systemTime: @escaping @Sendable () -> UInt64
  ) throws(ReplayStoreFailure) {
    let changed = ReplayFile.lastChange(of: path)
    let file = try ReplayFile(path: path)
    let written = try file.number(.written)
    highest = try file.number(.highest)
    isUntouched = try file.isBoot(boot) && written > 0 && changed <= written + Self.strangeSeconds
    try file.note(boot: boot, written: systemTime())
    self.systemTime = systemTime
    self.file = CoreLock(file)
  }

  deinit {
    // Closing moves the log into the file, which changes it: the next start must not take that for a backup.
    let written = systemTime()
    file.withLock { file in try? file.note(boot: nil, written: written) }
  }

  /// Says up to when the file may lack something that was used. The file keeps this for the next start, which may come
  /// while earlier proofs are still valid.
  public func begin(at now: UInt64) throws(ReplayStoreFailure) -> ReplayMemory {
    let isComplete = isUntouched && now <= highest + Self.silenceMax
    let gap = try locked { (file) throws(ReplayStoreFailure) in
      if !isComplete { try file.noteGap(until: max(now, highest)) }
      return try file.number(.gap)
    }
    return ReplayMemory(highest: highest, gap: gap == 0 ? nil : gap)
  }

  /// Inserts a key unless it is there.
  public func insert(
    _ key: ReplayKey, until expiry: UInt64, at now: UInt64
  ) throws(ReplayStoreFailure) -> Bool {
    try locked { (file) throws(ReplayStoreFailure) in
      try file.transaction(at: now, systemTime) { (file) throws(ReplayStoreFailure) in
        try file.insert(key, expiry)
      }
    }
  }

  /// The judgement that was recorded under a name.
  public func judgement(under name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]? {
    try locked { (file) throws(ReplayStoreFailure) in try file.judgement(name) }
  }

  /// Records a judgement and uses a proof.
  public func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UInt64, at now: UInt64
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    try locked { (file) throws(ReplayStoreFailure) in
      try file.transaction(at: now, systemTime) { (file) throws(ReplayStoreFailure) in
        if let known = try file.judgement(record.name) { return .known(known) }
        if let key, try !file.insert(key, expiry) { return .used }
        try file.keep(record)
        return .recorded
      }
    }
  }

  private func locked<R: Sendable>(
    _ body: (ReplayFile) throws(ReplayStoreFailure) -> R
  ) throws(ReplayStoreFailure) -> R {
    let result: Result<R, ReplayStoreFailure> = file.withLock { file in
      do throws(ReplayStoreFailure) { return .success(try body(file)) } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

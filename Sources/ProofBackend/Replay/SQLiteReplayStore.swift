// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// A replay store in one SQLite file: for the verifiers of one machine. It survives the end of a process.
///
/// A killed process forgets nothing. What ``redeem(_:at:_:)`` and ``record(_:using:until:at:)`` did is on the medium
/// when they answer, so a power cut takes back no redemption, count or judgement. A power cut may take the last
/// insertions of ``insert(_:until:at:)`` back. The store then says that it is not complete, because the machine was
/// started anew, as it does when its file was replaced by a backup or when it was silent for longer than the window.
public final class SQLiteReplayStore: RedemptionStore {
  /// A start later than this many seconds after the last entry is not complete: a volume may have been rolled back.
  static let silenceMax: UInt64 = 60

  private let file: CoreLock<ReplayFile>
  /// The audience, in a file that has several; nil for a file of its own.
  private let scope: [UInt8]?
  /// The highest time when the file was opened.
  private let highest: UnixTime
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

  /// Opens the part of one audience in a database of another program of ours: tables of their own, which are made if
  /// they are missing.
  ///
  /// Each start after other writes to the database counts as incomplete: earlier tokens are refused until their window
  /// has passed.
  package convenience init(
    inside path: String, of applicationID: Int64, for audience: AudienceID
  ) throws(ReplayStoreFailure) {
    try self.init(
      at: path, in: .guest(applicationID), for: audience, boot: ReplayFile.bootID,
      systemTime: { ReplayFile.systemTime })
  }

  init(
    provisioning path: String, boot: [UInt8], systemTime: @escaping @Sendable () -> UInt64
  ) throws(ReplayStoreFailure) {
    let now = systemTime()
    let file = try ReplayFile(path: path, mustBeNew: true)
    try file.note(boot: boot, written: now)
    try file.transaction(at: UnixTime(clamping: now), systemTime) { _ in }
    highest = UnixTime(clamping: now)
    isUntouched = true
    scope = nil
    self.systemTime = systemTime
    self.file = CoreLock(file)
  }

  init(
    at path: String, in form: ReplayFile.Form = .own, for audience: AudienceID? = nil,
    boot: [UInt8], systemTime: @escaping @Sendable () -> UInt64
  ) throws(ReplayStoreFailure) {
    scope = audience?.bytes
    let changed = ReplayFile.lastChange(of: path)
    let file = try ReplayFile(path: path, in: form)
    highest = UnixTime(clamping: try file.number(.highest))
    isUntouched = try file.isUntouched(boot, changed: changed)
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
  public func begin(at now: UnixTime) throws(ReplayStoreFailure) -> ReplayMemory {
    let isComplete = isUntouched && now <= highest + Self.silenceMax
    let gap = try locked { (file) throws(ReplayStoreFailure) in
      if !isComplete { try file.noteGap(until: max(now, highest)) }
      return try file.number(.gap)
    }
    return ReplayMemory(highest: highest, gap: gap == 0 ? nil : UnixTime(clamping: gap))
  }

  /// Inserts a key unless it is there.
  public func insert(
    _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> Bool {
    try locked { (file) throws(ReplayStoreFailure) in
      try file.transaction(at: now, systemTime) { (file) throws(ReplayStoreFailure) in
        try file.insert(scoped(key), expiry)
      }
    }
  }

  /// The judgement that was recorded under a name.
  public func judgement(under name: ReplayKey) throws(ReplayStoreFailure) -> [UInt8]? {
    try locked { (file) throws(ReplayStoreFailure) in try file.judgement(scoped(name)) }
  }

  /// Records a judgement and uses a proof. Both survive a power cut then.
  public func record(
    _ record: ReplayRecord, using key: ReplayKey?, until expiry: UnixTime, at now: UnixTime
  ) throws(ReplayStoreFailure) -> ReplayRecording {
    var record = record
    record.name = scoped(record.name)
    let (scopedRecord, key) = (record, key.map(scoped))
    return try locked { (file) throws(ReplayStoreFailure) in
      try file.transaction(at: now, mustLast: true, systemTime) {
        (file) throws(ReplayStoreFailure) in
        if let known = try file.judgement(scopedRecord.name) { return .known(known) }
        if let key, try !file.insert(key, expiry) { return .used }
        try file.keep(scopedRecord)
        return .recorded
      }
    }
  }

  /// Uses a token, counts it and records its judgement. All of it survives a power cut then.
  public func redeem(
    _ redemption: Redemption, at now: UnixTime, _ judged: (EventCounts) -> [UInt8]
  ) throws(ReplayStoreFailure) -> RedemptionEnd {
    let redemption = scoped(redemption)
    return try locked { (file) throws(ReplayStoreFailure) in
      try file.transaction(at: now, mustLast: true, systemTime) {
        (file) throws(ReplayStoreFailure) in
        if let name = redemption.name, let known = try file.judgement(name) { return .known(known) }
        guard try file.insert(redemption.key, redemption.expiry) else { return .used }
        let counts = try file.count(redemption)
        let bytes = judged(counts)
        if let name = redemption.name {
          try file.keep(ReplayRecord(name: name, bytes: bytes, expiry: redemption.kept))
        }
        return .redeemed(counts)
      }
    }
  }

  /// Forgets which devices an account was seen with.
  @discardableResult
  public func forget(account: ReplayKey) throws(ReplayStoreFailure) -> Int {
    let account = scoped(account)
    return try locked { (file) throws(ReplayStoreFailure) in try file.forget(account) }
  }

  // MARK: Scope

  /// The name of a key in the file. In a file of several audiences each has names of its own.
  private func scoped(_ key: ReplayKey) -> ReplayKey {
    guard let scope else { return key }
    let digest = Digest(hashing: scope + key.bytes)
    guard let name = try? ReplayKey(Array(digest.bytes.prefix(ReplayKey.byteCount))) else {
      preconditionFailure("A replay key has 24 bytes.")
    }
    return name
  }

  private func scoped(_ redemption: Redemption) -> Redemption {
    var scoped = redemption
    scoped.key = self.scoped(redemption.key)
    scoped.device = self.scoped(redemption.device)
    scoped.account = redemption.account.map(self.scoped)
    scoped.name = redemption.name.map(self.scoped)
    return scoped
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

// SPDX-License-Identifier: Apache-2.0

package import DurableFiles
public import ProofModel

/// A ledger in a file that grows by 64 bytes with each token. Several processes may share it, such
/// as a running backend and a tool that signs an order.
///
/// The records have one order. A process reads and appends under the folder's lock, which it holds
/// for this one step. It reads every earlier record before it appends, so each step obeys all notes
/// of other processes. When a process is killed, the kernel gives its lock to the next one, which
/// finds at most the state that a power cut leaves.
///
/// Before a token is handed out, its record is on the medium, and so is a second file with the
/// number of records. So at most one record is not counted: the one that a power cut interrupted,
/// whose token was not handed out. It is kept if it is whole, and cut off otherwise. A counted
/// record that is missing or was changed is damage, wherever it stands. A rollback of both files to
/// an earlier state is not detected.
public final class IssueLedgerFile: IssueLedger {
  static let fileName = "issued"
  static let recordByteCount = 64
  static let countName = "issued.count"
  static let label = Array("pfb2.ledger.....".utf8)
  /// The label of ledgers that were begun before the count existed.
  static let uncountedLabel = Array("pfb1.ledger.....".utf8)
  static let countLabel = Array("pfb2.ledgercount".utf8)
  private static let byteCountMax = 1 << 30

  private enum Event: UInt8 {
    case issued = 1
    case revoked = 2
  }

  private struct State {
    var histories: [IssuePair: IssueHistory] = [:]
    /// The hardware that got a token of suite two.
    var sealedWithSecret: Set<HardwareID> = []
    /// The number of records that are counted.
    var count = 0
    /// The latest time of a record.
    var latest: UnixTime?
    /// The last record that was read.
    var last: ArraySlice<UInt8> = []
  }

  /// The longest wait for another process's step, in milliseconds.
  private static let waitMax = 10_000

  private let folder: DurableFolder
  /// The lock's file; nil for a folder with one user.
  private let lockPath: String?
  private let state: CoreLock<State>

  /// Opens the ledger of a folder.
  ///
  /// - Parameter path: The folder, made if it is not there.
  /// - Throws: ``BackendError/inUse(path:processID:)``, ``BackendError/storage(path:reason:)``,
  ///   ``BackendError/damaged(path:reason:)``.
  public convenience init(folder path: String) throws(BackendError) {
    let access: LiveFolder
    do throws(FileFailure) { access = try LiveFolder(path) } catch {
      throw .storage(path: path, reason: error.description)
    }
    try self.init(access, lockPath: path + "/lock")
  }

  /// Makes a ledger in a test's own folder.
  package init(_ access: any FolderAccess, lockPath: String? = nil) throws(BackendError) {
    folder = DurableFolder(access)
    self.lockPath = lockPath
    state = CoreLock(State())
    // Read the files now, so that damage is found before anything is issued.
    try step { _ throws(BackendError) in }
  }

  /// The latest time of a record.
  public func latestTime() throws(BackendError) -> UnixTime? {
    var latest: UnixTime?
    try step { state throws(BackendError) in latest = state.latest }
    return latest
  }

  /// Notes that a token of a generation will be issued; returns when that is on the medium.
  public func noteIssue(
    of generation: UInt32, base: UInt32, to pair: IssuePair, by suite: TokenSuite, at time: UnixTime
  ) throws(BackendError) {
    guard let offset = UInt16(exactly: Int64(generation) - Int64(base)) else {
      throw .superseded(issued: base, offered: generation)
    }
    try step { state throws(BackendError) in
      try (state.histories[pair] ?? IssueHistory()).checkIssue(of: generation, to: pair)
      guard suite == .two || !state.sealedWithSecret.contains(pair.hardware) else {
        throw .downgraded(pair.hardware)
      }
      try append(.issued, suite, pair, generation, time, &state, offset: offset)
    }
  }

  /// Notes that tokens up to a generation will be revoked; returns when that is on the medium.
  public func noteRevocation(
    through generation: UInt32, of pair: IssuePair, at time: UnixTime
  ) throws(BackendError) {
    try step { state throws(BackendError) in
      try append(.revoked, .one, pair, generation, time, &state)
    }
  }

  /// All notes, in the order of pairs.
  package func notes() throws(BackendError) -> [IssueNote] {
    var notes: [IssueNote] = []
    try step { state throws(BackendError) in
      notes = state.histories.map { pair, history in
        IssueNote(
          pair: pair, issued: history.issued, revokedThrough: history.revokedThrough,
          isSealedWithSecret: state.sealedWithSecret.contains(pair.hardware))
      }
    }
    return notes.sorted { one, other in
      let (one, other) = (one.pair, other.pair)
      return (one.instance.bytes + one.hardware.bytes)
        .lexicographicallyPrecedes(other.instance.bytes + other.hardware.bytes)
    }
  }

  private func append(
    _ event: Event, _ suite: TokenSuite, _ pair: IssuePair, _ generation: UInt32, _ time: UnixTime,
    _ state: inout State, offset: UInt16 = 0
  ) throws(BackendError) {
    let record = Self.record(event, suite, offset, pair, generation, time)
    do throws(FileFailure) {
      // Open it each time: another process may have replaced the file to cut off a torn record.
      let file = try folder.access.openAtEnd(Self.fileName)
      do throws(FileFailure) {
        if state.count == 0 { try folder.access.synchronizeFolder() }
        try folder.append(record, to: file)
      } catch {
        folder.access.close(file)
        throw error
      }
      folder.access.close(file)
    } catch {
      throw Self.failed(folder, error)
    }
    try Self.write(count: state.count + 1, in: folder)
    state.count += 1
    state.last = record[...]
    Self.apply(record[...], to: &state)
  }

  /// Does one step under the folder's lock, after reading all records.
  private func step(_ body: (inout State) throws(BackendError) -> Void) throws(BackendError) {
    let result = state.withLock { state -> Result<Void, BackendError> in
      do throws(BackendError) {
        let lock = try takeLock()
        return try withExtendedLifetime(lock) { () throws(BackendError) in
          try Self.catchUp(&state, in: folder)
          return .success(try body(&state))
        }
      } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private func takeLock() throws(BackendError) -> FolderLock? {
    guard let lockPath else { return nil }
    do throws(FolderLock.Refusal) {
      return try FolderLock(lockPath, waiting: Self.waitMax)
    } catch {
      switch error {
      case .held(let processID): throw .inUse(path: folder.access.path, processID: processID)
      case .failed(let failure):
        throw .storage(path: folder.access.path, reason: failure.description)
      }
    }
  }

  /// Reads the new records and counts all of them. Cuts off the rest of an unfinished record.
  private static func catchUp(
    _ state: inout State, in folder: DurableFolder
  ) throws(BackendError) {
    let known = state.count
    // Read from the last known record on: if it is missing or differs, this is another file.
    let start = max(0, known - 1) * recordByteCount
    let bytes: [UInt8]
    do throws(FileFailure) {
      bytes = try folder.access.read(fileName, from: start, limit: byteCountMax) ?? []
    } catch {
      throw failed(folder, error)
    }
    guard bytes.starts(with: state.last) else {
      throw damaged(folder, "record \(known) is not the one that was read before")
    }
    var records = stride(from: state.last.count, to: bytes.count, by: recordByteCount).map {
      bytes[$0..<min($0 + recordByteCount, bytes.count)]
    }
    let noted = try count(in: folder)
    // An old ledger has no count yet, so it is not known whether its last record is torn.
    let isUncounted = noted == nil && known == 0 && !records.contains { isIntact($0, label) }
    guard let count = noted ?? (isUncounted ? max(0, records.count - 1) : nil) else {
      throw damaged(folder, "\(countName) is missing: restore both files from one backup")
    }
    let present = known + records.count
    guard count >= known, present >= count, present <= count + 1 else {
      throw damaged(folder, "there are \(present) records, and \(count) were counted")
    }
    if let bad = records.prefix(count - known).firstIndex(where: { !isIntact($0) }) {
      throw damaged(folder, "record \(known + bad + 1) of \(count) was changed")
    }
    if present > count, !isIntact(records[count - known]) {
      records.removeLast()
      try cutOff(after: count, in: folder)
    }
    // Write the count before the first record that it must cover.
    if noted != known + records.count { try write(count: known + records.count, in: folder) }
    for record in records { apply(record, to: &state) }
    state.count = known + records.count
    if let last = records.last { state.last = ArraySlice(Array(last)) }
  }

  /// Cuts the file off after this many whole records.
  private static func cutOff(after count: Int, in folder: DurableFolder) throws(BackendError) {
    let bytes: [UInt8]
    do throws(FileFailure) {
      bytes = try folder.read(fileName, limit: byteCountMax) ?? []
    } catch {
      throw failed(folder, error)
    }
    try replace(fileName, with: Array(bytes.prefix(count * recordByteCount)), in: folder)
  }

  /// The stored number of records; nil if there is none.
  private static func count(in folder: DurableFolder) throws(BackendError) -> Int? {
    let bytes: [UInt8]?
    do throws(FileFailure) { bytes = try folder.read(countName, limit: 24) } catch {
      throw failed(folder, error)
    }
    guard let bytes else { return nil }
    guard bytes.count == 24, check(of: bytes[..<8], countLabel).elementsEqual(bytes[8...]) else {
      throw damaged(folder, "\(countName) was changed")
    }
    return Int(littleEndianBytes: bytes[..<8])
  }

  private static func write(count: Int, in folder: DurableFolder) throws(BackendError) {
    let bytes = count.littleEndianBytes
    try replace(countName, with: bytes + check(of: bytes[...], countLabel), in: folder)
  }

  private static func replace(
    _ name: String, with bytes: [UInt8], in folder: DurableFolder
  ) throws(BackendError) {
    do throws(DurableFolder.Failure) {
      try folder.replace(name, with: bytes)
    } catch {
      switch error {
      case .unchanged(let failure), .notDurable(let failure): throw failed(folder, failure)
      }
    }
  }

  private static func damaged(_ folder: DurableFolder, _ reason: String) -> BackendError {
    .damaged(path: "\(folder.access.path)/\(fileName)", reason: reason)
  }

  private static func failed(_ folder: DurableFolder, _ failure: FileFailure) -> BackendError {
    .storage(path: folder.access.path, reason: failure.description)
  }

  private static func apply(_ record: ArraySlice<UInt8>, to state: inout State) {
    let bytes = Array(record)
    guard let instance = try? InstanceID(Array(bytes[..<16])),
      let hardware = try? HardwareID(Array(bytes[16..<32])), let event = Event(rawValue: bytes[32])
    else { preconditionFailure("A record under a right check was made by this type.") }
    let generation = UInt32(littleEndianBytes: bytes[36..<40])
    let time = UnixTime(clamping: UInt64(littleEndianBytes: bytes[40..<48]))
    state.latest = max(state.latest ?? 0, time)
    let pair = IssuePair(instance, at: hardware)
    var history = state.histories[pair] ?? IssueHistory()
    if bytes[33] == TokenSuite.two.rawValue { state.sealedWithSecret.insert(hardware) }
    switch event {
    case .issued:
      let offset = UInt32(UInt16(littleEndianBytes: bytes[34..<36]))
      history.issued = max(history.issued, generation - min(generation, offset))
    case .revoked: history.revokedThrough = max(history.revokedThrough, generation)
    }
    state.histories[pair] = history
  }

  private static func record(
    _ event: Event, _ suite: TokenSuite, _ offset: UInt16, _ pair: IssuePair,
    _ generation: UInt32, _ time: UnixTime
  ) -> [UInt8] {
    // Records of earlier versions have 0 where suite one and a present pair have 0.
    let suite = suite == .two ? suite.rawValue : 0
    var record = pair.instance.bytes + pair.hardware.bytes + [event.rawValue, suite]
    record += offset.littleEndianBytes
    record += generation.littleEndianBytes + time.unsigned.littleEndianBytes
    return record + check(of: record[...], label)
  }

  private static func check(of bytes: ArraySlice<UInt8>, _ label: [UInt8]) -> [UInt8] {
    Array(Digest(hashing: label + bytes).bytes.prefix(16))
  }

  private static func isIntact(_ record: ArraySlice<UInt8>) -> Bool {
    isIntact(record, label) || isIntact(record, uncountedLabel)
  }

  private static func isIntact(_ record: ArraySlice<UInt8>, _ label: [UInt8]) -> Bool {
    let start = record.startIndex
    return record.count == recordByteCount
      && check(of: record.dropLast(16), label).elementsEqual(record.suffix(16))
      && Event(rawValue: record[start + 32]) != nil
      && [0, TokenSuite.two.rawValue].contains(record[start + 33])
      && !record[start..<start + 16].allSatisfy { $0 == 0 }
      && !record[start + 16..<start + 32].allSatisfy { $0 == 0 }
  }
}

extension IssueLedgerFile: IssueNotes {}

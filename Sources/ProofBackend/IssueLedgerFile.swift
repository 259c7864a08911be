package import DurableFiles
import ProofModel

/// A ledger in a file that grows by 64 bytes with each token: for one backend process.
///
/// A record is on the medium, and a second file says how many there are, before the token of it is handed
/// out. So at most one record is not counted: the one that a power cut interrupted, whose token nobody got.
/// It is kept if it is whole, and cut off otherwise. A counted record that is missing or was changed is
/// damage, wherever it stands. Both files brought back to an earlier state cannot be told from that state.
public final class IssueLedgerFile: IssueLedger {
  static let fileName = "issued"
  static let recordByteCount = 64
  static let countName = "issued.count"
  static let label = Array("pfb2.ledger.....".utf8)
  /// Records of ledgers that were begun before there was a count.
  static let uncountedLabel = Array("pfb1.ledger.....".utf8)
  static let countLabel = Array("pfb2.ledgercount".utf8)
  private static let byteCountMax = 1 << 30

  private enum Event: UInt8 {
    case issued = 1
    case revoked = 2
  }

  private struct State {
    var histories: [IssuePair: IssueHistory] = [:]
    /// How many records are counted.
    var count = 0
    /// The latest time of a record.
    var latest: UInt64?
    /// Nil at first, and after a failed write, whose remains the next one must cut off.
    var file: OpenFile?
  }

  private let folder: DurableFolder
  private let lock: FolderLock?
  private let state: CoreLock<State>

  /// Opens the ledger of a folder.
  ///
  /// - Parameter path: The folder, made if it is not there.
  /// - Throws: ``BackendError/inUse(path:processID:)``, ``BackendError/storage(path:reason:)``,
  ///   ``BackendError/damaged(path:reason:)``.
  public convenience init(folder path: String) throws(BackendError) {
    let access: LiveFolder
    let lock: FolderLock
    do throws(FileFailure) { access = try LiveFolder(path) } catch {
      throw .storage(path: path, reason: error.description)
    }
    do throws(FolderLock.Refusal) { lock = try FolderLock(path + "/lock") } catch {
      switch error {
      case .held(let processID): throw .inUse(path: path, processID: processID)
      case .failed(let failure): throw .storage(path: path, reason: failure.description)
      }
    }
    try self.init(access, lock: lock)
  }

  /// For tests that bring their own folder.
  package init(_ access: any FolderAccess, lock: FolderLock? = nil) throws(BackendError) {
    folder = DurableFolder(access)
    self.lock = lock
    var state = State()
    try Self.load(&state, from: folder)
    self.state = CoreLock(state)
  }

  deinit {
    if let file = state.withLock({ $0.file }) { folder.access.close(file) }
  }

  /// The latest time of a record.
  public func latestTime() -> UInt64? { state.withLock { $0.latest } }

  /// Notes that a token of a generation will be issued; returns when that is on the medium.
  public func noteIssue(
    of generation: UInt32, to pair: IssuePair, at time: UInt64
  ) throws(BackendError) {
    try change { state throws(BackendError) in
      try (state.histories[pair] ?? IssueHistory()).checkIssue(of: generation, to: pair)
      try append(.issued, pair, generation, time, &state)
    }
  }

  /// Notes that tokens up to a generation will be revoked; returns when that is on the medium.
  public func noteRevocation(
    through generation: UInt32, of pair: IssuePair, at time: UInt64
  ) throws(BackendError) {
    try change { state throws(BackendError) in
      try append(.revoked, pair, generation, time, &state)
    }
  }

  private func append(
    _ event: Event, _ pair: IssuePair, _ generation: UInt32, _ time: UInt64, _ state: inout State
  ) throws(BackendError) {
    let record = Self.record(event, pair, generation, time)
    let file: OpenFile
    if let open = state.file { file = open } else { file = try open(&state) }
    state.file = nil
    do throws(BackendError) {
      do throws(FileFailure) { try folder.append(record, to: file) } catch {
        throw Self.failed(folder, error)
      }
      try Self.write(count: state.count + 1, in: folder)
    } catch {
      folder.access.close(file)
      throw error
    }
    state.file = file
    state.count += 1
    Self.apply(record[...], to: &state)
  }

  /// Opens the file at the end of its last good record, and knows what stands in it.
  private func open(_ state: inout State) throws(BackendError) -> OpenFile {
    try Self.load(&state, from: folder)
    do throws(FileFailure) {
      let file = try folder.access.openAtEnd(Self.fileName)
      do throws(FileFailure) {
        try folder.access.synchronizeFolder()
      } catch {
        folder.access.close(file)
        throw error
      }
      return file
    } catch {
      throw Self.failed(folder, error)
    }
  }

  private func change(
    _ body: (inout State) throws(BackendError) -> Void
  ) throws(BackendError) {
    let result = state.withLock { state -> Result<Void, BackendError> in
      do throws(BackendError) { return .success(try body(&state)) } catch {
        return .failure(error)
      }
    }
    try result.get()
  }

  private static func load(
    _ state: inout State, from folder: DurableFolder
  ) throws(BackendError) {
    let records = try countedRecords(in: folder)
    state.histories = [:]
    state.latest = nil
    state.count = records.count
    for record in records { apply(record, to: &state) }
  }

  /// The records, all of them counted from now on; what is left of one that was not finished is cut off.
  private static func countedRecords(
    in folder: DurableFolder
  ) throws(BackendError) -> [ArraySlice<UInt8>] {
    let bytes: [UInt8]
    do throws(FileFailure) {
      bytes = try folder.read(fileName, limit: byteCountMax) ?? []
    } catch {
      throw failed(folder, error)
    }
    var records = stride(from: 0, to: bytes.count, by: recordByteCount).map {
      bytes[$0..<min($0 + recordByteCount, bytes.count)]
    }
    let noted = try count(in: folder)
    // A ledger of before has no count yet. Its last record may be torn, and nothing says whether it is.
    let isUncounted = noted == nil && !records.contains { isIntact($0, label) }
    guard let count = noted ?? (isUncounted ? max(0, records.count - 1) : nil) else {
      throw damaged(folder, "\(countName) is missing: restore both files from one backup")
    }
    guard records.count >= count, records.count <= count + 1 else {
      throw damaged(folder, "there are \(records.count) records, and \(count) were counted")
    }
    if let bad = records.prefix(count).firstIndex(where: { !isIntact($0) }) {
      throw damaged(folder, "record \(bad + 1) of \(count) was changed")
    }
    if records.count > count, !isIntact(records[count]) {
      records.removeLast()
      try replace(fileName, with: Array(records.joined()), in: folder)
    }
    // Before the first record that a count must cover.
    if noted != records.count { try write(count: records.count, in: folder) }
    return records
  }

  /// How many records were counted; nil if there is no count.
  private static func count(in folder: DurableFolder) throws(BackendError) -> Int? {
    let bytes: [UInt8]?
    do throws(FileFailure) { bytes = try folder.read(countName, limit: 24) } catch {
      throw failed(folder, error)
    }
    guard let bytes else { return nil }
    guard bytes.count == 24, check(of: bytes[..<8], countLabel).elementsEqual(bytes[8...]) else {
      throw damaged(folder, "\(countName) was changed")
    }
    return (0..<8).reduce(0) { $0 | Int(bytes[$1]) << (8 * $1) }
  }

  private static func write(count: Int, in folder: DurableFolder) throws(BackendError) {
    let bytes = (0..<8).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
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
    let generation = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[36 + $1]) << (8 * UInt32($1)) }
    let time = (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[40 + $1]) << (8 * UInt64($1)) }
    state.latest = max(state.latest ?? 0, time)
    let pair = IssuePair(instance, at: hardware)
    var history = state.histories[pair] ?? IssueHistory()
    switch event {
    case .issued: history.issued = max(history.issued, generation)
    case .revoked: history.revokedThrough = max(history.revokedThrough, generation)
    }
    state.histories[pair] = history
  }

  private static func record(
    _ event: Event, _ pair: IssuePair, _ generation: UInt32, _ time: UInt64
  ) -> [UInt8] {
    var record = pair.instance.bytes + pair.hardware.bytes + [event.rawValue, 0, 0, 0]
    record += (0..<4).map { UInt8(truncatingIfNeeded: generation >> (8 * UInt32($0))) }
    record += (0..<8).map { UInt8(truncatingIfNeeded: time >> (8 * UInt64($0))) }
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
      && !record[start..<start + 16].allSatisfy { $0 == 0 }
      && !record[start + 16..<start + 32].allSatisfy { $0 == 0 }
  }
}

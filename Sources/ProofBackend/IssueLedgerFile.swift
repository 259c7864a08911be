package import DurableFiles
import ProofModel

/// A ledger in a file that grows by 64 bytes with each token: for one backend process.
///
/// A record is on the medium before the token of it is handed out. What a power cut leaves of the last
/// record belongs to a token that nobody got, and is cut off; damage anywhere else is an error.
public final class IssueLedgerFile: IssueLedger {
  static let fileName = "issued"
  static let recordByteCount = 64
  static let label = Array("pfb1.ledger.....".utf8)
  private static let byteCountMax = 1 << 30

  private enum Event: UInt8 {
    case issued = 1
    case revoked = 2
  }

  private struct State {
    var histories: [IssuePair: IssueHistory] = [:]
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
    for record in try Self.wholeRecords(in: folder) { Self.apply(record, to: &state) }
    self.state = CoreLock(state)
  }

  deinit {
    if let file = state.withLock({ $0.file }) { folder.access.close(file) }
  }

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
    if let open = state.file { file = open } else { file = try open() }
    state.file = nil
    do throws(FileFailure) {
      try folder.append(record, to: file)
    } catch {
      folder.access.close(file)
      throw Self.failed(folder, error)
    }
    state.file = file
    Self.apply(record[...], to: &state)
  }

  /// Opens the file at the end of its last good record.
  private func open() throws(BackendError) -> OpenFile {
    _ = try Self.wholeRecords(in: folder)
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

  /// The good records; what is left of one that was not finished is cut off.
  private static func wholeRecords(
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
    guard let last = records.last else { return [] }
    let isTorn = last.count < recordByteCount || !isIntact(last)
    if isTorn { records.removeLast() }
    if let bad = records.firstIndex(where: { !isIntact($0) }) {
      throw .damaged(
        path: "\(folder.access.path)/\(fileName)",
        reason: "record \(bad + 1) of \(records.count) was changed")
    }
    guard isTorn else { return records }
    do throws(DurableFolder.Failure) {
      try folder.replace(fileName, with: Array(records.joined()))
    } catch {
      switch error {
      case .unchanged(let failure), .notDurable(let failure): throw failed(folder, failure)
      }
    }
    return records
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
    return record + check(of: record[...])
  }

  private static func check(of record: ArraySlice<UInt8>) -> [UInt8] {
    Array(Digest(hashing: label + record).bytes.prefix(16))
  }

  private static func isIntact(_ record: ArraySlice<UInt8>) -> Bool {
    let start = record.startIndex
    return check(of: record.dropLast(16)).elementsEqual(record.suffix(16))
      && Event(rawValue: record[start + 32]) != nil
      && !record[start..<start + 16].allSatisfy { $0 == 0 }
      && !record[start + 16..<start + 32].allSatisfy { $0 == 0 }
  }
}

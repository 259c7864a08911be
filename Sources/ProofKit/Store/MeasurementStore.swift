// SPDX-License-Identifier: Apache-2.0

package import DurableFiles
package import ProofModel

/// Keeps the measurement configuration and the measurement tokens across restarts, as one pair.
///
/// - A power cut at any moment leaves the old pair or the new one.
/// - A pair never goes back to an older generation, in whatever order answers arrive.
/// - A damaged file is reported once and kept under another name, never deleted.
/// - A folder has one store at a time, in this process and in all others.
///
/// The default folder is in the user's folder for *state* (XDG_STATE_HOME, `~/.local/state`). A
/// measurement belongs to this installation on this device, so it is neither configuration nor data
/// to carry to another machine. It is no cache either, because clearing it loses the measurement.
/// It is marked for backup programs to leave out.
package final class MeasurementStore: Sendable {
  /// The name of the file in the folder.
  static let fileName = "measurement"

  private enum Held {
    case unread
    case read(StoredMeasurement?)
  }

  private let folder: DurableFolder
  private let lock: FolderLock?
  private let held = CoreLock<Held>(.unread)

  /// Opens the store of a folder.
  ///
  /// - Parameter path: The folder, made if it is not there.
  /// - Throws: ``MeasurementStoreError/unusable(path:reason:)``,
  ///   ``MeasurementStoreError/inUse(path:processID:)``.
  package convenience init(folder path: String) throws(MeasurementStoreError) {
    let access: LiveFolder
    let lock: FolderLock
    do throws(FileFailure) {
      access = try LiveFolder(path)
    } catch {
      throw .unusable(path: path, reason: error.description)
    }
    do throws(FolderLock.Refusal) {
      lock = try FolderLock(path + "/lock")
    } catch {
      switch error {
      case .held(let processID): throw .inUse(path: path, processID: processID)
      case .failed(let failure): throw .unusable(path: path, reason: failure.description)
      }
    }
    BackupExclusion.mark(access)
    self.init(access, lock: lock)
  }

  /// Makes a store with a test's own folder.
  package init(_ access: any FolderAccess, lock: FolderLock? = nil) {
    folder = DurableFolder(access)
    self.lock = lock
  }

  /// The folder of an app's store, which backups leave out.
  ///
  /// - Parameter app: The app's name, as a folder's.
  /// - Returns: A path.
  /// - Throws: ``MeasurementStoreError/noPlace``.
  package static func defaultFolder(for app: String) throws(MeasurementStoreError) -> String {
    guard let state = BackupExclusion.stateFolder else { throw .noPlace }
    return "\(state)/\(app)/measurement"
  }

  /// Loads the stored pair.
  ///
  /// - Returns: The pair, or nil if there is none.
  /// - Throws: ``MeasurementStoreError/damaged(keptAs:byteCount:)`` once,
  ///   ``MeasurementStoreError/tooNew(version:)``,
  ///   ``MeasurementStoreError/failed(path:reason:)``.
  package func load() throws(MeasurementStoreError) -> StoredMeasurement? {
    try withHeld { held throws(MeasurementStoreError) in try read(&held) }
  }

  /// Stores a new pair in the place of an older one.
  ///
  /// - Parameter new: A pair of a newer generation; the very same pair may be stored again.
  /// - Throws: ``MeasurementStoreError/superseded(stored:offered:)``,
  ///   ``MeasurementStoreError/otherInstance(stored:offered:)``,
  ///   ``MeasurementStoreError/notDurable(path:reason:)``, and the errors of ``load()``.
  package func save(_ new: StoredMeasurement) throws(MeasurementStoreError) {
    try withHeld { held throws(MeasurementStoreError) in
      if let stored = try read(&held), stored != new {
        guard stored.instance == new.instance else {
          throw .otherInstance(stored: stored.instance, offered: new.instance)
        }
        guard new.generation > stored.generation else {
          throw .superseded(stored: stored.generation, offered: new.generation)
        }
      }
      try write(new, &held)
    }
  }

  /// Adds a token to the stored pair, in the place of an older one for the same hardware.
  ///
  /// - Parameters:
  ///   - token: The token that a backend made from the stored generation's measurement.
  ///   - generation: That generation.
  /// - Throws: ``MeasurementStoreError/empty``,
  ///   ``MeasurementStoreError/superseded(stored:offered:)`` if another generation is stored by
  ///   now, and the errors of ``save(_:)``.
  package func add(_ token: StoredToken, generation: UInt32) throws(MeasurementStoreError) {
    try withHeld { held throws(MeasurementStoreError) in
      guard let stored = try read(&held) else { throw .empty }
      guard stored.generation == generation else {
        throw .superseded(stored: stored.generation, offered: generation)
      }
      try write(try stored.adding(token), &held)
    }
  }

  /// Removes a hardware's token, if there is one.
  ///
  /// - Parameter hardware: The hardware.
  /// - Throws: The errors of ``save(_:)``.
  package func removeToken(for hardware: HardwareID) throws(MeasurementStoreError) {
    try withHeld { held throws(MeasurementStoreError) in
      guard let stored = try read(&held), stored.token(for: hardware) != nil else { return }
      try write(stored.removing(hardware), &held)
    }
  }

  /// Erases the store, whatever its generation, for an app that was installed again.
  ///
  /// - Throws: ``MeasurementStoreError/failed(path:reason:)``,
  ///   ``MeasurementStoreError/notDurable(path:reason:)``.
  package func erase() throws(MeasurementStoreError) {
    try eraseUpcoming()
    try withHeld { held throws(MeasurementStoreError) in
      do throws(DurableFolder.Failure) {
        try folder.remove(Self.fileName)
        held = .read(nil)
      } catch {
        try fail(error, &held, then: nil)
      }
    }
  }

  private func read(_ held: inout Held) throws(MeasurementStoreError) -> StoredMeasurement? {
    if case .read(let stored) = held { return stored }
    let bytes: [UInt8]?
    do throws(FileFailure) {
      bytes = try folder.read(Self.fileName, limit: StoredMeasurement.Layout.byteCountMax)
    } catch {
      throw failed(error)
    }
    do throws(StoredMeasurement.Damage) {
      let stored = try bytes.map { bytes throws(StoredMeasurement.Damage) in
        try StoredMeasurement(parsing: bytes)
      }
      held = .read(stored)
      return stored
    } catch {
      if case .tooNew(let version) = error { throw .tooNew(version: version) }
    }
    let aside: String
    do throws(FileFailure) {
      aside = try folder.setAside(Self.fileName)
    } catch {
      throw failed(error)
    }
    held = .read(nil)
    throw .damaged(keptAs: aside, byteCount: bytes?.count ?? 0)
  }

  private func write(
    _ new: StoredMeasurement, _ held: inout Held
  ) throws(MeasurementStoreError) {
    do throws(DurableFolder.Failure) {
      try folder.replace(Self.fileName, with: new.bytes)
      held = .read(new)
    } catch {
      try fail(error, &held, then: new)
    }
  }

  /// Sets the held state to the folder's content after a failure, for the next call.
  private func fail(
    _ failure: DurableFolder.Failure, _ held: inout Held, then new: StoredMeasurement?
  ) throws(MeasurementStoreError) {
    switch failure {
    case .unchanged(let failure):
      held = .unread
      throw failed(failure)
    case .notDurable(let failure):
      held = .read(new)
      throw .notDurable(path: folder.access.path, reason: failure.description)
    }
  }

  /// The bytes of another file of the folder; nil if it is not there.
  func file(_ name: String) throws(MeasurementStoreError) -> [UInt8]? {
    do throws(FileFailure) {
      return try folder.read(name, limit: StoredMeasurement.Layout.byteCountMax)
    } catch {
      throw failed(error)
    }
  }

  /// Replaces another file of the folder, or removes it.
  func replace(_ name: String, with bytes: [UInt8]?) throws(MeasurementStoreError) {
    if bytes == nil, try file(name) == nil { return }
    do throws(DurableFolder.Failure) {
      if let bytes { try folder.replace(name, with: bytes) } else { try folder.remove(name) }
    } catch {
      switch error {
      case .unchanged(let failure): throw failed(failure)
      case .notDurable(let failure):
        throw .notDurable(path: folder.access.path, reason: failure.description)
      }
    }
  }

  private func failed(_ failure: FileFailure) -> MeasurementStoreError {
    .failed(path: folder.access.path, reason: failure.description)
  }

  private func withHeld<Value: Sendable>(
    _ body: (inout Held) throws(MeasurementStoreError) -> Value
  ) throws(MeasurementStoreError) -> Value {
    let result = held.withLock { held -> Result<Value, MeasurementStoreError> in
      do throws(MeasurementStoreError) {
        return .success(try body(&held))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }
}

// SPDX-License-Identifier: Apache-2.0

package import DurableFiles
package import ProofModel

/// Keeps the strings that an app defines in a folder, sealed, across restarts and updates.
///
/// Each account has a file of its own, open to this user alone. A power cut at any moment leaves the
/// strings of before a change or those after it. Several processes may use the same folder: one
/// changes it at a time. The key is not in the folder: the service gives it to an app that passes.
package struct SecureStringStore: Sendable {
  private let folder: @Sendable () throws(FileFailure) -> DurableFolder
  private let lock: @Sendable () throws(FolderLock.Refusal) -> FolderLock?

  /// The longest wait for another process that changes the strings.
  private static let waitMilliseconds = 2_000

  /// Describes a store. The folder is used at the first call.
  ///
  /// - Parameter path: The folder, made if it is missing. Other users must not be able to write in
  ///   it.
  package init(folder path: String) {
    folder = { () throws(FileFailure) in DurableFolder(try LiveFolder(path)) }
    lock = { () throws(FolderLock.Refusal) in
      try FolderLock(path + "/strings.lock", waiting: Self.waitMilliseconds)
    }
  }

  /// Makes a store with a test's own folder.
  package init(_ access: any FolderAccess) {
    folder = { () throws(FileFailure) in DurableFolder(access) }
    lock = { () throws(FolderLock.Refusal) in nil }
  }

  /// Removes all strings of an account from the device, whatever their state.
  ///
  /// - Parameter account: The account's name.
  /// - Throws: ``SecureStringError/storageUnusable(reason:)``, ``SecureStringError/notDurable(reason:)``.
  package func erase(_ account: String) throws(SecureStringError) {
    try locked { folder throws(SecureStringError) in
      try Self.changing { () throws(DurableFolder.Failure) in
        try folder.remove(Self.fileName(of: account))
      }
    }
  }

  /// The file of an account: named by a digest, so that no two share one.
  package static func fileName(of account: String) -> String {
    "strings-" + Digest(hashing: Array(account.utf8)).description.prefix(16)
  }

  // MARK: With the keys that the service gave, the active one first

  /// Opens a string. Strings that the key before the active one sealed are sealed anew.
  package func string(
    named name: String, of account: String, with keys: [StringKey]
  ) throws(SecureStringError) -> SecretBytes {
    let file = try read(account)
    for key in keys {
      let place = StringFile.Place(key: key.id, name: key.place(of: name))
      guard let record = file[place] else { continue }
      guard let opened = key.open(record.sealed, at: place.name) else {
        throw .stringDamaged(name: name)
      }
      if file.records.contains(where: { Self.isEarlier($0, keys) }) {
        // Ignore a failure: the string is read, and the next call tries again.
        try? change(account, with: keys) { _ in }
      }
      return opened.taken()
    }
    throw .notThere(name: name)
  }

  /// Defines a string, or replaces it.
  package func define(
    _ name: String, as value: borrowing SecretBytes, of account: String, with keys: [StringKey]
  ) throws(SecureStringError) {
    guard let key = keys.first else { preconditionFailure("The service gives at least one key.") }
    let place = StringFile.Place(key: key.id, name: key.place(of: name))
    let record = StringFile.Record(place: place, sealed: key.seal(value, named: name))
    try change(account, with: keys) { file throws(SecureStringError) in try file.set(record) }
  }

  /// Removes a string; removing none is no error.
  package func remove(
    _ name: String, of account: String, with keys: [StringKey]
  ) throws(SecureStringError) {
    try change(account, with: keys) { file in
      for key in keys { file.remove(.init(key: key.id, name: key.place(of: name))) }
    }
  }

  private static func isEarlier(_ record: StringFile.Record, _ keys: [StringKey]) -> Bool {
    keys.dropFirst().contains { $0.id == record.place.key }
  }

  // MARK: The file

  /// Reads what is stored. A damaged file gets another name, once.
  private func read(_ account: String) throws(SecureStringError) -> StringFile {
    let bytes = try Self.reading { () throws(FileFailure) -> [UInt8]? in
      try Self.stored(in: folder(), account)
    }
    guard let bytes else { return StringFile() }
    do throws(StringFile.Damage) {
      return try StringFile(parsing: bytes)
    } catch {
      // Another process may have replaced it meanwhile, so judge it again under the lock.
      var file = StringFile()
      try locked { folder throws(SecureStringError) in file = try Self.judged(folder, account) }
      return file
    }
  }

  /// Changes what is stored, and seals anew what the keys before the active one sealed.
  private func change(
    _ account: String, with keys: [StringKey],
    _ body: (inout StringFile) throws(SecureStringError) -> Void
  ) throws(SecureStringError) {
    try locked { folder throws(SecureStringError) in
      let before = try Self.judged(folder, account)
      var file = before
      for key in keys.dropFirst() { file.reseal(from: key, to: keys[0]) }
      try body(&file)
      guard file != before else { return }
      try Self.changing { () throws(DurableFolder.Failure) in
        try folder.replace(Self.fileName(of: account), with: file.bytes)
      }
    }
  }

  /// Reads what is stored, and sets a damaged file aside. The caller has the lock.
  private static func judged(
    _ folder: DurableFolder, _ account: String
  ) throws(SecureStringError) -> StringFile {
    let bytes = try reading { () throws(FileFailure) -> [UInt8]? in try stored(in: folder, account)
    }
    guard let bytes else { return StringFile() }
    do throws(StringFile.Damage) {
      return try StringFile(parsing: bytes)
    } catch {
      if case .tooNew(let version) = error { throw .tooNew(version: version) }
    }
    let aside = try reading { () throws(FileFailure) -> String in
      try folder.setAside(fileName(of: account))
    }
    throw .damaged(keptAs: aside, byteCount: bytes.count)
  }

  private static func stored(
    in folder: DurableFolder, _ account: String
  ) throws(FileFailure) -> [UInt8]? {
    try folder.read(fileName(of: account), limit: StringFile.Layout.byteCountMax)
  }

  /// Runs a body that changes the folder, while no other process does.
  private func locked(
    _ body: (DurableFolder) throws(SecureStringError) -> Void
  ) throws(SecureStringError) {
    let folder = try Self.reading { () throws(FileFailure) -> DurableFolder in try self.folder() }
    let lock: FolderLock?
    do throws(FolderLock.Refusal) {
      lock = try self.lock()
    } catch {
      switch error {
      case .held(let process):
        throw .storageUnusable(
          reason: "\(process.map { "process \($0)" } ?? "another process") keeps them locked")
      case .failed(let failure): throw .storageUnusable(reason: failure.description)
      }
    }
    try withExtendedLifetime(lock) { () throws(SecureStringError) in try body(folder) }
  }

  private static func reading<Value>(
    _ body: () throws(FileFailure) -> Value
  ) throws(SecureStringError) -> Value {
    do throws(FileFailure) { return try body() } catch {
      throw .storageUnusable(reason: error.description)
    }
  }

  private static func changing(
    _ body: () throws(DurableFolder.Failure) -> Void
  ) throws(SecureStringError) {
    do throws(DurableFolder.Failure) { try body() } catch {
      switch error {
      case .unchanged(let failure): throw .storageUnusable(reason: failure.description)
      case .notDurable(let failure): throw .notDurable(reason: failure.description)
      }
    }
  }
}

extension StringFile {
  /// Seals the strings of an earlier key anew. A string that the active key has already counts as the newer one. One
  /// that does not open, or that has no room, stays as it is.
  mutating func reseal(from earlier: StringKey, to active: StringKey) {
    for record in records(of: earlier.id) {
      guard let opened = earlier.open(record.sealed, at: record.place.name) else { continue }
      let place = Place(key: active.id, name: active.place(of: opened.name))
      if self[place] == nil {
        let fresh = Record(place: place, sealed: active.seal(opened.value, named: opened.name))
        var changed = self
        changed.remove(record.place)
        do throws(SecureStringError) { try changed.set(fresh) } catch { continue }
        self = changed
      } else {
        remove(record.place)
      }
    }
  }
}

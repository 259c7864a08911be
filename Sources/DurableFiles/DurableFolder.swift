// SPDX-License-Identifier: Apache-2.0

/// A folder whose files are replaced whole: after a power cut at any moment a file is the old one
/// or the new one.
///
/// One user at a time: the owner of one of these for a real folder also holds its ``FolderLock``.
package struct DurableFolder: Sendable {
  /// The system calls on the folder.
  package let access: any FolderAccess

  package init(_ access: any FolderAccess) { self.access = access }

  /// The failure of a replacement.
  package enum Failure: Error, Sendable, Hashable {
    /// The old file is still there.
    case unchanged(FileFailure)
    /// The new file is there, but a power cut may bring the old one back.
    case notDurable(FileFailure)
  }

  /// Reads a file.
  package func read(_ name: String, limit: Int) throws(FileFailure) -> [UInt8]? {
    try access.read(name, limit: limit)
  }

  /// Replaces a file, or makes it.
  ///
  /// The new bytes are on the medium before the name leads to them, and the name is before this
  /// returns. A half-written file of an earlier power cut is removed, never used.
  package func replace(_ name: String, with bytes: [UInt8]) throws(Failure) {
    let fresh = name + ".new"
    do throws(FileFailure) {
      try access.remove(fresh)
      try write(bytes, toNew: fresh)
      try access.rename(fresh, to: name)
    } catch {
      // The old file is intact; the next call removes a leftover that cannot be removed now.
      try? access.remove(fresh)
      throw .unchanged(error)
    }
    do throws(FileFailure) { try access.synchronizeFolder() } catch { throw .notDurable(error) }
  }

  /// Removes a file, durably.
  package func remove(_ name: String) throws(Failure) {
    do throws(FileFailure) { try access.remove(name) } catch { throw .unchanged(error) }
    do throws(FileFailure) { try access.synchronizeFolder() } catch { throw .notDurable(error) }
  }

  /// Gives a damaged file another name, so that it is not read again and not lost.
  ///
  /// - Returns: The new name.
  package func setAside(_ name: String) throws(FileFailure) -> String {
    var number = 1
    while try access.exists("\(name).damaged-\(number)") { number += 1 }
    let aside = "\(name).damaged-\(number)"
    try access.rename(name, to: aside)
    // If this does not last, the file is found damaged again, and nothing is lost.
    try? access.synchronizeFolder()
    return aside
  }

  /// Writes bytes to an open file, all of them, and returns when they are on the medium.
  package func append(_ bytes: [UInt8], to file: OpenFile) throws(FileFailure) {
    var rest = bytes[...]
    while !rest.isEmpty { rest = rest.dropFirst(try access.write(rest, to: file)) }
    try access.synchronize(file)
  }

  private func write(_ bytes: [UInt8], toNew name: String) throws(FileFailure) {
    let file = try access.create(name)
    defer { access.close(file) }
    try append(bytes, to: file)
  }
}

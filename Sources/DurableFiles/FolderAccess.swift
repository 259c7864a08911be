// SPDX-License-Identifier: Apache-2.0

/// The calls that a store makes on one folder. Each function is one system call, so that a test can
/// make any of them fail, cut short or not durable.
///
/// Nothing here is durable before the matching `synchronize` has returned.
package protocol FolderAccess: Sendable {
  /// The folder's path, for people.
  var path: String { get }

  /// Reads a regular file.
  ///
  /// - Returns: Its bytes, at most `limit + 1`, or nil if the file is missing.
  func read(_ name: String, limit: Int) throws(FileFailure) -> [UInt8]?

  /// Reads a regular file from an offset on.
  ///
  /// - Returns: Its bytes from `offset` on, at most `limit + 1`; none if it ends before; nil if the
  ///   file is missing.
  func read(_ name: String, from offset: Int, limit: Int) throws(FileFailure) -> [UInt8]?

  /// Makes a new file, for its owner alone, and opens it for writing.
  func create(_ name: String) throws(FileFailure) -> OpenFile

  /// Opens a file, made if it is not there, for writing at its end.
  func openAtEnd(_ name: String) throws(FileFailure) -> OpenFile

  /// Writes the beginning of some bytes.
  ///
  /// - Returns: The number of bytes written; at least one.
  func write(_ bytes: ArraySlice<UInt8>, to file: OpenFile) throws(FileFailure) -> Int

  /// Returns when the bytes written to a file are on the medium.
  func synchronize(_ file: OpenFile) throws(FileFailure)

  /// Closes a file.
  func close(_ file: OpenFile)

  /// Renames a file atomically, and replaces a file that has the new name.
  func rename(_ name: String, to other: String) throws(FileFailure)

  /// Removes a file; a missing file is no error.
  func remove(_ name: String) throws(FileFailure)

  /// Whether the folder has an entry of this name.
  func exists(_ name: String) throws(FileFailure) -> Bool

  /// Returns when the folder's names are on the medium.
  func synchronizeFolder() throws(FileFailure)
}

/// An open file of a ``FolderAccess``.
package struct OpenFile: Sendable, Hashable {
  package let number: Int32

  package init(_ number: Int32) { self.number = number }
}

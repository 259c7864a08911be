// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that hold a key. Only their owner may read and write them.
package enum SecretFile {
  /// Reads a file that only its owner may read.
  ///
  /// - Returns: Its bytes.
  /// - Throws: ``FileFailure``; EPERM if others may read it, EFBIG if it is longer than `limit`.
  package static func read(_ path: String, limit: Int) throws(FileFailure) -> [UInt8] {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw FileFailure("open", path, code: errno) }
    defer { _ = close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw FileFailure("read", path, code: errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw FileFailure("read", path, code: EINVAL, advice: "is no file. Name a file")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw FileFailure(
        "read", path, code: EPERM,
        advice: "holds a secret, and others can read or write it. Say: chmod 600 \(path)")
    }
    let bytes = try SmallFile.bytes(of: file, name: path, limit: limit)
    guard bytes.count <= limit else { throw FileFailure("read", path, code: EFBIG) }
    return bytes
  }

  /// Makes a file for its owner alone, and returns when file and name are on the medium. An
  /// existing file is not changed.
  ///
  /// - Throws: ``FileFailure``; EEXIST if the file exists. A failed attempt leaves no file.
  package static func create(_ path: String, _ bytes: Span<UInt8>) throws(FileFailure) {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
    let file = unsafe open(path, flags, mode_t(0o600))
    guard file >= 0 else { throw FileFailure("create", path, code: errno) }
    do throws(FileFailure) {
      defer { _ = close(file) }
      try write(bytes, to: file, path)
      try LiveFolder.synchronizeParent(of: path)
    } catch {
      // Remove a partial key, which would block the next attempt.
      _ = unsafe unlink(path)
      throw error
    }
  }

  /// Makes a file for its owner alone, or replaces one atomically: a reader finds all of the old
  /// file or all of the new one.
  ///
  /// - Throws: ``FileFailure``. The old file is then still there.
  package static func replace(_ path: String, _ bytes: Span<UInt8>) throws(FileFailure) {
    let fresh = path + ".new"
    guard unsafe unlink(fresh) == 0 || errno == ENOENT else {
      throw FileFailure("remove", fresh, code: errno)
    }
    try create(fresh, bytes)
    guard unsafe rename(fresh, path) == 0 else {
      let code = errno
      _ = unsafe unlink(fresh)
      throw FileFailure("rename", fresh, code: code)
    }
    try LiveFolder.synchronizeParent(of: path)
  }

  private static func write(
    _ bytes: Span<UInt8>, to file: Int32, _ path: String
  ) throws(FileFailure) {
    var count = 0
    while count < bytes.count {
      let more = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(file, buffer.baseAddress! + count, buffer.count - count)
      }
      if more < 0, errno == EINTR { continue }
      guard more > 0 else { throw FileFailure("write", path, code: errno) }
      count += more
    }
    guard fsync(file) == 0 else { throw FileFailure("synchronize", path, code: errno) }
  }
}

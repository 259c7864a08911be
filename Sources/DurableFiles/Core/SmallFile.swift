// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Files that are read whole.
package enum SmallFile {
  /// Reads the file that a path leads to.
  ///
  /// - Returns: Its bytes, or nil if the file is missing.
  /// - Throws: ``FileFailure``; EFBIG if it is longer than `limit`.
  package static func read(_ path: String, limit: Int) throws(FileFailure) -> [UInt8]? {
    let bytes = try beginning(of: path, byteCount: limit + 1)
    if let bytes, bytes.count > limit { throw FileFailure("read", path, code: EFBIG) }
    return bytes
  }

  /// Reads the first bytes of a file, for a caller that judges their number itself.
  ///
  /// - Returns: The bytes, fewer if the file is shorter, or nil if the file is missing.
  package static func beginning(
    of path: String, byteCount: Int
  ) throws(FileFailure) -> [UInt8]? {
    // Do not block: a FIFO in place of a file must not hang its reader.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw FileFailure("open", path, code: errno)
    }
    defer { _ = close(file) }
    return try bytes(of: file, name: path, limit: byteCount - 1)
  }

  /// The bytes of an open file, at most `limit + 1`.
  static func bytes(
    of file: Int32, name: String, limit: Int
  ) throws(FileFailure) -> [UInt8] {
    var bytes: [UInt8] = []
    var block = [UInt8](repeating: 0, count: 65_536)
    while bytes.count <= limit {
      let wanted = min(block.count, limit + 1 - bytes.count)
      let count = unsafe Glibc.read(file, &block, wanted)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw FileFailure("read", name, code: errno) }
      if count == 0 { break }
      bytes += block[..<count]
    }
    return bytes
  }
}

internal import Glibc

/// Files that are read whole.
package enum SmallFile {
  /// Reads what a path leads to, such as a file of the system's.
  ///
  /// - Returns: Its bytes, at most `limit + 1`, or nil if there is nothing.
  package static func read(_ path: String, limit: Int) throws(FileFailure) -> [UInt8]? {
    // Not blocking: a FIFO in the place of a file must not hang its reader.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else {
      if errno == ENOENT { return nil }
      throw FileFailure("open", path, code: errno)
    }
    defer { _ = close(file) }
    return try bytes(of: file, name: path, limit: limit)
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

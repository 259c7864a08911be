// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A mark of a file's version, which changes when the file is replaced or written to.
package struct FileMark: Sendable, Hashable {
  private let values: [Int]

  /// Reads the mark of a file; a missing file has a mark of its own.
  package init(_ path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else {
      values = []
      return
    }
    values = [
      Int(status.st_dev), Int(bitPattern: UInt(status.st_ino)), Int(status.st_size),
      status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
    ]
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// A whole text file, without Foundation; nil if it cannot be read.
package func contents(of path: String) -> String? {
  guard let file = unsafe fopen(path, "re") else { return nil }
  defer { _ = unsafe fclose(file) }
  var bytes: [UInt8] = []
  var chunk = [UInt8](repeating: 0, count: 4096)
  while true {
    let count = unsafe fread(&chunk, 1, chunk.count, file)
    if count == 0 {
      return unsafe ferror(file) == 0 ? String(decoding: bytes, as: UTF8.self) : nil
    }
    bytes += chunk.prefix(count)
  }
}

/// A file that cannot be written.
package struct UnwritableFile: Error, CustomStringConvertible {
  package let description: String
}

/// Writes a whole text file, in the place of an older one.
package func write(_ text: String, to path: String) throws(UnwritableFile) {
  let file = unsafe fopen(path, "we")
  guard let file = unsafe file else {
    throw UnwritableFile(description: "\(path) cannot be written: \(reason())")
  }
  let bytes = Array(text.utf8)
  let written = unsafe fwrite(bytes, 1, bytes.count, file)
  guard unsafe fclose(file) == 0, written == bytes.count else {
    throw UnwritableFile(description: "\(path) was not written to its end: \(reason())")
  }
}

private func reason() -> String { unsafe String(cString: strerror(errno)) }

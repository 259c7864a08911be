// SPDX-License-Identifier: Apache-2.0

import Console
internal import Glibc

/// Reports one after the other, each with its length before it; written so that a kill loses none.
struct ReportFile: Sendable {
  private let file: Int32

  /// Appends to a file.
  init(writing path: String) {
    file = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    if file < 0 {
      Terminal.complain("proof-load: cannot write \(path)")
      Terminal.end(2)
    }
  }

  /// Adds parts, each with its length, in one write.
  func keep(_ parts: [UInt8]...) {
    let bytes = parts.flatMap { part in
      let count = UInt32(part.count)
      return (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + part
    }
    let written = unsafe write(file, bytes, bytes.count)
    precondition(written == bytes.count, "the file of accepted reports is not whole")
  }

  /// A file that cannot be read.
  struct Unreadable: Error, CustomStringConvertible {
    let path: String
    var description: String { "cannot read \(path), or it does not end with a whole report" }
  }

  static func read(_ path: String) throws(Unreadable) -> [[UInt8]] {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { throw Unreadable(path: path) }
    defer { close(file) }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = unsafe Glibc.read(file, &part, part.count)
      guard count >= 0 else { throw Unreadable(path: path) }
      if count == 0 { break }
      bytes += part[..<count]
    }
    var reports: [[UInt8]] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      guard rest.count >= 4 else { throw Unreadable(path: path) }
      let count = Int(rest.prefix(4).reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
      rest = rest.dropFirst(4)
      guard rest.count >= count else { throw Unreadable(path: path) }
      reports.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
    return reports
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPServing
import ProofModel
import Synchronization

/// A file of everything that the shop receives, a request in JSON on each line, for tests: an attacker who has it knows
/// all that is sent.
final class ShopRecord: Sendable {
  private struct Line: Encodable {
    let method: String
    let target: String
    let fields: [[String]]
    /// In hexadecimal.
    let body: String
  }

  private let path: String
  /// One line is written at a time.
  private let turn = Mutex(())

  /// Makes the file, for its owner alone, or goes on at its end.
  init(_ path: String) throws {
    self.path = path
    guard
      FileManager.default.fileExists(atPath: path)
        || FileManager.default.createFile(
          atPath: path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw ShopFailure("\(path) cannot be made") }
  }

  /// Adds a request.
  func add(_ request: HTTPRequest) throws {
    let line = Line(
      method: request.method, target: request.target,
      fields: request.fields.map { [$0.name, $0.value] }, body: Hexadecimal.encode(request.body))
    let bytes = try JSONEncoder().encode(line) + Data("\n".utf8)
    try turn.withLock { _ in
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      defer { try? file.close() }
      try file.seekToEnd()
      try file.write(contentsOf: bytes)
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel

/// Files and folders of this user alone.
enum PrivateFiles {
  static func makeFolder(_ path: String) throws {
    try FileManager.default.createDirectory(
      atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  static func write(_ text: String, to path: String) throws {
    guard
      FileManager.default.createFile(
        atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
    else { throw StageFailure("\(path) cannot be written") }
  }

  static func close(_ path: String) throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  static func mode(of path: String) throws -> String {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
    return "0" + String(mode & 0o777, radix: 8)
  }

  /// Makes 64 random hexadecimal digits.
  static func randomText() -> String {
    var generator = SystemRandomNumberGenerator()
    return Hexadecimal.encode((0..<32).map { _ in .random(in: .min ... .max, using: &generator) })
  }
}

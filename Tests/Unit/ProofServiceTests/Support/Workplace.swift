// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofJOSE
import ProofModel
import Synchronization

@testable import ProofService

/// A folder that goes with its owner.
final class Workplace: Sendable {
  let path: String

  init() {
    path =
      FileManager.default.temporaryDirectory
      .appending(component: "proof-service-\(UUID().uuidString)").path()
    try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func path(of name: String) -> String { "\(path)/\(name)" }

  func bytes(of name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: path(of: name))))
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: URL(filePath: path(of: name)))
  }

  func mode(of name: String) throws -> Int {
    let attributes = try FileManager.default.attributesOfItem(atPath: path(of: name))
    return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
  }
}

/// A clock that tests set.
final class HandClock: Sendable {
  private let time: Mutex<UnixTime>

  init(_ start: UnixTime = 1_800_000_000) { time = Mutex(start) }

  var now: UnixTime { time.withLock { $0 } }
  func advance(by seconds: Int64) { time.withLock { $0 += seconds } }
  var clock: UnixClock { UnixClock { self.now } }
}

func hex(_ text: String) -> [UInt8] { Hexadecimal.decode(text)! }

func secret(_ bytes: [UInt8]) -> JOSESecret { JOSESecret(copying: bytes.span) }

func passphrase(_ text: String) -> AccountLock { .passphrase(secret(Array(text.utf8))) }

/// A key file's lock: quicker than a passphrase, which costs 64 MiB each time.
func keyFile(_ byte: UInt8 = 7) -> AccountLock {
  .keyFile(secret([UInt8](repeating: byte, count: 32)))
}

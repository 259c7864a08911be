// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import ProofBackend
import ProofJOSE
import ProofModel

/// The shop's own files: a secret that all its nodes share, and what was used once.
struct ShopFolder: Sendable {
  private static let secretByteCount = 32
  private let path: String

  init(_ path: String) { self.path = path }

  private var secret: String { path + "/own.key" }
  private var requests: String { path + "/requests" }
  private var events: String { path + "/events" }

  /// Makes the files of a gate that has judged nothing yet. Each of them must be missing.
  func prepare() throws {
    _ = try LiveFolder(path)
    let random = try JOSESecret.random(count: Self.secretByteCount)
    try random.withBytes { (bytes: Span<UInt8>) throws(FileFailure) -> Void in
      try SecretFile.create(secret, bytes)
    }
    for store in [requests, events] { _ = try SQLiteReplayStore(provisioning: store) }
  }

  /// The shop's own secret.
  func ownSecret() throws -> SecretBytes { try Self.key(in: secret) }

  /// Reads a key of 32 bytes that only its owner may read.
  static func key(in file: String) throws -> SecretBytes {
    let bytes = try SecretFile.read(file, limit: secretByteCount)
    return SecretBytes(copying: bytes.span)
  }

  /// Remembers the proofs of requests.
  func requestStore() throws -> SQLiteReplayStore { try SQLiteReplayStore(at: requests) }

  /// Remembers the event tokens of the shop's audience.
  func eventStore() throws -> SQLiteReplayStore { try SQLiteReplayStore(at: events) }
}

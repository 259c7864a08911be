// SPDX-License-Identifier: Apache-2.0

import DurableFiles
import ProofJOSE
import ProofModel

/// Files with 32 random bytes: keys of hardware, of issuers and of stores.
enum KeyFile {
  static let byteCount = 32

  /// Makes a key file. An existing file is not changed, and is an error.
  static func create(_ path: String) throws {
    let secret = try JOSESecret.random(count: byteCount)
    try secret.withBytes { (bytes: Span<UInt8>) throws(FileFailure) -> Void in
      try SecretFile.create(path, bytes)
    }
  }

  /// A key file's bytes in base64, the form of the management API.
  static func base64(_ path: String) throws -> String {
    let secret = try secret(path)
    let text = secret.encoded(as: .standard)
    return text.withBytes { bytes in
      String(decoding: bytes.indices.map { bytes[$0] }, as: UTF8.self)
    }
  }

  /// Reads a key file.
  static func read(_ path: String) throws -> SecretBytes {
    let bytes = try bytes(path)
    return SecretBytes(copying: bytes.span)
  }

  /// Reads a key file, for the account.
  static func secret(_ path: String) throws -> JOSESecret {
    let bytes = try bytes(path)
    return JOSESecret(copying: bytes.span)
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    let bytes = try SecretFile.read(path, limit: byteCount)
    guard bytes.count == byteCount else {
      throw Failure("\(path) holds \(bytes.count) bytes; such a key has \(byteCount)")
    }
    return bytes
  }
}

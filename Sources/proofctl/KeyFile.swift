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

  /// Reads a key file.
  static func read(_ path: String) throws -> SecretBytes {
    let bytes = try SecretFile.read(path, limit: byteCount)
    guard bytes.count == byteCount else {
      throw Failure("\(path) holds \(bytes.count) bytes; such a key has \(byteCount)")
    }
    return SecretBytes(copying: bytes.span)
  }
}

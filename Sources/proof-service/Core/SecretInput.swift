// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ProofJOSE

/// The reason why a secret cannot be read.
struct SecretInputError: Error, CustomStringConvertible {
  let description: String
}

/// Secrets from files and the environment, read straight into memory that is wiped.
enum SecretInput {
  private static let byteCountMax = 64 << 10

  /// A regular file's content.
  static func file(_ path: String) throws(SecretInputError) -> JOSESecret {
    // Do not block: a FIFO that has no writer must not hold up the start.
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard file >= 0 else { throw SecretInputError(description: "cannot read \(path): \(reason)") }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw SecretInputError(
        description: "cannot read \(path): it is no regular file; write the secret into one")
    }
    guard status.st_mode & S_IROTH == 0 else {
      throw SecretInputError(
        description: "everyone on this machine can read \(path): chmod o-rwx \(path), and consider"
          + " whether somebody has")
    }
    guard status.st_size <= byteCountMax else {
      throw SecretInputError(
        description: "\(path) has \(status.st_size) bytes; at most \(byteCountMax) are taken")
    }
    return try JOSESecret(count: Int(status.st_size)) { bytes throws(SecretInputError) in
      let count = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
        unsafe read(file, bytes.baseAddress, bytes.count)
      }
      guard count == bytes.count else {
        throw SecretInputError(description: "cannot read \(path): \(reason)")
      }
    }
  }

  /// A file's content, less the line end that editors add.
  static func line(_ path: String) throws(SecretInputError) -> JOSESecret {
    let content = try file(path)
    return content.withBytes { bytes in
      var count = bytes.count
      while count > 0, bytes[count - 1] == 10 || bytes[count - 1] == 13 { count -= 1 }
      return JOSESecret(copying: bytes.extracting(..<count))
    }
  }

  /// A variable of the environment, which is overwritten there; `nil` if it is not set.
  static func variable(_ name: String) -> JOSESecret? {
    guard let text = unsafe getenv(name) else { return nil }
    let count = unsafe strlen(text)
    let secret = JOSESecret(count: count) { bytes in
      for index in 0..<count { bytes[index] = unsafe UInt8(bitPattern: text[index]) }
    }
    unsafe explicit_bzero(text, count)
    unsafe unsetenv(name)
    return secret
  }

  private static var reason: String { unsafe String(cString: strerror(errno)) }
}

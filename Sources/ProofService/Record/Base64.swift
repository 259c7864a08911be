internal import ProofJOSE

/// Base64 of what is not secret.
enum Base64 {
  static func encode(_ bytes: [UInt8], _ alphabet: Base64Alphabet = .standard) -> String {
    JOSESecret(copying: bytes.span).encoded(as: alphabet).withBytes {
      String(decoding: Array(copying: $0), as: UTF8.self)
    }
  }

  static func decode(_ text: String, _ alphabet: Base64Alphabet = .standard) -> [UInt8]? {
    let secret = try? JOSESecret(decoding: Array(text.utf8).span, as: alphabet)
    return secret?.withBytes { Array(copying: $0) }
  }
}

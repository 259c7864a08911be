// SPDX-License-Identifier: Apache-2.0

/// A secret: one owner, one fixed address, wiped when the owner goes.
///
/// The bytes are stored in one block of libcrypto's memory for secrets. They are filled there, do
/// not change from then on, and are lent to a closure; this library never copies them into a Swift
/// array or string. The type cannot be copied, printed, compared with `==` or put into an array:
/// each of these is a compile error. To share a secret among tasks, put it inside a final class.
public struct JOSESecret: ~Copyable, Sendable {
  private let block: SecretBlock

  /// The length of the secret, in bytes.
  public var count: Int { block.count }

  /// Makes a secret whose bytes `fill` writes in place, into a span of `count` zeros.
  ///
  /// Traps if `count` is negative, or if the system has no memory.
  ///
  /// - Parameters:
  ///   - count: How many bytes the secret has.
  ///   - fill: Writes the bytes. When it throws, the block is wiped.
  /// - Throws: The error of `fill`.
  public init<E: Error>(
    count: Int, filling fill: (_ bytes: inout MutableSpan<UInt8>) throws(E) -> Void
  ) throws(E) {
    var block = SecretBlock(count: count)
    try block.withMutableBytes(fill)
    self.block = block
  }

  /// Makes a secret with a copy of other bytes. The caller wipes the original.
  ///
  /// - Parameter bytes: The bytes to copy.
  public init(copying bytes: Span<UInt8>) {
    self.init(count: bytes.count) { target in
      for index in bytes.indices { target[index] = bytes[index] }
    }
  }

  /// A secret of fresh random bytes, drawn in place from libcrypto's generator for secrets.
  ///
  /// - Parameter count: The number of bytes; at most a mebibyte.
  /// - Returns: The secret.
  /// - Throws: ``JOSEError/randomFailed``.
  public static func random(count: Int) throws(JOSEError) -> JOSESecret {
    try JOSESecret(count: count) { bytes throws(JOSEError) in
      try Randomness.fillSecret(&bytes)
    }
  }

  /// Decodes a secret from text, such as an account secret.
  ///
  /// - Parameters:
  ///   - text: Base64 in ASCII, with no white space. The bytes are not copied.
  ///   - alphabet: The base64 alphabet of the text.
  /// - Throws: ``JOSEError/secretNotBase64(_:)``.
  public init(decoding text: Span<UInt8>, as alphabet: Base64Alphabet) throws(JOSEError) {
    guard let count = alphabet.decodedCount(of: text) else {
      throw .secretNotBase64(alphabet)
    }
    try self.init(count: count) { bytes throws(JOSEError) in
      guard alphabet.decode(text, into: &bytes) else { throw .secretNotBase64(alphabet) }
    }
  }

  /// Encodes the secret as text, which is a secret too.
  ///
  /// - Parameter alphabet: The base64 alphabet to write.
  /// - Returns: ASCII.
  public borrowing func encoded(as alphabet: Base64Alphabet) -> JOSESecret {
    withBytes { bytes in
      JOSESecret(count: alphabet.encodedCount(of: bytes.count)) { text in
        var writer = TextWriter()
        writer.base64(bytes, alphabet, into: &text)
      }
    }
  }

  /// Lends the bytes, for as long as the closure runs.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public borrowing func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try block.withBytes(body)
  }

  /// Whether two secrets have the same bytes, in time that depends on their counts alone.
  ///
  /// - Parameter other: The secret to compare with.
  /// - Returns: Whether count and bytes are equal.
  public borrowing func matches(_ other: borrowing JOSESecret) -> Bool {
    withBytes { mine in other.withBytes { theirs in ConstantTime.areEqual(mine, theirs) } }
  }
}

/// A secret that many values share; wiped when the last of them goes.
final class SharedSecret: Sendable {
  private let secret: JOSESecret

  init(_ secret: consuming JOSESecret) { self.secret = secret }

  var count: Int { secret.count }

  func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try secret.withBytes(body)
  }
}

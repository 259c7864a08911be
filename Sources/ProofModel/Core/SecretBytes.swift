// SPDX-License-Identifier: Apache-2.0

internal import CSodium
internal import ProofCore

/// A secret: one owner, one fixed address, wiped when the owner goes.
///
/// The bytes stand in one block of libsodium's guarded memory. They are filled there, are read-only
/// from then on, and are lent to a closure; this library never copies them into a Swift array. The
/// type cannot be copied, printed, compared with `==` or put into an array: each of these is a
/// compile error.
///
/// It is a `~Copyable` structure rather than a class for two reasons. The compiler, not a count at
/// run time, decides when the secret ends. And a value that must be used once, such as a fresh
/// ephemeral key, can be consumed. To share a secret among tasks, put it inside a final class.
public struct SecretBytes: ~Copyable, Sendable {
  private let block: SecretBlock

  /// The length of the secret, in bytes.
  public var count: Int { block.count }

  /// Makes a secret whose bytes `fill` writes in place, into a span of `count` zeros.
  ///
  /// Traps if `count` is negative, or if the system has no memory.
  ///
  /// - Parameters:
  ///   - count: How many bytes the secret has.
  ///   - fill: Writes the bytes.
  /// - Throws: The error of `fill`; the block is wiped.
  public init<E: Error>(
    count: Int, filling fill: (_ bytes: inout MutableSpan<UInt8>) throws(E) -> Void
  ) throws(E) {
    try unsafe self.init(count: count) { pointer throws(E) in
      let buffer = unsafe UnsafeMutableBufferPointer(
        start: pointer.assumingMemoryBound(to: UInt8.self), count: count)
      var span = unsafe buffer.mutableSpan
      try fill(&span)
    }
  }

  /// Makes a secret with a copy of other bytes. The caller wipes the original.
  ///
  /// - Parameter bytes: The bytes to copy.
  public init(copying bytes: Span<UInt8>) { unsafe self.init(copying: bytes.bytes) }

  /// Makes a secret with a copy of bytes that another secret lends.
  ///
  /// - Parameter bytes: The bytes to copy.
  public init(copying bytes: RawSpan) {
    unsafe self.init(count: bytes.byteCount) { pointer in
      unsafe bytes.withUnsafeBytes { source in
        // No bytes have no address.
        guard let start = source.baseAddress else { return }
        unsafe pointer.copyMemory(from: start, byteCount: source.count)
      }
    }
  }

  /// A secret of fresh random bytes from the system's generator, drawn in place.
  ///
  /// - Parameter count: The number of bytes.
  /// - Returns: The secret.
  public static func random(count: Int) -> SecretBytes {
    unsafe SecretBytes(count: count) { pointer in unsafe randombytes_buf(pointer, count) }
  }

  /// Lends the bytes, for as long as the closure runs.
  ///
  /// - Parameter body: Reads the bytes. It must not keep copies of them.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public borrowing func withBytes<R: ~Copyable, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try unsafe block.withPointer { pointer throws(E) in
      try body(unsafe RawSpan(_unsafeStart: pointer, byteCount: count))
    }
  }

  /// Whether two secrets have the same bytes, in time that depends on their counts alone.
  ///
  /// - Parameter other: The secret to compare with.
  /// - Returns: Whether count and bytes are equal.
  public borrowing func matches(_ other: borrowing SecretBytes) -> Bool {
    guard count == other.count else { return false }
    return unsafe block.withPointer { mine in
      unsafe other.block.withPointer { theirs in unsafe pfc_equal(mine, theirs, count) == 1 }
    }
  }

  /// Lets the core fill the block in C.
  init<E: Error>(
    count: Int, filledBy fill: (UnsafeMutableRawPointer) throws(E) -> Void
  ) throws(E) {
    var block = SecretBlock(count: count)
    try unsafe block.withMutablePointer(fill)
    block.makeReadOnly()
    self.block = block
  }

  /// The address of the bytes. It is valid for as long as the owner lives.
  borrowing func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe block.withPointer { pointer throws(E) in
      try unsafe body(pointer.assumingMemoryBound(to: UInt8.self))
    }
  }
}

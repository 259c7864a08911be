// SPDX-License-Identifier: Apache-2.0

internal import CCrypto

/// One block of libcrypto's memory for secrets: zeros at first, overwritten when freed.
///
/// No other code allocates memory for secrets. Moving a Swift value leaves a copy of an inline
/// secret behind in memory. A secret behind a pointer stays in place, because moving the owner
/// moves only the pointer.
@safe
struct SecretBlock: ~Copyable {
  let count: Int
  private let base: UnsafeMutablePointer<UInt8>

  /// A block of zeros. Traps when the system gives no memory, because no caller can continue.
  init(count: Int) {
    precondition(count >= 0, "A secret cannot have \(count) bytes.")
    guard let base = unsafe pfj_secret_new(count) else {
      preconditionFailure("No memory for a secret of \(count) bytes.")
    }
    unsafe self.base = unsafe base
    self.count = count
  }

  deinit { unsafe pfj_secret_free(base, count) }

  borrowing func withBytes<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe body(Span(_unsafeStart: base, count: count))
  }

  mutating func withMutableBytes<R: ~Copyable, E: Error>(
    _ body: (inout MutableSpan<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    var bytes = unsafe MutableSpan(_unsafeStart: base, count: count)
    return try body(&bytes)
  }
}

// Sendable because the block has one owner, and is written only through exclusive access to it.
extension SecretBlock: @unchecked Sendable {}

// SPDX-License-Identifier: Apache-2.0

internal import CSodium
internal import ProofCore

/// One `sodium_malloc` block: guard pages around it, locked into memory, overwritten when freed.
///
/// No other code allocates memory for secrets. Moving a Swift value leaves a copy of an inline
/// secret behind in memory. A secret behind a pointer stays in place, because moving the owner
/// moves only the pointer.
@safe
struct SecretBlock: ~Copyable {
  let count: Int
  private let base: UnsafeMutableRawPointer

  /// A block of zeros, writable. Traps when the system gives no memory, because no caller can
  /// continue.
  init(count: Int) {
    precondition(count >= 0, "A secret of \(count) bytes was asked for.")
    precondition(CoreSodium.isReady, "libsodium could not be initialised.")
    guard let base = unsafe sodium_malloc(count) else {
      preconditionFailure("No memory for a secret of \(count) bytes.")
    }
    unsafe pfc_wipe(base, count)
    unsafe self.base = unsafe base
    self.count = count
  }

  deinit { unsafe sodium_free(base) }

  /// Makes the block read-only: a later write to it ends the process.
  borrowing func makeReadOnly() {
    let result = unsafe sodium_mprotect_readonly(base)
    precondition(result == 0, "The system refused to protect a secret of \(count) bytes.")
  }

  borrowing func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeRawPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe body(UnsafeRawPointer(base))
  }

  /// Lends the bytes for writing to an owner that keeps others away by itself. Through a class's variable,
  /// `withMutablePointer` would have each access checked at run time.
  @unsafe
  borrowing func withSharedPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeMutableRawPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe body(base)
  }

  mutating func withMutablePointer<R: ~Copyable, E: Error>(
    _ body: (UnsafeMutableRawPointer) throws(E) -> R
  ) throws(E) -> R {
    try unsafe body(base)
  }
}

extension SecretBlock: @unchecked Sendable {
  // Sendable because the block has one owner, and is written only through exclusive access to it.
}

// SPDX-License-Identifier: Apache-2.0

internal import CCrypto

/// Memory for secrets that is locked, left out of core dumps and fenced by guard pages.
///
/// If it is not reserved, secrets stand in the ordinary heap, and are wiped there too.
public enum SecureHeap {
  /// Reserves the memory, once for the process, before other threads use keys.
  ///
  /// It holds keys and decrypted tokens, and also libcrypto's own copies of private keys. When it
  /// is full, the ordinary heap is used.
  ///
  /// - Parameter byteCount: A power of two from 4 KiB to 64 MiB. 1 MiB is enough for a thousand keys.
  /// - Throws: ``JOSEError/heapNotReserved`` if the size is not one of these, the system does not
  ///   let the process lock so much memory, or it is reserved already.
  public static func reserve(byteCount: Int) throws(JOSEError) {
    guard byteCount > 0, pfj_secret_reserve(byteCount) == 1 else { throw .heapNotReserved }
  }
}

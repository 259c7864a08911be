// SPDX-License-Identifier: Apache-2.0

private import Glibc

/// Strings for C, ended by a NULL.
enum CStrings {
  /// Lends copies of strings to a closure. The copies are wiped after it: one may be a password.
  static func with<Result>(
    _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = unsafe strings.map { unsafe strdup($0) }
    defer {
      for index in unsafe copies.indices {
        guard let copy = unsafe copies[index] else { continue }
        unsafe explicit_bzero(copy, strlen(copy))
        unsafe free(copy)
      }
    }
    let addresses = unsafe copies.map { unsafe UnsafePointer($0) } + [nil]
    return unsafe addresses.withUnsafeBufferPointer { unsafe body($0.baseAddress!) }
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Public bytes of a fixed count, stored inline: no allocation, no reference.
struct InlineBytes<let count: Int>: Sendable {
  private var storage: [count of UInt8]

  /// Zeros, which the core then overwrites.
  init(filledBy fill: (UnsafeMutablePointer<UInt8>) -> Void) {
    storage = [count of UInt8](repeating: 0)
    var span = storage.mutableSpan
    unsafe span.withUnsafeMutableBufferPointer { unsafe fill($0.baseAddress!) }
  }

  /// Checks and takes bytes; `noun` names them in the error.
  init(_ bytes: Span<UInt8>, of noun: String) throws(ProofError) {
    guard bytes.count == count else {
      throw .wrongLength(of: noun, expected: count...count, actual: bytes.count)
    }
    storage = [count of UInt8] { bytes[$0] }
  }

  /// Copies bytes that the core lends.
  init(copying pointer: UnsafePointer<UInt8>) {
    storage = [count of UInt8] { unsafe pointer[$0] }
  }

  /// Copies a C array, which Swift sees as a tuple.
  init<Tuple: BitwiseCopyable>(tuple: Tuple) {
    precondition(MemoryLayout<Tuple>.size == count)
    storage = unsafe withUnsafeBytes(of: tuple) { bytes in
      [count of UInt8] { unsafe bytes[$0] }
    }
  }

  /// The first bytes: an identifier is a prefix of a digest.
  func prefix<let shorter: Int>() -> InlineBytes<shorter> {
    precondition(shorter <= count)
    return unsafe withPointer { unsafe InlineBytes<shorter>(copying: $0) }
  }

  func withSpan<R: ~Copyable, E: Error>(
    _ body: (Span<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try body(storage.span)
  }

  func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe storage.span.withUnsafeBufferPointer { buffer throws(E) in
      try unsafe body(buffer.baseAddress!)
    }
  }

  /// Writes the bytes over a C array.
  func copy<Tuple: BitwiseCopyable>(to tuple: inout Tuple) {
    precondition(MemoryLayout<Tuple>.size == count)
    unsafe withUnsafeMutableBytes(of: &tuple) { target in
      for index in 0..<count { unsafe target[index] = storage[index] }
    }
  }

  /// Compares in constant time.
  func isEqual(to other: InlineBytes<count>) -> Bool {
    unsafe withPointer { mine in
      unsafe other.withPointer { theirs in unsafe pfc_equal(mine, theirs, count) == 1 }
    }
  }

  var isZero: Bool { unsafe withPointer { unsafe pfc_is_zero($0, count) == 1 } }
}

extension Digest {
  /// The digest that stands for none.
  package static let zero = Digest(storage: unsafe InlineBytes { _ in })
}

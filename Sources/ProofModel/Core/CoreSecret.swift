// SPDX-License-Identifier: Apache-2.0

/// A C structure that holds secrets, in a block of its own: filled by the core, read-only after.
///
/// It is a class, so that many tasks can share a value and copy it, and the secret is not copied.
final class CoreSecret<Value: BitwiseCopyable>: Sendable {
  private let bytes: SecretBytes

  init<E: Error>(filledBy fill: (UnsafeMutablePointer<Value>) throws(E) -> Void) throws(E) {
    // Use the stride, because libsodium aligns a block's end: only a multiple of the alignment
    // leaves its beginning aligned.
    bytes = try unsafe SecretBytes(count: MemoryLayout<Value>.stride) { pointer throws(E) in
      try unsafe fill(pointer.bindMemory(to: Value.self, capacity: 1))
    }
  }

  func withPointer<R: ~Copyable, E: Error>(
    _ body: (UnsafePointer<Value>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe bytes.withPointer { pointer throws(E) in
      try unsafe body(UnsafeRawPointer(pointer).assumingMemoryBound(to: Value.self))
    }
  }

  /// Lends one field in place.
  func withField<R: ~Copyable, E: Error>(
    _ field: Field<Value>, _ body: (UnsafePointer<UInt8>) throws(E) -> R
  ) throws(E) -> R {
    try unsafe bytes.withPointer { pointer throws(E) in
      try unsafe body(pointer + field.offset)
    }
  }

  /// Lends one field as a span.
  func withBytes<R: ~Copyable, E: Error>(
    of field: Field<Value>, _ body: (RawSpan) throws(E) -> R
  ) throws(E) -> R {
    try unsafe withField(field) { pointer throws(E) in
      try body(unsafe RawSpan(_unsafeStart: pointer, byteCount: field.count))
    }
  }
}

/// The place of a byte array in a C structure. Swift sees the array as a tuple, and loading it
/// would copy the secret to the stack.
struct Field<Value>: Sendable {
  let offset: Int
  let count: Int

  init<Bytes: BitwiseCopyable>(_ path: KeyPath<Value, Bytes>) {
    guard let offset = MemoryLayout<Value>.offset(of: path) else {
      preconditionFailure("The fields of C structures are stored.")
    }
    self.offset = offset
    count = MemoryLayout<Bytes>.size
  }
}

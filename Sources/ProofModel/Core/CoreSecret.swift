/// A C structure that holds secrets, in a block of its own: filled by the core, read-only after.
///
/// A class, so that values that many tasks share can be copied without copying the secret.
final class CoreSecret<Value: BitwiseCopyable>: Sendable {
  private let bytes: SecretBytes

  init<E: Error>(filledBy fill: (UnsafeMutablePointer<Value>) throws(E) -> Void) throws(E) {
    // The stride, because libsodium aligns a block's end: only a multiple of the alignment
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

  /// Lends one field, where it stands.
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

/// Where an array of bytes stands in a C structure. Loading the array itself, which Swift sees as a
/// tuple, would copy the secret to the stack.
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

// SPDX-License-Identifier: Apache-2.0

/// Public bytes of one fixed length: a nonce, a proof, an identifier, a digest.
///
/// Each kind is a type of its own, so that two kinds cannot be swapped. The initialiser checks the
/// bytes once. They are stored inline; making and copying a value allocates nothing. Comparison
/// takes constant time.
public protocol FixedBytes: Sendable, Hashable, CustomStringConvertible {
  /// The length of every value of this type, in bytes.
  static var byteCount: Int { get }

  /// Checks and takes bytes.
  ///
  /// - Parameter bytes: Exactly ``byteCount`` of them.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``, and
  ///   ``ProofError/allZeros(of:)`` where zeros cannot be a value.
  init(_ bytes: Span<UInt8>) throws(ProofError)

  /// Lends the bytes, for as long as the closure runs.
  func withBytes<R: ~Copyable, E: Error>(_ body: (Span<UInt8>) throws(E) -> R) throws(E) -> R
}

extension FixedBytes {
  /// Checks and takes bytes.
  ///
  /// - Parameter bytes: Exactly ``byteCount`` of them.
  /// - Throws: As the initialiser from a span does.
  public init(_ bytes: [UInt8]) throws(ProofError) {
    try self.init(bytes.span)
  }

  /// Reads the bytes as ``description`` and all tools print them.
  ///
  /// - Parameter text: Two hexadecimal digits for each byte, in either case.
  /// - Throws: ``ProofError/notHexadecimal(of:digitCount:)``, and as the initialiser from a span
  ///   does.
  public init(_ text: String) throws(ProofError) {
    guard let bytes = Hexadecimal.decode(text), bytes.count == Self.byteCount else {
      throw .notHexadecimal(of: "\(Self.self)", digitCount: 2 * Self.byteCount)
    }
    try self.init(bytes)
  }

  /// The bytes, copied into an array.
  public var bytes: [UInt8] {
    withBytes { Array(copying: $0) }
  }

  /// Appends the bytes to others.
  package func append(to bytes: inout [UInt8]) {
    withBytes { bytes.append($0) }
  }

  /// The bytes in hexadecimal: values of this type are public.
  public var description: String {
    withBytes { Hexadecimal.encode($0) }
  }

  /// Hashes the bytes.
  public func hash(into hasher: inout Hasher) {
    withBytes { span in
      var word: UInt64 = 0
      for index in span.indices {
        word = word << 8 | UInt64(span[index])
        if index % 8 == 7 || index == span.count - 1 { hasher.combine(word) }
      }
    }
  }
}

extension String {
  /// Lends the UTF-8 of the text as C takes it, without a terminator.
  mutating func withCharacters<R>(_ body: (UnsafeBufferPointer<CChar>) -> R) -> R {
    withUTF8 { bytes in
      unsafe bytes.withMemoryRebound(to: CChar.self) { unsafe body($0) }
    }
  }
}

extension Digest {
  /// The digest that stands for none.
  package static let zero = Digest(storage: unsafe InlineBytes { _ in })
}

// SPDX-License-Identifier: Apache-2.0

/// The name of a client or a route, as 64 bits of a keyed hash.
///
/// Swift's hash has a random key for each process. An attacker can therefore not choose a name in another one's row of a
/// ``NameTable``, nor one that is equal to another's.
package struct HashedName: Sendable, Hashable {
  /// The bits, never 0: an entry without a name has 0.
  package let bits: UInt64

  /// Hashes a name.
  ///
  /// - Parameter name: The name.
  package init(_ name: some Hashable) {
    var hasher = Hasher()
    hasher.combine(name)
    self.init(bits: UInt64(bitPattern: Int64(hasher.finalize())))
  }

  /// The name with these bits. 0 and 1 are the same name.
  ///
  /// - Parameter bits: The bits.
  package init(bits: UInt64) { self.bits = max(1, bits) }
}

/// A value for each of many names, in fixed memory.
///
/// Entries stand in rows of eight. A new name in a full row takes the entry with the least to lose, so that a flood of
/// new names forgets its own. A name never meets the value of another one: it has its own or begins anew.
package struct NameTable<Value: Sendable>: Sendable {
  @usableFromInline static var rowSize: Int { 8 }

  @usableFromInline struct Entry: Sendable {
    @usableFromInline var name: UInt64
    @usableFromInline var value: Value

    @usableFromInline init(name: UInt64, value: Value) {
      self.name = name
      self.value = value
    }
  }

  /// How many names have a value at the same time.
  package let capacity: Int
  /// How many values were given up that had something to lose.
  package private(set) var forgotten: UInt64 = 0
  @usableFromInline let first: Value
  @usableFromInline var entries: [Entry]

  /// Makes a table without names.
  ///
  /// - Parameters:
  ///   - capacity: How many names have a value at the same time; a power of two, at least 8.
  ///   - first: The value of a name that is new.
  package init(capacity: Int, first: Value) {
    precondition(capacity >= Self.rowSize && capacity & (capacity - 1) == 0)
    self.capacity = capacity
    self.first = first
    entries = [Entry](repeating: Entry(name: 0, value: first), count: capacity)
  }

  /// The bytes that the entries of a table have.
  ///
  /// - Parameter capacity: How many names have a value at the same time.
  /// - Returns: The bytes.
  package static func byteCount(of capacity: Int) -> Int { capacity * MemoryLayout<Entry>.stride }

  /// The value at a place.
  ///
  /// - Parameter place: A place that ``held(_:)`` or ``place(of:losing:)`` gave since the last new name.
  @inlinable package subscript(place: Int) -> Value {
    get { entries[place].value }
    _modify { yield &entries[place].value }
  }

  /// The place of a name that has a value.
  ///
  /// - Parameter name: The name.
  /// - Returns: The place; nil if the name is new, or forgotten.
  @inlinable package func held(_ name: HashedName) -> Int? {
    row(of: name).first { entries[$0].name == name.bits }
  }

  /// The place of a name. A new name gets the place of the one with the least to lose, and the first value.
  ///
  /// - Parameters:
  ///   - name: The name.
  ///   - loss: Measures the loss if a value is forgotten; 0 means that it is as good as the first value.
  /// - Returns: The place.
  @inlinable package mutating func place(of name: HashedName, losing loss: (Value) -> UInt64) -> Int
  {
    if let place = held(name) { return place }
    let row = row(of: name)
    var (place, least) = (row.lowerBound, UInt64.max)
    for other in row {
      let lost = loss(entries[other].value)
      if lost < least { (place, least) = (other, lost) }
    }
    take(place, for: name, losing: least)
    return place
  }

  @usableFromInline mutating func take(_ place: Int, for name: HashedName, losing loss: UInt64) {
    if loss > 0 { forgotten += 1 }
    entries[place] = Entry(name: name.bits, value: first)
  }

  @inlinable func row(of name: HashedName) -> Range<Int> {
    let row = Int(truncatingIfNeeded: name.bits >> 32) & (capacity / Self.rowSize - 1)
    return row * Self.rowSize..<(row + 1) * Self.rowSize
  }
}

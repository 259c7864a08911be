// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Synchronization

/// The places of what the file of a journal holds.
///
/// Layout, version 1; all numbers are 64 bits, little-endian:
///
///     0       head: magic, version, bytes of a slot, seed, check
///     4096    state, first copy: the numbers of ``State``, check
///     8192    state, second copy
///     16384   slots: key 24 bytes, expiry, check
///
/// A change of the state is written into the older copy. A slot's ``check`` covers the key, the expiry, the slot's
/// index and the file's seed. It is ``Check/none`` in a slot that was never used and ``Check/unfinished`` while a
/// slot or a copy is being written, so that the end of a process is told apart from damage.
extension ReplayJournal {
  /// The numbers of the file beside the entries.
  struct State: Equatable {
    /// Rises with each change.
    var sequence: UInt64 = 0
    /// The highest time that the store was given.
    var highest: UInt64 = 0
    /// The time of the last write, by the system's clock.
    var written: UInt64 = 0
    /// The latest moment up to which proofs that were used may be missing; 0 for none.
    var gap: UInt64 = 0
    /// The slot that the hand points to.
    var hand: UInt64 = 0
    /// How often the hand has begun at the first slot.
    var lap: UInt64 = 0
    /// Slots in the file.
    var slots: UInt64 = 0
    /// Slots before this one were used once.
    var fresh: UInt64 = 0
    /// The machine's start: a digest of the kernel's id.
    var boot: UInt64 = 0

    static let wordCount = 9

    func word(_ index: Int) -> UInt64 {
      switch index {
      case 0: sequence
      case 1: highest
      case 2: written
      case 3: gap
      case 4: hand
      case 5: lap
      case 6: slots
      case 7: fresh
      default: boot
      }
    }

    init() {}

    init(_ word: (Int) -> UInt64) {
      sequence = word(0)
      highest = word(1)
      written = word(2)
      gap = word(3)
      hand = word(4)
      lap = word(5)
      slots = word(6)
      fresh = word(7)
      boot = word(8)
    }
  }

  /// Values of a check that stand for no content.
  enum Check {
    static let none: UInt64 = 0
    static let unfinished: UInt64 = 1
  }

  static let pageSize = 4_096
  static let slotsStart = 16_384
  static let slotSize = 40
  /// "ProofKit" and "replays\n", read as little-endian numbers.
  static let magic: (UInt64, UInt64) = (0x7469_4B66_6F6F_7250, 0x0A73_7961_6C70_6572)
  static let version: UInt64 = 1

  static func place(_ slot: Int) -> Int { slotsStart + slot * slotSize }

  static func copyPlace(of sequence: UInt64) -> Int {
    pageSize * (1 + Int(sequence & 1))
  }

  static func load(_ base: UnsafeMutableRawPointer, _ offset: Int) -> UInt64 {
    let word = unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    return UInt64(littleEndian: unsafe word.pointee.load(ordering: .acquiring))
  }

  /// Stores a number. Later stores stay later.
  static func store(_ base: UnsafeMutableRawPointer, _ offset: Int, _ value: UInt64) {
    let word = unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    unsafe word.pointee.store(value.littleEndian, ordering: .releasing)
  }

  static func write(_ state: State, _ base: UnsafeMutableRawPointer, _ seed: UInt64) {
    let place = copyPlace(of: state.sequence)
    unsafe store(base, place + 8 * State.wordCount, Check.unfinished)
    var mixed = Mix(seed)
    for index in 0..<State.wordCount {
      let word = state.word(index)
      unsafe store(base, place + 8 * index, word)
      mixed.add(word)
    }
    unsafe store(base, place + 8 * State.wordCount, mixed.value)
  }

  static func write(
    _ entry: Entry, _ base: UnsafeMutableRawPointer, _ slot: Int, _ seed: UInt64
  ) {
    let place = place(slot)
    unsafe store(base, place, entry.one)
    unsafe store(base, place + 8, entry.two)
    unsafe store(base, place + 16, entry.three)
    unsafe store(base, place + 24, entry.expiry)
    unsafe store(base, place + 32, entry.check(slot, seed))
  }

  static func check(_ words: ArraySlice<UInt64>, _ seed: UInt64 = 0) -> UInt64 {
    var mixed = Mix(seed)
    for word in words { mixed.add(word) }
    return mixed.value
  }

  /// A checksum against damage. It is none against an attacker, who could write the file.
  struct Mix {
    private var sum: UInt64

    init(_ seed: UInt64) { sum = seed ^ 0x9E37_79B9_7F4A_7C15 }

    mutating func add(_ word: UInt64) {
      sum = (sum ^ word) &* 0xD6E8_FEB8_6659_FD93
      sum ^= sum >> 32
    }

    /// The checksum; the two values that stand for no content are left out.
    var value: UInt64 { sum > 1 ? sum : sum + 2 }
  }

  /// A used key and its end.
  struct Entry {
    let one: UInt64
    let two: UInt64
    let three: UInt64
    let expiry: UInt64

    init(_ one: UInt64, _ two: UInt64, _ three: UInt64, _ expiry: UInt64) {
      self.one = one
      self.two = two
      self.three = three
      self.expiry = expiry
    }

    init(_ key: ReplayKey, _ expiry: UInt64) {
      self = key.withBytes { bytes in
        var words: (UInt64, UInt64, UInt64) = (0, 0, 0)
        for index in 0..<8 {
          words.0 |= UInt64(bytes[index]) << (8 * index)
          words.1 |= UInt64(bytes[8 + index]) << (8 * index)
          words.2 |= UInt64(bytes[16 + index]) << (8 * index)
        }
        return Entry(words.0, words.1, words.2, expiry)
      }
    }

    func hasKey(of other: Entry) -> Bool {
      one == other.one && two == other.two && three == other.three
    }

    func check(_ slot: Int, _ seed: UInt64) -> UInt64 {
      var mixed = Mix(seed)
      mixed.add(UInt64(slot))
      mixed.add(one)
      mixed.add(two)
      mixed.add(three)
      mixed.add(expiry)
      return mixed.value
    }
  }
}

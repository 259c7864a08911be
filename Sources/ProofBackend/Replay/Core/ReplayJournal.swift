// SPDX-License-Identifier: Apache-2.0

internal import Glibc
import ProofModel
import Synchronization

/// The file of a journal of used proofs: mapped into memory, so that a use is a few stores and no copy to the disk.
///
/// The kernel keeps what a killed process stored. A power cut may take any part of it back.
///
/// Layout, version 1; all numbers are 64 bits, little-endian:
///
///     0       head: magic, version, bytes of a slot, seed, check
///     4096    state, first copy:  16 numbers, see ``State``
///     8192    state, second copy
///     16384   slots: key 24 bytes, expiry, check
///
/// A change of the state is written into the older copy. A slot's ``check`` covers the key, the expiry, the slot's
/// index and the file's seed. It is ``Check/none`` in a slot that was never used and ``Check/unfinished`` while a
/// slot or a copy is being written, so that the end of a process is told apart from damage.
///
/// Slots are a ring. The hand steps over entries that are alive, and reuses those that have ended. The file grows when
/// the hand has met too many living ones in a row.
///
/// Its owner lets one thread at a time use it. Processes exclude each other by a lock on the file, and follow each
/// other by the hand.
@safe
final class ReplayJournal: @unchecked Sendable {
  /// Sizes of the file and of its growth.
  struct Shape: Sendable {
    /// How many slots the file grows by.
    var chunk = 65_536
    /// The most slots; at 40 bytes each.
    var most = 1 << 24
    /// How many living entries the hand steps over before the file grows.
    var steps = 64
    /// How many milliseconds a process waits for another one's use of the file.
    var patience = 5_000
  }

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

    fileprivate static let wordCount = 9

    fileprivate func word(_ index: Int) -> UInt64 {
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

    fileprivate init() {}

    fileprivate init(_ word: (Int) -> UInt64) {
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
  private enum Check {
    static let none: UInt64 = 0
    static let unfinished: UInt64 = 1
  }

  private static let pageSize = 4_096
  private static let slotsStart = 16_384
  static let slotSize = 40
  /// "ProofKit" and "replays\n", read as little-endian numbers.
  private static let magic: (UInt64, UInt64) = (0x7469_4B66_6F6F_7250, 0x0A73_7961_6C70_6572)
  private static let version: UInt64 = 1

  /// The file's own path.
  let path: String
  private let shape: Shape
  private let descriptor: Int32
  private let base: UnsafeMutableRawPointer
  private let seed: UInt64
  private var state = State()
  /// Whether a part of the file is damaged: entries may be missing.
  private var isDamaged = false
  private var damaged: [Int] = []
  private var index = SlotIndex()

  /// Opens a file, or makes it.
  init(
    path: String, shape: Shape = Shape(), mustBeNew: Bool = false
  ) throws(ReplayStoreFailure) {
    self.path = path
    self.shape = shape
    let flags = O_CREAT | O_RDWR | O_CLOEXEC | (mustBeNew ? O_EXCL : 0)
    let descriptor = unsafe open(path, flags, 0o600)
    guard descriptor >= 0 else {
      if mustBeNew, errno == EEXIST { throw .exists(place: path) }
      throw Self.failure(path)
    }
    do throws(ReplayStoreFailure) {
      // Before the lock: a FIFO, or a file that others may read, is not waited for.
      _ = try Self.size(of: descriptor, path)
      try Self.lock(descriptor, path, shape.patience)
      defer { flock(descriptor, LOCK_UN) }
      let length = Self.slotsStart + shape.most * Self.slotSize
      let mapped = unsafe mmap(nil, length, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
      guard let mapped = unsafe mapped, unsafe mapped != MAP_FAILED else {
        throw Self.failure(path)
      }
      do throws(ReplayStoreFailure) {
        seed = try unsafe Self.prepare(mapped, descriptor, path, shape)
      } catch {
        unsafe munmap(mapped, length)
        throw error
      }
      unsafe base = mapped
      self.descriptor = descriptor
    } catch {
      close(descriptor)
      throw error
    }
    try locked { () throws(ReplayStoreFailure) in try readAll() }
  }

  deinit {
    unsafe munmap(base, Self.slotsStart + shape.most * Self.slotSize)
    close(descriptor)
  }

  // MARK: The file

  /// Checks the head of a file, or writes that of a new one. Returns the file's seed.
  private static func prepare(
    _ base: UnsafeMutableRawPointer, _ descriptor: Int32, _ path: String, _ shape: Shape
  ) throws(ReplayStoreFailure) -> UInt64 {
    let size = try Self.size(of: descriptor, path)
    if size > 0 {
      guard size >= slotsStart else {
        throw .foreign(place: path, reason: "it is another program's file, or was cut short")
      }
      let head = (0..<5).map { unsafe load(base, 8 * $0) }
      // A process that was ended while it made the file has not written the head yet.
      if head != [0, 0, 0, 0, 0] || size > slotsStart + shape.chunk * slotSize {
        guard head[0] == magic.0, head[1] == magic.1 else {
          throw .foreign(place: path, reason: "it is another program's file")
        }
        guard head[2] == version << 32 | UInt64(slotSize) else {
          throw .foreign(place: path, reason: "it is of another version")
        }
        guard head[4] == check(head[0..<4]) else {
          throw .foreign(place: path, reason: "its head is damaged")
        }
        return head[3]
      }
    }
    try grow(descriptor, to: shape.chunk, path)
    var state = State()
    state.slots = UInt64(shape.chunk)
    let seed = UInt64.random(in: 1 ... .max)
    for sequence: UInt64 in 1...2 {
      state.sequence = sequence
      unsafe write(state, base, seed)
    }
    // The head is written last: a file with a head is whole, also after a power cut.
    guard fsync(descriptor) == 0 else { throw failure(path) }
    let head = [magic.0, magic.1, version << 32 | UInt64(slotSize), seed]
    for (place, word) in (head + [check(head[...])]).enumerated().reversed() {
      unsafe store(base, 8 * place, word)
    }
    guard fsync(descriptor) == 0 else { throw failure(path) }
    return seed
  }

  /// Gives the file blocks of the disk for so many slots. A store into a mapped file that has none would end the process
  /// when the disk is full.
  private static func grow(
    _ descriptor: Int32, to slots: Int, _ path: String
  ) throws(ReplayStoreFailure) {
    let result = posix_fallocate(descriptor, 0, slotsStart + slots * slotSize)
    guard result == 0 else { throw failure(path, result) }
  }

  private static func size(of descriptor: Int32, _ path: String) throws(ReplayStoreFailure) -> Int {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw failure(path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw .foreign(place: path, reason: "it is not a regular file")
    }
    guard status.st_mode & 0o077 == 0 else {
      throw .unavailable(place: path, reason: "others may read or write it")
    }
    return status.st_size
  }

  private static func failure(_ path: String, _ code: Int32 = errno) -> ReplayStoreFailure {
    .unavailable(place: path, reason: unsafe String(cString: strerror(code)))
  }

  // MARK: Turns

  /// Keeps other processes out while a closure runs.
  private func locked<R>(
    _ body: () throws(ReplayStoreFailure) -> R
  ) throws(ReplayStoreFailure) -> R {
    try Self.lock(descriptor, path, shape.patience)
    defer { flock(descriptor, LOCK_UN) }
    return try body()
  }

  /// Waits only for ``Shape/patience``: a process that was stopped while it used the file must not stop others.
  private static func lock(
    _ descriptor: Int32, _ path: String, _ patience: Int
  ) throws(ReplayStoreFailure) {
    for turn in 0... {
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return }
      guard errno == EWOULDBLOCK || errno == EINTR else { throw failure(path) }
      guard turn < patience else { break }
      usleep(1_000)
    }
    throw .unavailable(place: path, reason: "another process has used it for \(patience) ms")
  }

  // MARK: Use

  /// Uses a key unless it is used. Takes the time.
  func insert(
    _ key: ReplayKey, _ expiry: UInt64, at now: UInt64, systemTime: UInt64
  ) throws(ReplayStoreFailure) -> Bool {
    try locked { () throws(ReplayStoreFailure) in
      try follow()
      return try insert(Entry(key, expiry), at: now, systemTime)
    }
  }

  private func insert(
    _ entry: Entry, at now: UInt64, _ systemTime: UInt64
  ) throws(ReplayStoreFailure) -> Bool {
    let highest = max(state.highest, now)
    let bucket = index.bucket(of: entry)
    var slot = index.first(in: bucket)
    while let found = slot {
      let other = self.entry(at: found)
      if other.hasKey(of: entry), other.expiry >= highest { return false }
      slot = index.next(after: found)
    }
    var next = state
    next.highest = highest
    next.written = systemTime
    let free = try step(&next)
    // In this order, a process that ends at any instruction leaves an entry or none, and no damage.
    unsafe Self.store(base, Self.place(free) + 32, Check.unfinished)
    put(next)
    unsafe Self.write(entry, base, free, seed)
    index.put(free, in: bucket)
    return true
  }

  /// Moves the hand to the next slot that is free, and past it. Returns the slot.
  private func step(_ next: inout State) throws(ReplayStoreFailure) -> Int {
    var living = 0
    while true {
      if next.hand >= next.slots {
        next.hand = 0
        next.lap += 1
      }
      let slot = Int(next.hand)
      next.hand += 1
      let check = unsafe Self.load(base, Self.place(slot) + 32)
      let isFree =
        check == Check.none || check == Check.unfinished
        || entry(at: slot).expiry < next.highest
      if isFree {
        next.fresh = max(next.fresh, UInt64(slot) + 1)
        return slot
      }
      living += 1
      if living == shape.steps, Int(next.slots) < shape.most {
        next.hand = next.slots
        next.slots = UInt64(min(Int(next.slots) + shape.chunk, shape.most))
        try Self.grow(descriptor, to: Int(next.slots), path)
        index.grow(to: Int(next.slots))
      } else if living >= 64 * shape.steps {
        // The hand goes on there when the next use comes.
        var tried = state
        (tried.hand, tried.lap) = (next.hand, next.lap)
        put(tried)
        throw .full(entries: Int(next.slots))
      }
    }
  }

  // MARK: State

  /// The numbers of the file.
  func current() throws(ReplayStoreFailure) -> State {
    try locked { () throws(ReplayStoreFailure) in
      try follow()
      return state
    }
  }

  /// Changes the numbers on the disk.
  func changeDurably(_ body: (inout State) -> Void) throws(ReplayStoreFailure) {
    try change(body)
    guard fsync(descriptor) == 0 else { throw Self.failure(path) }
  }

  /// Changes the numbers.
  func change(_ body: (inout State) -> Void) throws(ReplayStoreFailure) {
    try locked { () throws(ReplayStoreFailure) in
      try follow()
      var next = state
      body(&next)
      put(next)
    }
  }

  private func put(_ changed: State) {
    state = changed
    state.sequence += 1
    unsafe Self.write(state, base, seed)
  }

  /// Reads the entries that other processes have written since the last use.
  private func follow() throws(ReplayStoreFailure) {
    // Any change after the one that this process knows has passed through the copy that is the older one here.
    let other = unsafe Self.load(base, Self.copyPlace(of: state.sequence + 1))
    guard other > state.sequence else { return }
    let before = state
    try readState()
    let (from, to) = (Int(before.hand), Int(state.hand))
    if state.lap == before.lap, from <= to {
      read(from..<to)
    } else if state.lap == before.lap + 1 {
      read(from..<Int(state.slots))
      read(0..<to)
    } else {
      read(0..<Int(state.slots))
    }
  }

  private func readAll() throws(ReplayStoreFailure) {
    try readState()
    read(0..<Int(state.slots))
    guard isDamaged else { return }
    // A file of no known start is not complete. This is said before the damage is gone.
    state.boot = 0
    put(state)
    for slot in damaged { unsafe Self.store(base, Self.place(slot) + 32, Check.unfinished) }
  }

  /// Reads the newer of the two copies that is whole.
  private func readState() throws(ReplayStoreFailure) {
    var newest: State?
    for sequence: UInt64 in 0...1 {
      let place = Self.copyPlace(of: sequence)
      let words = (0...State.wordCount).map { unsafe Self.load(base, place + 8 * $0) }
      let check = words[State.wordCount]
      guard check != Check.unfinished else { continue }
      let copy = State { words[$0] }
      guard check == Self.check(words[..<State.wordCount], seed), copy.sequence & 1 == sequence
      else {
        isDamaged = true
        continue
      }
      if copy.sequence > newest?.sequence ?? 0 { newest = copy }
    }
    let size = try Self.size(of: descriptor, path)
    let room = min(shape.most, (size - Self.slotsStart) / Self.slotSize)
    if let newest {
      state = newest
    } else {
      // After a power cut both may be torn. The slots tell for themselves.
      isDamaged = true
      state = State()
      state.slots = UInt64(room)
      state.fresh = 0
    }
    guard state.slots >= 1, state.slots <= UInt64(room), state.hand <= state.slots else {
      throw .foreign(
        place: path, reason: "it is shorter than it was, or has more slots than allowed")
    }
    index.grow(to: Int(state.slots))
  }

  /// Takes entries of the file into the index.
  private func read(_ slots: Range<Int>) {
    for slot in slots {
      let check = unsafe Self.load(base, Self.place(slot) + 32)
      if check == Check.unfinished || check == Check.none {
        if check == Check.none, slot < state.fresh { isDamaged = true }
        continue
      }
      let entry = entry(at: slot)
      guard check == entry.check(slot, seed) else {
        isDamaged = true
        damaged.append(slot)
        continue
      }
      index.put(slot, in: index.bucket(of: entry))
    }
  }

  private func entry(at slot: Int) -> Entry {
    let place = Self.place(slot)
    return unsafe Entry(
      Self.load(base, place), Self.load(base, place + 8), Self.load(base, place + 16),
      Self.load(base, place + 24))
  }

  // MARK: Numbers in memory

  private static func place(_ slot: Int) -> Int { slotsStart + slot * slotSize }

  private static func copyPlace(of sequence: UInt64) -> Int {
    pageSize * (1 + Int(sequence & 1))
  }

  private static func load(_ base: UnsafeMutableRawPointer, _ offset: Int) -> UInt64 {
    let word = unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    return UInt64(littleEndian: unsafe word.pointee.load(ordering: .acquiring))
  }

  /// Stores a number. Later stores stay later.
  private static func store(_ base: UnsafeMutableRawPointer, _ offset: Int, _ value: UInt64) {
    let word = unsafe (base + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    unsafe word.pointee.store(value.littleEndian, ordering: .releasing)
  }

  private static func write(_ state: State, _ base: UnsafeMutableRawPointer, _ seed: UInt64) {
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

  private static func write(
    _ entry: Entry, _ base: UnsafeMutableRawPointer, _ slot: Int, _ seed: UInt64
  ) {
    let place = place(slot)
    unsafe store(base, place, entry.one)
    unsafe store(base, place + 8, entry.two)
    unsafe store(base, place + 16, entry.three)
    unsafe store(base, place + 24, entry.expiry)
    unsafe store(base, place + 32, entry.check(slot, seed))
  }

  private static func check(_ words: ArraySlice<UInt64>, _ seed: UInt64 = 0) -> UInt64 {
    var mixed = Mix(seed)
    for word in words { mixed.add(word) }
    return mixed.value
  }

  /// A checksum against damage. It is none against an attacker, who could write the file.
  private struct Mix {
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
  private struct Entry {
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

  /// The slots by their keys, in the memory of this process: chains of slots.
  private struct SlotIndex {
    private static let none = UInt32.max

    private var heads: [UInt32] = []
    private var nexts: [UInt32] = []
    /// The bucket of each slot that is in a chain.
    private var buckets: [UInt32] = []

    /// Keys come from clients, so the hash has a secret of this process.
    func bucket(of entry: Entry) -> UInt32 {
      var hasher = Hasher()
      hasher.combine(entry.one)
      hasher.combine(entry.two)
      hasher.combine(entry.three)
      return UInt32(truncatingIfNeeded: hasher.finalize())
    }

    func first(in bucket: UInt32) -> Int? { Self.slot(heads[place(bucket)]) }

    func next(after slot: Int) -> Int? { Self.slot(nexts[slot]) }

    mutating func put(_ slot: Int, in bucket: UInt32) {
      remove(slot)
      let place = place(bucket)
      nexts[slot] = heads[place]
      heads[place] = UInt32(slot)
      buckets[slot] = bucket
      isChained[slot] = true
    }

    private var isChained: [Bool] = []

    private mutating func remove(_ slot: Int) {
      guard isChained[slot] else { return }
      isChained[slot] = false
      let place = place(buckets[slot])
      if heads[place] == UInt32(slot) {
        heads[place] = nexts[slot]
        return
      }
      var other = Int(heads[place])
      while nexts[other] != UInt32(slot) { other = Int(nexts[other]) }
      nexts[other] = nexts[slot]
    }

    mutating func grow(to slots: Int) {
      let more = slots - nexts.count
      guard more > 0 else { return }
      nexts += [UInt32](repeating: Self.none, count: more)
      buckets += [UInt32](repeating: 0, count: more)
      isChained += [Bool](repeating: false, count: more)
      guard slots > heads.count else { return }
      var size = max(64, heads.count)
      while size < slots { size *= 2 }
      heads = [UInt32](repeating: Self.none, count: size)
      for slot in isChained.indices where isChained[slot] {
        let place = place(buckets[slot])
        nexts[slot] = heads[place]
        heads[place] = UInt32(slot)
      }
    }

    private func place(_ bucket: UInt32) -> Int { Int(bucket) & (heads.count - 1) }

    private static func slot(_ number: UInt32) -> Int? { number == none ? nil : Int(number) }
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import Glibc
import ProofModel
import Synchronization

/// The file of a journal of used proofs: mapped into memory, so that a use is a few stores and no copy to the disk.
///
/// The kernel keeps what a killed process stored. A power cut may take any part of it back.
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
}

// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Synchronization

/// Tells a process from the one that it was forked from, without a system call.
///
/// The number stands in a page that the kernel wipes in a child (`MADV_WIPEONFORK`). Where the kernel cannot, each
/// question costs a system call.
enum CoreProcess {
  /// A number that no other process has, but by chance. A child draws its own on its first question.
  static var number: UInt64 {
    guard let page else { return UInt64(bitPattern: Int64(getpid())) }
    let known = page.load()
    if known != 0 { return known }
    let drawn = UInt64.random(in: 1 ... .max)
    return page.set(drawn) ?? drawn
  }

  @safe
  private struct Page: @unchecked Sendable {
    // Sendable because the page holds an atomic alone, and is never unmapped.
    let number: UnsafeMutablePointer<Atomic<UInt64>>

    func load() -> UInt64 { unsafe number.pointee.load(ordering: .relaxed) }

    /// Sets the number where there is none, and gives the one that is there otherwise.
    func set(_ drawn: UInt64) -> UInt64? {
      let (isSet, there) = unsafe number.pointee.compareExchange(
        expected: 0, desired: drawn, ordering: .relaxed)
      return isSet ? nil : there
    }
  }

  private static let page: Page? = {
    // Linux, since 4.14. The C library's header may be older.
    let wipeOnFork: Int32 = 18
    let size = Int(sysconf(Int32(_SC_PAGESIZE)))
    let memory = unsafe mmap(
      nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return nil }
    guard unsafe madvise(memory, size, wipeOnFork) == 0 else {
      unsafe munmap(memory, size)
      return nil
    }
    // Zeros are what the kernel leaves, and what an atomic 0 is.
    return unsafe Page(number: memory.assumingMemoryBound(to: Atomic<UInt64>.self))
  }()
}

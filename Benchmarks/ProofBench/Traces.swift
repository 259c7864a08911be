/// A file of valgrind's callgrind.
package enum CallgrindTotal {
  /// The instructions of all that the file counts, or nil if it does not say.
  package static func parse(_ text: String) -> Int? {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == "totals:" || words[0] == "summary:" { return Int(words[1]) }
    }
    return nil
  }
}

/// What `strace -f -o` writes.
package enum SystemCalls {
  /// How threads begin, wait for each other and end, and how memory is had: that depends on who comes
  /// first, and on what was free.
  private static let ofThreadsAndMemory: Set<Substring> = [
    "brk", "clone", "clone3", "exit", "futex", "getrandom", "madvise", "mmap", "mprotect", "munmap",
    "rseq", "rt_sigprocmask", "sched_getaffinity", "sched_yield", "set_robust_list",
  ]

  /// Calls of all threads between marks, by name of the mark; those of threads and memory are left out.
  ///
  /// - Parameters:
  ///   - text: Lines like `123 openat(…) = 3`; a call that was interrupted stands on two.
  ///   - folder: Where the marks stand: files `begin/name` and `end/name`, asked for.
  package static func parse(_ text: String, marks folder: String) -> [String: Int] {
    var counts: [String: Int] = [:]
    var current: String?
    for line in text.split(separator: "\n") {
      let call = line.drop { $0 != " " }.drop { $0 == " " }
      guard let end = call.firstIndex(of: "("), !call.hasPrefix("<"), !call.hasPrefix("+"),
        !call.hasPrefix("-")
      else { continue }
      if let (isBegin, name) = mark(call, folder) {
        current = isBegin ? name : nil
        if isBegin { counts[name] = 0 }
      } else if let current, !ofThreadsAndMemory.contains(call[..<end]) {
        counts[current, default: 0] += 1
      }
    }
    return counts
  }

  private static func mark(_ call: Substring, _ folder: String) -> (isBegin: Bool, name: String)? {
    let parts = call.split(separator: "\"", maxSplits: 2)
    guard parts.count == 3, parts[1].hasPrefix(folder + "/") else { return nil }
    let words = parts[1].dropFirst(folder.count + 1).split(separator: "/", maxSplits: 1)
    guard words.count == 2 else { return nil }
    return (words[0] == "begin", String(words[1]))
  }
}

// SPDX-License-Identifier: Apache-2.0

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

/// The output of `strace -f -o`.
package enum SystemCalls {
  /// How memory is had, and how threads begin, wait for each other and end: where there are several
  /// threads, that depends on who comes first.
  private static let ofThreads: Set<Substring> = [
    "brk", "clone", "clone3", "exit", "futex", "madvise", "mmap", "mprotect", "munmap", "rseq",
    "rt_sigprocmask", "sched_getaffinity", "sched_yield", "set_robust_list",
  ]

  /// Calls of all threads between marks, by name of the mark. Between marks where threads begin, those of
  /// threads and memory are left out.
  ///
  /// - Parameters:
  ///   - text: Lines like `123 openat(…) = 3`; a call that was interrupted stands on two.
  ///   - folder: Where the marks stand: files `begin/name` and `end/name`, asked for.
  /// - Returns: How many calls there were, by name.
  package static func parse(_ text: String, marks folder: String) -> [String: Int] {
    var counts: [String: [Substring: Int]] = [:]
    var current: String?
    for line in text.split(separator: "\n") {
      let call = line.drop { $0 != " " }.drop { $0 == " " }
      // Not the second line of a call, nor a signal, nor an end.
      guard let end = call.firstIndex(of: "("), call.first?.isLetter == true else { continue }
      if let (isBegin, name) = mark(call, folder) {
        current = isBegin ? name : nil
        if isBegin { counts[name] = [:] }
      } else if let current {
        counts[current]?[call[..<end], default: 0] += 1
      }
    }
    return counts.mapValues { calls in
      let hasThreads = calls["clone3"] != nil || calls["clone"] != nil
      return calls.filter { !hasThreads || !ofThreads.contains($0.key) }.values.reduce(0, +)
    }
  }

  private static func mark(_ call: Substring, _ folder: String) -> (isBegin: Bool, name: String)? {
    let parts = call.split(separator: "\"", maxSplits: 2)
    guard parts.count == 3, parts[1].hasPrefix(folder + "/") else { return nil }
    let words = parts[1].dropFirst(folder.count + 1).split(separator: "/", maxSplits: 1)
    guard words.count == 2 else { return nil }
    return (words[0] == "begin", String(words[1]))
  }
}

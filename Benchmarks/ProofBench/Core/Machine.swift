// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import ProofBytes

/// The machine of a run, and what others do on it meanwhile.
package struct Machine {
  private let start: (busy: Double, own: Double, time: ContinuousClock.Instant)?

  /// Begins to watch.
  package init() { start = Self.now() }

  /// The share of all processors that others have taken since; nil where the system does not tell.
  package var foreign: Double? {
    guard let start, let now = Self.now() else { return nil }
    let wall = (now.time - start.time).nanoseconds / 1e9
    let processors = Double(max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    guard wall > 0 else { return nil }
    return max(0, (now.busy - start.busy) - (now.own - start.own)) / (wall * processors)
  }

  /// Processor, number of processors, memory, kernel: one line.
  package static var description: String {
    let model = contents(of: "/proc/cpuinfo").flatMap { text in
      text.split(separator: "\n").first { $0.hasPrefix("model name") }
        .flatMap { $0.split(separator: ":").last.map { String($0.drop(while: { $0 == " " })) } }
    }
    let memory = Double(sysconf(Int32(_SC_PHYS_PAGES))) * Double(sysconf(Int32(_SC_PAGESIZE)))
    // The rest of a release names a build, not a system.
    let release =
      contents(of: "/proc/sys/kernel/osrelease")
      .map { $0.split(separator: ".").prefix(2).joined(separator: ".") } ?? "of unknown release"
    return "\(model ?? "unknown processor"), \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) processors, "
      + "\(Int((memory / 1_073_741_824).rounded())) GiB, Linux \(release)"
  }

  /// Today in UTC, as 2026-01-31.
  package static var date: String {
    CalendarDate(daysSince1970: UnixTime.now.seconds / 86_400).text
  }

  /// Seconds that all processors have worked, stolen time included; and this process and its children.
  private static func now() -> (busy: Double, own: Double, time: ContinuousClock.Instant)? {
    guard let line = contents(of: "/proc/stat")?.split(separator: "\n").first else { return nil }
    let ticks = line.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
    guard ticks.count == 8 else { return nil }
    // user, nice, system, idle, waiting for a disk, interrupts, soft interrupts, stolen
    let busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]
    let perSecond = Double(sysconf(Int32(_SC_CLK_TCK)))
    return (busy / perSecond, own(0) + own(-1), .now)
  }

  /// CPU time of this process (RUSAGE_SELF, 0), or of its children that have ended
  /// (RUSAGE_CHILDREN, -1).
  private static func own(_ who: __rusage_who_t) -> Double {
    var usage = rusage()
    _ = unsafe getrusage(who, &usage)
    return [usage.ru_utime, usage.ru_stime].reduce(0) {
      $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import DurableFiles
package import ProofBackend
package import ProofModel

/// Fetches a gate's configuration from the service, and keeps the newest one in a file.
///
/// The file is replaced in one step and is on the medium before the gate judges by its content: after a crash it has the
/// old configuration or the new one. The service is asked with the tag of the last answer, so that it sends nothing
/// twice.
package final class ConfigurationPull: Sendable {
  /// An answer of the service.
  package enum Answer: Sendable, Hashable {
    /// Nothing has changed since the answer of the tag.
    case unchanged
    /// A configuration, and the tag of this answer.
    case text(String, tag: String?)
  }

  /// Asks the service.
  package typealias Ask = @Sendable (_ tag: String?) throws -> Answer

  /// A configuration that was fetched.
  package struct Pulled: Sendable {
    /// The configuration.
    package let configuration: GateConfiguration
    /// The reason why it is not in the file; nil if it is. The gate judges by it, and fetches it again.
    package let problem: String?
  }

  /// Counts of the pulls so far.
  package struct Counts: Sendable, Hashable {
    /// Configurations that were taken.
    package var taken = 0
    /// Answers that nothing has changed.
    package var unchanged = 0
    /// Questions without an answer.
    package var failed = 0
    /// Answers that cannot be believed, or are older than what the gate holds.
    package var refused = 0
    /// How many of the last questions in a row failed or were refused.
    package var inRow = 0
    /// The time of the last good answer; nil for none since the start.
    package var heard: UnixTime?
  }

  private struct State {
    var tag: String?
    var counts = Counts()
  }

  private let file: String
  private let fingerprint: Digest
  private let clock: UnixClock
  private let ask: Ask
  private let state = CoreLock(State())

  /// Describes where configurations come from, and where they are kept.
  ///
  /// - Parameters:
  ///   - file: The file that keeps the newest one.
  ///   - fingerprint: The fingerprint of the key that signs them.
  ///   - clock: The time.
  ///   - ask: Asks the service.
  package init(
    keptIn file: String, signedBy fingerprint: Digest, clock: UnixClock,
    _ ask: @escaping Ask
  ) {
    self.file = file
    self.fingerprint = fingerprint
    self.clock = clock
    self.ask = ask
  }

  /// Counts of the pulls so far.
  package var counts: Counts { state.withLock { $0.counts } }

  /// Asks the service once. One thread at a time may call it.
  ///
  /// - Parameter held: The configuration that the gate judges by; nil for none.
  /// - Returns: The configuration to judge by from now on; nil if nothing has changed.
  /// - Throws: ``PullFailure``. The gate goes on with what it holds.
  package func pull(after held: GateConfiguration?) throws(PullFailure) -> Pulled? {
    let tag = held == nil ? nil : state.withLock { $0.tag }
    let answer: Answer
    do { answer = try ask(tag) } catch {
      state.withLock { state in
        state.counts.failed += 1
        state.counts.inRow += 1
      }
      throw PullFailure("\(error)")
    }
    guard case .text(let text, let next) = answer else {
      hear { $0.unchanged += 1 }
      return nil
    }
    let configuration: GateConfiguration
    do { configuration = try read(text, after: held) } catch {
      state.withLock { state in
        state.counts.refused += 1
        state.counts.inRow += 1
        // Have the whole text sent again: a tag must not stand for a configuration that was not taken.
        state.tag = nil
      }
      throw error
    }
    let problem = keep(text)
    hear { $0.taken += 1 }
    state.withLock { $0.tag = problem == nil ? next : nil }
    return Pulled(configuration: configuration, problem: problem)
  }

  private func hear(_ count: (inout Counts) -> Void) {
    let now = clock.now
    state.withLock { state in
      count(&state.counts)
      state.counts.inRow = 0
      state.counts.heard = now
    }
  }

  private func read(
    _ text: String, after held: GateConfiguration?
  ) throws(PullFailure) -> GateConfiguration {
    let configuration: GateConfiguration
    do throws(GateConfigurationError) {
      configuration = try GateConfiguration(text, signedBy: fingerprint, after: held)
    } catch {
      throw PullFailure("\(error)")
    }
    if let audience = configuration.audience {
      throw PullFailure("\(GateConfigurationError.audienceOnly(audience))")
    }
    if let held, configuration.serial == held.serial, configuration.made < held.made {
      throw PullFailure(
        "The gate holds a configuration of second \(held.made), and \(configuration.made) is older."
      )
    }
    return configuration
  }

  private func keep(_ text: String) -> String? {
    do throws(FileFailure) {
      try SecretFile.replace(file, Array((text + "\n").utf8).span)
      return nil
    } catch {
      return "\(error)"
    }
  }
}

/// The reason why a gate got no configuration.
package struct PullFailure: Error, Sendable, Hashable, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// The times at which a gate asks the service.
package struct PullSchedule: Sendable, Hashable {
  /// Seconds between two questions while the service answers.
  package var interval: Double
  /// The most seconds between two questions while it does not.
  package var ceiling: Double

  /// Describes the times.
  package init(interval: Double = 30, ceiling: Double = 600) {
    self.interval = interval
    self.ceiling = max(interval, ceiling)
  }

  /// Seconds until the next question: the interval, twice as long after each failure up to the ceiling, and up to a
  /// fifth more or less, so that many gates do not ask in the same moment.
  ///
  /// - Parameters:
  ///   - failures: How many questions in a row failed.
  ///   - random: A number from 0 to 1.
  /// - Returns: Seconds.
  package func wait(afterFailures failures: Int, random: Double) -> Double {
    var seconds = interval
    for _ in 0..<max(0, failures) where seconds < ceiling { seconds *= 2 }
    return min(seconds, ceiling) * (0.8 + 0.4 * random)
  }
}

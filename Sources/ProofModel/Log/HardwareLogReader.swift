// SPDX-License-Identifier: Apache-2.0

/// Reads the parts of a hardware's log that phones brought, and tells its findings.
///
/// Parts may come in any order, repeated, and over any number of phones. The order of their entries
/// gives the clearest findings. A part whose head is wrong says nothing about the hardware: a phone
/// changed it, or it is of other hardware.
public struct HardwareLogReader: ~Copyable {
  /// The bound of key steps for one part, where the caller has no other.
  public static var stepsMax: UInt64 { CoreLog.stepsMax }

  private var core: CoreLogReader

  /// Begins at the key's entry.
  ///
  /// - Parameter key: The key of the log.
  public init(of key: HardwareLogKey) {
    core = CoreLogReader(key)
  }

  /// Reads one part. If it throws, the reader is as it was.
  ///
  /// - Parameters:
  ///   - part: The part.
  ///   - steps: At most so many key steps are computed, so that a forged part costs a bounded
  ///     amount of work.
  /// - Returns: What the part has shown.
  /// - Throws: ``ProofError/differs(_:)`` if the head is wrong, ``ProofError/logTooFar(steps:)``.
  public mutating func read(
    _ part: HardwareLogPart, within steps: UInt64 = HardwareLogReader.stepsMax
  ) throws(ProofError) -> [HardwareLogFinding] {
    try core.read(part, steps)
  }

  /// Ends the reading, and tells what is still open: entries that did not come or were not explained.
  ///
  /// - Returns: The last findings, and the judgement of all that was read.
  public consuming func end() -> ([HardwareLogFinding], HardwareLogOutcome) {
    core.end()
  }
}

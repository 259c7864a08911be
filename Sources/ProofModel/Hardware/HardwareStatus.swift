// SPDX-License-Identifier: Apache-2.0

/// The status that hardware tells everyone, unauthenticated: use it to find hardware, not to trust
/// it.
public struct HardwareStatus: Sendable, Hashable {
  /// The hardware's mode.
  public let mode: Mode
  /// The hardware's name; nil if it is all zeros, which no provisioned hardware has.
  public let hardware: HardwareID?
  /// The number of instances that it can serve.
  public let slotCount: Int
  /// The number of these slots that are taken.
  public let slotsUsed: Int
  /// The earliest time that it can be, as far as the hardware knows; nil if it knows none.
  public let epoch: UnixTime?

  /// Decodes the hardware's answer to ``Message/askForStatus``.
  ///
  /// - Parameter message: The hardware's answer.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(_ message: Message) throws(ProofError) {
    self = try CoreMessage.status(message.bytes(of: .status))
  }

  init(mode: Mode, hardware: HardwareID?, slotCount: Int, slotsUsed: Int, epoch: UnixTime?) {
    self.mode = mode
    self.hardware = hardware
    self.slotCount = slotCount
    self.slotsUsed = slotsUsed
    self.epoch = epoch
  }

  /// The status as a message.
  public var message: Message { CoreMessage.encode(self) }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofLink
internal import ProofModel

/// A simulated attacker: it hears every PDU, has no key, and sends PDUs that may do harm.
package struct LinkImpostor: ~Copyable {
  /// The attributes of the PDUs that it forges; the handles are those of docs/LINK.md.
  private static let commandHandle: UInt16 = 0x0008
  private static let verdictHandle: UInt16 = 0x000A
  private static let recordedCountMax = 64

  private var toHardware: [[UInt8]] = []
  private var toApp: [[UInt8]] = []
  private var reassembler = Reassembler()
  /// The counter of the command heard last, for forging verdicts.
  private var counter: UInt64 = 0

  package init() {}

  package mutating func hear(_ pdu: [UInt8], toApp isToApp: Bool) {
    if isToApp {
      Self.record(pdu, in: &toApp)
      return
    }
    Self.record(pdu, in: &toHardware)
    guard pdu.count > 3, LinkPDU.number(pdu[1...]) == Self.commandHandle,
      case .complete(let message) = reassembler.receive(Array(pdu[3...])),
      let command = try? ReceivedCommand(message)
    else { return }
    counter = command.counter
  }

  /// A PDU for one side, or several: a replay, an altered replay, noise, a forged verdict.
  package func speak(toApp isToApp: Bool, _ dice: inout LinkDice) -> [[UInt8]] {
    let heard = isToApp ? toApp : toHardware
    switch dice.below(4) {
    case 0 where !heard.isEmpty:
      return [heard[dice.below(heard.count)]]
    case 1 where !heard.isEmpty:
      var altered = heard[dice.below(heard.count)]
      altered[dice.below(altered.count)] ^= 1 << UInt8(dice.below(8))
      return [altered]
    case 2 where isToApp:
      return verdict(&dice)
    default:
      return [(0..<1 + dice.below(40)).map { _ in UInt8(truncatingIfNeeded: dice.roll()) }]
    }
  }

  /// The right counter, and no receipt or a made-up one.
  private func verdict(_ dice: inout LinkDice) -> [[UInt8]] {
    let verdicts: [Verdict] = [
      .accepted, .held, .notExecuted, .integrityDiffers, .deviceDiffers, .stale, .unknownInstance,
      .expired, .malformed,
    ]
    let verdict = verdicts[dice.below(verdicts.count)]
    var bytes = Answer(verdict, counter: counter, to: .random(), with: nil).message.bytes
    if dice.happens(500) { bytes[bytes.count - 1] = 1 }
    guard let message = try? Message(.verdict, bytes), let packets = try? message.packets(of: 20)
    else { return [] }
    let handle = Self.verdictHandle
    let head = [LinkPDU.notification] + handle.littleEndianBytes
    return packets.map { head + $0 }
  }

  private static func record(_ pdu: [UInt8], in recorded: inout [[UInt8]]) {
    if recorded.count == recordedCountMax { recorded.removeFirst() }
    if !pdu.isEmpty { recorded.append(pdu) }
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

/// Asks for the challenge of a sealed command.
///
/// An exchange that does not know the hardware's characteristic for it looks for it first. An
/// exchange that is to seal never sends its command in the clear, whatever the hardware answers.
extension LinkExchange {
  /// Timeouts in a row of the search before it discovers all attributes again.
  static let sealTimeoutCountMax = 3

  /// Reads the challenge, or looks for its place first.
  mutating func askForSealedChallenge() {
    guard sealHandle == 0 else { return read(.sealedChallenge) }
    guard let last = table?.values.values.max(), last < UInt16.max else { return missSeal() }
    sealTimeoutCount = 0
    findSeal(in: (last + 1)...UInt16.max)
  }

  private mutating func findSeal(in range: ClosedRange<UInt16>) {
    enter(.findingSeal(range))
    send(LinkPDU.attributes(LinkPDU.characteristic, in: range))
  }

  mutating func foundSeal(_ pdu: [UInt8], in range: ClosedRange<UInt16>) {
    switch LinkOpening.search(pdu, for: AttributeTable.sealedChallengeNumber, in: range) {
    case .nothing: break
    case .value(let handle):
      sealHandle = handle
      read(.sealedChallenge)
    case .goOn(let rest): findSeal(in: rest)
    case .missing: missSeal()
    }
  }

  mutating func sealTimedOut(in range: ClosedRange<UInt16>) {
    sealTimeoutCount += 1
    if sealTimeoutCount < Self.sealTimeoutCountMax { findSeal(in: range) } else { doubtTable() }
  }

  /// The hardware refused to be read. 0x0E: it has no key at the moment, or draws no challenge.
  mutating func refusedSeal(_ pdu: [UInt8]) {
    // The handle may also be wrong by now.
    sealHandle = 0
    if pdu.last == LinkPDU.unlikely { fail(.busy(seconds: 1)) } else { missSeal() }
  }

  mutating func sealed(_ message: Message) {
    guard case .commanding = phase, let outstanding,
      let receipt = try? outstanding.receipt(from: message)
    else { return }
    channel = outstanding.channel(from: message)
    take(receipt)
  }

  private mutating func missSeal() { finish(.failure(LinkError(.sealingMissing))) }
}

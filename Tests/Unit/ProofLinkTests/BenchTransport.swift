// SPDX-License-Identifier: Apache-2.0

import LinkBench
import OwnThreads
import ProofLink
import ProofModel

/// The way to the hardware on the bench, with a hand in it: the test decides, at each PDU and at
/// each opening, what becomes of it.
final class BenchTransport: LinkTransport {
  enum Fate: Sendable {
    case carry
    case lose
    /// The link ends, and the PDU with it.
    case cut
    /// It is lost, and these PDUs come to the app instead.
    case answer([[UInt8]])
    /// It is carried; if it goes to the hardware, what a liar says to the app comes before.
    case lie([[UInt8]])
  }

  private struct State {
    var count = 0
    var channel: BenchChannel?
  }

  private let bench: Bench
  private let state = CoreLock(State())
  /// Decides the fate of event number n, an opening or a PDU in either direction, counted from 1.
  private let decide: @Sendable (Int) -> Fate

  init(_ bench: Bench, decide: @escaping @Sendable (Int) -> Fate = { _ in .carry }) {
    self.bench = bench
    self.decide = decide
  }

  /// Openings and PDUs so far.
  var count: Int { state.withLock { $0.count } }

  var isUp: Bool { state.withLock { $0.channel != nil } }

  /// Returns when no link is up.
  func waitUntilDown() async {
    guard let over = state.withLock({ $0.channel?.over }) else { return }
    for await _ in over {}
  }

  func open() async throws(LinkUnavailable) -> any LinkChannel {
    if case .cut = next() { throw LinkUnavailable("out of reach") }
    let channel = BenchChannel(self)
    // At once, for openings and ends come from several threads: who was given up while it looked
    // for the hardware takes nothing from who came after.
    let before = try state.withLock { state throws(LinkUnavailable) in
      guard !Task.isCancelled else { throw LinkUnavailable("given up") }
      defer { state.channel = channel }
      bench.connect()
      return state.channel
    }
    before?.close()
    return channel
  }

  private func next() -> Fate {
    let number = state.withLock {
      $0.count += 1
      return $0.count
    }
    return decide(number)
  }

  fileprivate func carry(_ pdu: [UInt8], from channel: BenchChannel) {
    guard isUp(channel), survives(channel) else { return }
    let answers = state.withLock { $0.channel === channel ? bench.receive(pdu) : [] }
    guard let answers else {
      channel.close()
      return
    }
    for answer in answers where survives(channel, toApp: true) { channel.inbox.yield(answer) }
  }

  fileprivate func end(_ channel: BenchChannel) {
    state.withLock { state in
      guard state.channel === channel else { return }
      state.channel = nil
      bench.disconnect()
    }
  }

  private func isUp(_ channel: BenchChannel) -> Bool {
    state.withLock { $0.channel === channel }
  }

  private func survives(_ channel: BenchChannel, toApp: Bool = false) -> Bool {
    guard isUp(channel) else { return false }
    switch next() {
    case .carry: return true
    case .lie(let pdus):
      if !toApp { for pdu in pdus { channel.inbox.yield(pdu) } }
      return true
    case .lose: return false
    case .answer(let pdus):
      for pdu in pdus { channel.inbox.yield(pdu) }
      return false
    case .cut:
      channel.close()
      return false
    }
  }
}

final class BenchChannel: LinkChannel {
  let received: AsyncStream<[UInt8]>
  fileprivate let inbox: AsyncStream<[UInt8]>.Continuation
  private let transport: BenchTransport
  fileprivate let (over, end) = AsyncStream<Never>.makeStream()

  fileprivate init(_ transport: BenchTransport) {
    self.transport = transport
    (received, inbox) = AsyncStream.makeStream()
  }

  func send(_ pdu: [UInt8]) { transport.carry(pdu, from: self) }

  func close() {
    transport.end(self)
    inbox.finish()
    end.finish()
  }
}

/// An app that was measured: it proves with what the bench's token holds.
struct BenchProver: CommandProver {
  let secrets: HardwareSecrets
  /// The reason why the app cannot be measured.
  var failure: ProofError?
  /// Gets the counters of the proofs, as any listener on the air does.
  var hears: @Sendable (UInt64) -> Void = { _ in }

  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm
  ) throws(ProofError) -> ProvedCommand {
    try prove(
      command, kind, from: instance, to: hardware, answering: challenge, form: form, stepping: nil)
  }

  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm, stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand {
    if let failure { throw failure }
    hears(challenge.counter)
    return ProvedCommand(
      command, proving: kind, from: instance, to: hardware, answering: challenge, with: secrets,
      stepping: ratchet)
  }

  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: SealedChallenge, of token: TokenDigest, form: TokenForm,
    stepping ratchet: Ratchet?
  ) throws(ProofError) -> ProvedCommand {
    if let failure { throw failure }
    hears(challenge.challenge.counter)
    return try ProvedCommand(
      command, proving: kind, from: instance, to: hardware, answering: challenge, of: token,
      with: secrets, stepping: ratchet)
  }

  func receipt(
    of answer: Answer, to token: MeasurementToken, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt {
    if let failure { throw failure }
    return try token.receipt(of: answer, with: secrets)
  }

  func delegate(
    _ loan: Delegation.Loan, from lender: Delegation.Lender, form: TokenForm
  ) throws(ProofError) -> Delegation {
    if let failure { throw failure }
    return Delegation(loan, from: lender, with: secrets)
  }

  func receipt(
    of answer: Answer, to delegation: Delegation, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt {
    if let failure { throw failure }
    return try delegation.receipt(of: answer, with: secrets)
  }

  func recall(
    of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Recall {
    if let failure { throw failure }
    return Recall(of: command.nonce, counter: command.counter, from: instance, with: secrets)
  }
}

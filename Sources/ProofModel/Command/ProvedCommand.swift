// SPDX-License-Identifier: Apache-2.0

/// A command with its proofs, ready to be sent, and the values that authenticate the answer.
public struct ProvedCommand: Sendable {
  /// The message to send.
  public let message: Message
  /// The nonce that the proofs answer.
  public let nonce: ProofNonce
  /// The kind of proof.
  public let kind: ProofKind
  /// The counter of the challenge answered.
  public let counter: UInt64
  /// The app instance that sends.
  public let instance: InstanceID
  /// The ratchet to store before the command is sent; nil where the slot has none.
  public let ratchet: Ratchet?
  private let secrets: HardwareSecrets
  /// The values that open the answer to a sealed command; nil for a command in the clear.
  private let sealed: CoreSealed.Sent?
  /// The token that a sealed command was made under.
  private let token: TokenDigest?

  /// Whether the command is sealed, and only a sealed answer counts.
  public var isSealed: Bool { sealed != nil }

  /// Proves a command.
  ///
  /// An integrity command carries both proofs. The right device proof tells the hardware that the
  /// app's device is known, even if the app has changed.
  ///
  /// - Parameters:
  ///   - command: The command to be done.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's last challenge.
  ///   - secrets: The secrets that app and hardware share, made from a fresh measurement.
  ///   - ratchet: The ratchet of the token; nil where the token has none.
  public init(
    _ command: Command, proving kind: ProofKind, from instance: InstanceID,
    to hardware: HardwareID, answering challenge: Challenge, with secrets: HardwareSecrets,
    stepping ratchet: Ratchet? = nil
  ) {
    self.init(
      command, proving: kind, from: instance, to: hardware, answering: challenge, with: secrets,
      stepping: ratchet, releasing: { _, _ in })
  }

  /// Proves a command, and lends each proof once its MAC is done. The proof as the closure leaves
  /// it goes into the message, and the device proof binds it.
  package init<E: Error>(
    _ command: Command, proving kind: ProofKind, from instance: InstanceID,
    to hardware: HardwareID, answering challenge: Challenge, with secrets: HardwareSecrets,
    stepping ratchet: Ratchet? = nil,
    releasing release: (inout Proof, _ previous: Proof?) throws(E) -> Void
  ) throws(E) {
    let value = ratchet.map { $0.value ?? CoreRatchet.begin(secrets.core, $0.token) }
    let known = UInt32(truncatingIfNeeded: ratchet?.lastAccepted ?? 0)
    let request = CoreRequest(
      command: command, kind: kind, instance: instance, hardware: hardware, challenge: challenge,
      ratchet: value.map { ($0, known) })
    (message, nonce) = try request.encode(with: secrets.core, releasing: release)
    if let ratchet, let value {
      self.ratchet = Ratchet(
        ratchet.policy, of: ratchet.token, lastAccepted: ratchet.lastAccepted, value: value,
        after: CoreRatchet.following(value, nonce, secrets.core))
    } else {
      self.ratchet = nil
    }
    self.kind = kind
    counter = challenge.counter
    self.instance = instance
    self.secrets = secrets
    sealed = nil
    token = nil
  }

  /// Proves a command and seals it: an eavesdropper reads neither the command nor which instance
  /// sends it, nor the answer.
  ///
  /// - Parameters:
  ///   - command: The command to be done; at most 216 bytes.
  ///   - kind: The kind of proof to make.
  ///   - instance: The app instance that asks.
  ///   - hardware: The hardware that is asked.
  ///   - challenge: The hardware's last challenge, with its key for the command.
  ///   - token: The token that the hardware holds.
  ///   - secrets: The secrets that app and hardware share, made from a fresh measurement.
  ///   - ratchet: The ratchet of the token; nil where the token has none.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)`` if the command is too long,
  ///   ``ProofError/differs(_:)`` if the key is none that a piece of hardware makes.
  public init(
    _ command: Command, proving kind: ProofKind, from instance: InstanceID,
    to hardware: HardwareID, answering challenge: SealedChallenge, of token: TokenDigest,
    with secrets: HardwareSecrets, stepping ratchet: Ratchet? = nil
  ) throws(ProofError) {
    try self.init(
      command, proving: kind, from: instance, to: hardware, answering: challenge, of: token,
      with: secrets, stepping: ratchet, releasing: { _, _ in })
  }

  /// Proves a command and seals it, and lends each proof before, as for a command in the clear.
  package init(
    _ command: Command, proving kind: ProofKind, from instance: InstanceID,
    to hardware: HardwareID, answering challenge: SealedChallenge, of token: TokenDigest,
    with secrets: HardwareSecrets, stepping ratchet: Ratchet? = nil,
    releasing release: (inout Proof, _ previous: Proof?) throws(ProofError) -> Void
  ) throws(ProofError) {
    let value = ratchet.map { $0.value ?? CoreRatchet.begin(secrets.core, $0.token) }
    let known = UInt32(truncatingIfNeeded: ratchet?.lastAccepted ?? 0)
    let request = CoreSealedRequest(
      command: command, kind: kind, instance: instance, hardware: hardware, challenge: challenge,
      token: token, ratchet: value.map { ($0, known) })
    let sent: CoreSealed.Sent
    (message, nonce, sent) = try request.encode(with: secrets.core, releasing: release)
    if let ratchet, let value {
      self.ratchet = Ratchet(
        ratchet.policy, of: ratchet.token, lastAccepted: ratchet.lastAccepted, value: value,
        after: CoreRatchet.following(value, CoreSealed.step(sent), secrets.core))
    } else {
      self.ratchet = nil
    }
    self.kind = kind
    counter = challenge.challenge.counter
    self.instance = instance
    self.secrets = secrets
    sealed = sent
    self.token = token
  }

  /// Seals a further command of a channel, without a proof of its own. Use a channel once: the answer
  /// to this command tells the next one.
  ///
  /// - Parameters:
  ///   - command: The command to be done; at most 216 bytes.
  ///   - channel: The channel, as the answer to the command before gave it.
  /// - Throws: ``ProofError/outOfRange(field:value:allowed:)`` if the command is too long.
  public init(_ command: Command, in channel: CommandChannel) throws(ProofError) {
    let sent: CoreSealed.Sent
    (message, nonce, sent) = try CoreSealed.next(
      command, counter: channel.counter, after: channel.last)
    kind = channel.kind
    counter = channel.counter
    instance = channel.instance
    ratchet = nil
    secrets = channel.secrets
    sealed = sent
    token = channel.token
  }

  /// The channel for the next command, if the hardware's answer opens one or goes on with it.
  ///
  /// - Parameter message: The message that came over the link.
  /// - Returns: The channel; nil if there is none, or if the answer does not open.
  public func channel(from message: Message) -> CommandChannel? {
    guard message.type == .sealedAnswer, let sealed, let token,
      let opened = try? CoreSealed.answer(message.bytes, counter: counter, sealed),
      opened.next != 0, [.accepted, .acceptedDeviceOnly].contains(opened.answer.verdict)
    else { return nil }
    return CommandChannel(
      counter: opened.next, kind: kind, instance: instance, token: token, secrets: secrets,
      last: sealed)
  }

  /// Checks the hardware's answer, sealed or in the clear.
  ///
  /// - Parameter message: The message that came over the link.
  /// - Returns: The authenticated verdict.
  /// - Throws: As ``receipt(of:)``; ``ProofError/differs(_:)`` if a sealed answer was made
  ///   under another key or answers another command.
  public func receipt(from message: Message) throws(ProofError) -> Receipt {
    guard message.type == .sealedAnswer, let sealed else { return try receipt(of: Answer(message)) }
    let answer = try CoreSealed.answer(message.bytes, counter: counter, sealed).answer
    return Receipt(opened: answer, to: nonce)
  }

  /// Checks the hardware's answer. An answer in the clear to a sealed command is never a receipt.
  ///
  /// - Parameter answer: The answer that came over the link.
  /// - Returns: The authenticated verdict.
  /// - Throws: ``ProofError/unauthenticated(_:)``, ``ProofError/answerToAnother(expected:actual:)``,
  ///   ``ProofError/answerToRecall(_:)``, ``ProofError/differs(_:)``.
  public func receipt(of answer: Answer) throws(ProofError) -> Receipt {
    guard sealed == nil else { throw .unauthenticated(answer.verdict) }
    let receipt = try Receipt(answer, to: nonce, counter: counter, with: secrets)
    // These two verdicts, with a receipt, can only answer a recall of this very command.
    guard receipt.verdict != .stale, receipt.verdict != .notExecuted else {
      throw .answerToRecall(receipt.verdict)
    }
    return receipt
  }

  /// Whether the command was proved with these secrets. Constant time.
  package func isProved(with other: HardwareSecrets) -> Bool {
    HardwareSecrets.Part.allCases.allSatisfy { part in
      secrets.withBytes(of: part) { one in
        other.withBytes(of: part) { CoreCrypto.equal(one, $0) }
      }
    }
  }

  /// Asks for the outcome of the command, after a lost link. From then on the hardware accepts no
  /// command of this instance whose challenge is as old as this one's.
  public var recall: Recall {
    Recall(of: nonce, counter: counter, from: instance, with: secrets)
  }
}

/// A command as it came over the link, parsed and not yet checked: for logs and tools.
public struct ReceivedCommand: Sendable, Hashable {
  /// The kind of proof.
  public let kind: ProofKind
  /// The command to be done.
  public let command: Command
  /// The app instance that asks.
  public let instance: InstanceID?
  /// The counter of the challenge answered.
  public let counter: UInt64
  /// The integrity proof, if the kind has one.
  public let integrityProof: Proof?
  /// The device proof.
  public let deviceProof: Proof

  /// Parses a COMMAND message.
  ///
  /// - Parameter message: The app's message.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``.
  public init(_ message: Message) throws(ProofError) {
    self = try CoreMessage.command(message.bytes(of: .command))
  }

  init(
    kind: ProofKind, command: Command, instance: InstanceID?, counter: UInt64,
    integrityProof: Proof?, deviceProof: Proof
  ) {
    self.kind = kind
    self.command = command
    self.instance = instance
    self.counter = counter
    self.integrityProof = integrityProof
    self.deviceProof = deviceProof
  }
}

// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Encodes and decodes the messages of docs/SPEC.md, section 10.
enum CoreMessage {
  static let askForChallenge = UInt8(PFC_ASK_CHALLENGE.rawValue)
  static let askForStatus = UInt8(PFC_ASK_STATUS.rawValue)
  static let askForSealedChallenge = UInt8(PFC_ASK_SEALED.rawValue)

  static func fits(_ type: MessageType, _ byteCount: Int) -> Bool {
    byteCount >= 0 && pfc_message_fits(type.rawValue, byteCount) == 1
  }

  // CHALLENGE

  static func encode(_ challenge: Challenge) -> Message {
    var raw = challenge.core
    return Message(
      encoded: .challenge,
      unsafe bytes(CoreWire.challengeMessage) { unsafe pfc_challenge_encode($0, &raw) })
  }

  static func challenge(_ bytes: [UInt8]) throws(ProofError) -> Challenge {
    var raw = pfc_challenge()
    let result = unsafe bytes.withUnsafeBufferPointer {
      unsafe CoreResult(pfc_challenge_decode(&raw, $0.baseAddress, $0.count))
    }
    try result.orThrow(opening: "challenge", byteCount: bytes.count)
    let random = unsafe withUnsafeBytes(of: raw.bytes) { unsafe Array($0) }
    return try Challenge(counter: raw.counter, bytes: random)
  }

  // COMMAND

  static func command(_ bytes: [UInt8]) throws(ProofError) -> ReceivedCommand {
    var command: ReceivedCommand?
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      var raw = unsafe pfc_command()
      let result = unsafe CoreResult(pfc_command_decode(&raw, bytes.baseAddress, bytes.count))
      if result == .ok { command = unsafe ReceivedCommand(raw) }
      return result
    }
    try result.orThrow(opening: "command", byteCount: bytes.count)
    return known(command)
  }

  // VERDICT

  static func encode(_ answer: Answer) -> Message {
    var raw = pfc_answer()
    raw.verdict = answer.verdict.rawValue
    raw.detail = answer.detail
    raw.counter = answer.counter
    answer.tag.copy(to: &raw.receipt)
    return Message(
      encoded: .verdict,
      unsafe bytes(CoreWire.verdictMessage) { unsafe pfc_answer_encode($0, &raw) })
  }

  static func answer(_ bytes: [UInt8]) throws(ProofError) -> Answer {
    var raw = pfc_answer()
    let result = unsafe bytes.withUnsafeBufferPointer {
      unsafe CoreResult(pfc_answer_decode(&raw, $0.baseAddress, $0.count))
    }
    try result.orThrow(opening: "verdict", byteCount: bytes.count)
    return Answer(
      verdict: known(Verdict(rawValue: raw.verdict)), detail: raw.detail, counter: raw.counter,
      tag: InlineBytes(tuple: raw.receipt))
  }

  // RECALL

  static func recall(
    _ nonce: ProofNonce, _ counter: UInt64, _ instance: InstanceID, _ secrets: CoreSecrets
  ) -> Message {
    Message(
      encoded: .recall,
      unsafe bytes(CoreWire.recall) { message in
        unsafe instance.storage.withPointer { instance in
          unsafe nonce.storage.withPointer { nonce in
            unsafe secrets.withKey(of: .device) { key in
              unsafe pfc_recall_create(message, instance, counter, nonce, key)
            }
          }
        }
      })
  }

  static func recall(
    _ bytes: [UInt8], _ secrets: CoreSecrets
  ) throws(ProofError) -> (instance: InstanceID, counter: UInt64, nonce: ProofNonce) {
    var parsed: (InstanceID, UInt64, ProofNonce)?
    let result = unsafe bytes.withUnsafeBufferPointer { bytes in
      var raw = unsafe pfc_recall()
      let result = unsafe CoreResult(pfc_recall_decode(&raw, bytes.baseAddress, bytes.count))
      guard result == .ok else { return result }
      parsed = unsafe (
        InstanceID(storage: InlineBytes(copying: raw.instance_id)), raw.counter,
        ProofNonce(storage: InlineBytes(copying: raw.nonce))
      )
      return unsafe secrets.withKey(of: .device) { key in
        unsafe CoreResult(pfc_recall_check(bytes.baseAddress, key))
      }
    }
    try result.orThrow(opening: "recall", byteCount: bytes.count)
    return known(parsed)
  }

  // STATUS

  static func encode(_ status: HardwareStatus) -> Message {
    var raw = pfc_status()
    raw.mode = status.mode.rawValue
    raw.slots = UInt8(clamping: status.slotCount)
    raw.slots_used = UInt8(clamping: status.slotsUsed)
    raw.epoch = status.epoch?.unsigned ?? 0
    status.hardware?.storage.copy(to: &raw.hardware_id)
    return Message(
      encoded: .status, unsafe bytes(CoreWire.status) { unsafe pfc_status_encode($0, &raw) })
  }

  static func status(_ bytes: [UInt8]) throws(ProofError) -> HardwareStatus {
    var raw = pfc_status()
    let result = unsafe bytes.withUnsafeBufferPointer {
      unsafe CoreResult(pfc_status_decode(&raw, $0.baseAddress, $0.count))
    }
    try result.orThrow(opening: "status", byteCount: bytes.count)
    return HardwareStatus(raw)
  }

  private static func bytes(
    _ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Void
  ) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      unsafe fill(buffer.baseAddress!)
      initialized = count
    }
  }
}

/// A command that is being made into a message.
struct CoreRequest {
  let command: Command
  let kind: ProofKind
  let instance: InstanceID
  let hardware: HardwareID
  let challenge: Challenge
  /// The ratchet's value and the counter that the app knows; nil where the slot has no ratchet.
  let ratchet: (value: [UInt8], known: UInt32)?

  func encode<E: Error>(
    with secrets: CoreSecrets, releasing release: (inout Proof, Proof?) throws(E) -> Void
  ) throws(E) -> (Message, ProofNonce) {
    var message: [UInt8] = []
    let nonce = ProofNonce(
      storage: unsafe InlineBytes<16> { nonce in
        message = unsafe [UInt8](
          unsafeUninitializedCapacity: CoreWire.commandIntegrity + CoreWire.commandRatchet
            + command.bytes.count
        ) { buffer, count in
          unsafe begin(buffer, &count, nonce, secrets)
        }
      })
    var previous: Proof?
    if kind == .integrity {
      previous = try Self.lend(&message, at: CoreWire.commandHead, after: nil, to: release)
    }
    let offset = unsafe message.withUnsafeMutableBufferPointer { message in
      unsafe nonce.storage.withPointer { nonce in
        unsafe secrets.withSecrets { unsafe pfc_command_end(message.baseAddress, nonce, $0) }
      }
      return unsafe pfc_command_device_proof(message.baseAddress) - message.baseAddress!
    }
    _ = try Self.lend(&message, at: offset, after: previous, to: release)
    return (Message(encoded: .command, message), nonce)
  }

  private func begin(
    _ buffer: UnsafeMutableBufferPointer<UInt8>, _ count: inout Int,
    _ nonce: UnsafeMutablePointer<UInt8>, _ secrets: CoreSecrets
  ) {
    unsafe withCommand { bytes, value in
      var raw = unsafe pfc_request()
      unsafe raw.kind = ratchet == nil ? kind.rawValue : kind.withRatchet
      unsafe raw.ratchet = value?.baseAddress
      unsafe raw.known = ratchet?.known ?? 0
      unsafe raw.command_class = command.commandClass.rawValue
      unsafe instance.storage.copy(to: &raw.instance_id)
      unsafe hardware.storage.copy(to: &raw.hardware_id)
      unsafe raw.challenge = challenge.core
      unsafe raw.command = bytes.baseAddress
      unsafe raw.command_size = bytes.count
      unsafe secrets.withSecrets { secrets in
        unsafe CoreResult(
          pfc_command_begin(buffer.baseAddress, buffer.count, &count, nonce, &raw, secrets)
        ).mustBeOK()
      }
    }
  }

  private func withCommand(
    _ body: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>?) -> Void
  ) {
    unsafe command.bytes.withUnsafeBufferPointer { bytes in
      guard let ratchet else { return unsafe body(bytes, nil) }
      unsafe ratchet.value.withUnsafeBufferPointer { unsafe body(bytes, $0) }
    }
  }

  /// Lends the proof at an offset of a message, and returns the proof afterwards.
  static func lend<E: Error>(
    _ message: inout [UInt8], at offset: Int, after previous: Proof?,
    to release: (inout Proof, Proof?) throws(E) -> Void
  ) throws(E) -> Proof {
    var proof = Proof(
      storage: unsafe message.withUnsafeBufferPointer {
        unsafe InlineBytes(copying: $0.baseAddress! + offset)
      })
    try release(&proof, previous)
    unsafe message.withUnsafeMutableBufferPointer { message in
      unsafe proof.storage.withPointer {
        unsafe (message.baseAddress! + offset).update(from: $0, count: Proof.byteCount)
      }
    }
    return proof
  }
}

extension Challenge {
  var core: pfc_challenge {
    var raw = pfc_challenge()
    raw.counter = counter
    unsafe withUnsafeMutableBytes(of: &raw.bytes) { unsafe $0.copyBytes(from: bytes) }
    return raw
  }
}

extension ReceivedCommand {
  /// The core has checked kind, class and lengths; the pointers are valid for this call.
  fileprivate init(_ raw: pfc_command) {
    let bytes = unsafe Array(UnsafeBufferPointer(start: raw.command, count: raw.command_size))
    let commandClass = known(unsafe CommandClass(rawValue: raw.command_class))
    let instance = InstanceID(storage: unsafe InlineBytes(copying: raw.instance_id))
    let integrityProof = unsafe raw.integrity_proof.map { proof in
      Proof(storage: unsafe InlineBytes(copying: proof))
    }
    self.init(
      kind: known(unsafe ProofKind(wire: raw.kind)),
      command: known(try? Command(bytes, class: commandClass)),
      instance: instance.storage.isZero ? nil : instance,
      counter: unsafe raw.counter,
      integrityProof: integrityProof,
      deviceProof: Proof(storage: unsafe InlineBytes(copying: raw.device_proof)))
  }
}

extension ProofKind {
  /// The kind of a COMMAND, with a ratchet or without, sealed or in the clear.
  init?(wire number: UInt8) {
    guard pfc_kind_is_known(number) == 1 || pfc_kind_is_sealed(number) == 1 else { return nil }
    self = pfc_kind_is_integrity(number) == 1 ? .integrity : .device
  }

  /// The kind of a COMMAND with a ratchet.
  var withRatchet: UInt8 {
    let kind = self == .integrity ? PFC_KIND_INTEGRITY_RATCHET : PFC_KIND_DEVICE_RATCHET
    return UInt8(kind.rawValue)
  }
}

extension HardwareStatus {
  init(_ raw: pfc_status) {
    let hardware = HardwareID(storage: InlineBytes(tuple: raw.hardware_id))
    self.init(
      mode: known(Mode(rawValue: raw.mode)), hardware: hardware.storage.isZero ? nil : hardware,
      slotCount: Int(raw.slots), slotsUsed: Int(raw.slots_used),
      epoch: raw.epoch == 0 ? nil : UnixTime(clamping: raw.epoch))
  }
}

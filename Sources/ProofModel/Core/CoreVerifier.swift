// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// A `pfc_verifier`, which holds every instance's secrets, in one block, and the objects it
/// borrows.
@safe
struct CoreVerifier: ~Copyable, Sendable {
  private var work = unsafe CoreWork<pfc_verifier>()
  private let hardware: CoreHardware
  private let platform: CorePlatform

  init(_ hardware: CoreHardware, _ platform: some Platform) throws(ProofError) {
    self.hardware = hardware
    self.platform = CorePlatform(platform)
    let raw = unsafe self.platform.raw
    let result = unsafe work.withMutablePointer { verifier in
      unsafe hardware.withHardware { hardware in
        // Borrowed to the end: the block has a fixed address, and this object owns it.
        unsafe withUnsafePointer(to: raw) { raw in
          unsafe CoreResult(pfc_verifier_init(verifier, hardware, raw))
        }
      }
    }
    try result.orThrow(opening: "storage", byteCount: 0)
  }

  static func provision(
    _ hardware: CoreHardware, _ platform: some Platform, epoch: UInt64, floor: UInt64,
    counter: UInt64
  ) throws(ProofError) {
    let platform = CorePlatform(platform)
    let result = withExtendedLifetime(platform) {
      unsafe hardware.withHardware { hardware in
        unsafe withUnsafePointer(to: platform.raw) { raw in
          unsafe CoreResult(pfc_verifier_provision(hardware, raw, epoch, floor, counter))
        }
      }
    }
    try result.orThrow(opening: "storage", byteCount: 0)
  }

  mutating func receive(_ type: UInt8, _ bytes: [UInt8], _ session: inout CoreSession) -> Decision {
    unsafe work.withMutablePointer { verifier in
      unsafe bytes.withUnsafeBufferPointer { message in
        var raw = unsafe pfc_outcome()
        unsafe pfc_verifier_receive(
          verifier, &session.raw, type, message.baseAddress, message.count, &raw)
        return unsafe Decision(raw)
      }
    }
  }

  mutating func prepare() throws(ProofError) {
    let result = unsafe work.withMutablePointer { unsafe CoreResult(pfc_verifier_prepare($0)) }
    try result.orThrow(opening: "key for sealed commands", byteCount: 0)
  }

  mutating func keepChannels() {
    let result = unsafe work.withMutablePointer {
      unsafe CoreResult(pfc_verifier_keep_channels($0))
    }
    precondition(result == .ok, "a verifier that exists has started")
  }

  mutating func takeGrants() throws(ProofError) {
    let result = unsafe work.withMutablePointer { unsafe CoreResult(pfc_verifier_take_grants($0)) }
    try result.orThrow(opening: "storage", byteCount: 0)
  }

  var epoch: UInt64? {
    mutating get {
      let epoch = unsafe work.withMutablePointer { unsafe pfc_verifier_epoch($0) }
      return epoch == 0 ? nil : epoch
    }
  }

  var status: HardwareStatus {
    mutating get {
      var raw = pfc_status()
      unsafe work.withMutablePointer { unsafe pfc_verifier_status($0, &raw) }
      return HardwareStatus(raw)
    }
  }
}

/// A `pfc_session`. A challenge is public, so it stands inline.
struct CoreSession: ~Copyable, Sendable {
  var raw = pfc_session()

  init() {
    unsafe pfc_session_init(&raw)
  }

  mutating func close() {
    unsafe pfc_session_close(&raw)
  }
}

extension Decision {
  /// Copies the parts that point into the message, whose bytes are valid for this call.
  fileprivate init(_ raw: pfc_outcome) {
    let reply = unsafe withUnsafeBytes(of: raw.reply) { bytes in
      unsafe Array(bytes.prefix(raw.reply_size))
    }
    let instance = unsafe raw.instance_id.map { pointer in
      InstanceID(storage: unsafe InlineBytes(copying: pointer))
    }
    var execution: Execution?
    if unsafe raw.execute == PFC_EXECUTE {
      let bytes = unsafe Array(UnsafeBufferPointer(start: raw.command, count: raw.command_size))
      let commandClass = known(unsafe CommandClass(rawValue: raw.command_class))
      execution = Execution(
        command: known(try? Command(bytes, class: commandClass)),
        kind: known(unsafe ProofKind(wire: raw.kind)))
    }
    self.init(
      reply: Message(encoded: known(unsafe MessageType(rawValue: raw.reply_type)), reply),
      verdict: unsafe Verdict(rawValue: raw.verdict), execution: execution,
      instance: instance.flatMap { $0.storage.isZero ? nil : $0 })
  }
}

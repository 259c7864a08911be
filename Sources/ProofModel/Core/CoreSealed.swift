// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Seals commands and opens the answers to them.
enum CoreSealed {
  /// The values that a sealed command leaves with the app, in one block.
  typealias Sent = CoreSecret<pfc_sealed_sent>

  static func challenge(
    _ bytes: [UInt8]
  ) throws(ProofError) -> (challenge: Challenge, key: InlineBytes<32>) {
    var raw = pfc_challenge()
    var result = CoreResult.ok
    let key = unsafe InlineBytes<32> { key in
      result = unsafe bytes.withUnsafeBufferPointer {
        unsafe CoreResult(pfc_sealed_challenge_decode(&raw, key, $0.baseAddress, $0.count))
      }
    }
    try result.orThrow(opening: "challenge with a key", byteCount: bytes.count)
    let random = unsafe withUnsafeBytes(of: raw.bytes) { unsafe Array($0) }
    return (try Challenge(counter: raw.counter, bytes: random), key)
  }

  /// Opens a SEALED-DOWN. Its tag is zeros: the box was its authenticator.
  /// With it the counter of the channel's next command, 0 if no channel is open.
  static func answer(
    _ bytes: [UInt8], counter: UInt64, _ sent: Sent
  ) throws(ProofError) -> (answer: Answer, next: UInt64) {
    var raw = pfc_answer()
    var next: UInt64 = 0
    let result = unsafe sent.withField(down) { down in
      unsafe bytes.withUnsafeBufferPointer { bytes in
        unsafe CoreResult(
          pfc_sealed_down_open(&raw, &next, bytes.baseAddress, bytes.count, counter, down))
      }
    }
    try result.orThrow(opening: "sealed answer", byteCount: bytes.count)
    let answer = Answer(
      verdict: known(Verdict(rawValue: raw.verdict)), detail: raw.detail, counter: raw.counter,
      tag: InlineBytes(tuple: raw.receipt))
    return (answer, next)
  }

  /// Seals a command of the channel that stands behind `last`.
  static func next(
    _ command: Command, counter: UInt64, after last: Sent
  ) throws(ProofError) -> (Message, ProofNonce, Sent) {
    guard command.bytes.count <= CoreWire.sealedCommandMax else {
      throw .outOfRange(
        field: "length of a sealed command", value: "\(command.bytes.count)",
        allowed: "0 to \(CoreWire.sealedCommandMax)")
    }
    var message = [UInt8](repeating: 0, count: CoreWire.channelCommand + command.bytes.count)
    var result = CoreResult.ok
    let sent = unsafe Sent { sent in
      unsafe message.withUnsafeMutableBufferPointer { buffer in
        unsafe command.bytes.withUnsafeBufferPointer { bytes in
          unsafe last.withField(chain) { chain in
            var count = 0
            result = unsafe CoreResult(
              pfc_channel_up_create(
                buffer.baseAddress, buffer.count, &count, sent, chain, counter,
                command.commandClass.rawValue, bytes.baseAddress, bytes.count))
          }
        }
      }
    }
    precondition(result == .ok, "class and length are in range, and a next counter is not 0")
    let nonce = unsafe sent.withField(nonce) {
      ProofNonce(storage: unsafe InlineBytes(copying: $0))
    }
    return (Message(encoded: .channelCommand, message), nonce, sent)
  }

  /// The value that takes the nonce's place where the ratchet moves.
  static func step(_ sent: Sent) -> ProofNonce {
    unsafe sent.withField(step) { ProofNonce(storage: unsafe InlineBytes(copying: $0)) }
  }

  private static let down = Field(\pfc_sealed_sent.down)
  private static let step = Field(\pfc_sealed_sent.step)
  private static let nonce = Field(\pfc_sealed_sent.nonce)
  private static let chain = Field(\pfc_sealed_sent.chain)
}

/// A sealed command that is being made into a message.
struct CoreSealedRequest {
  let command: Command
  let kind: ProofKind
  let instance: InstanceID
  let hardware: HardwareID
  let challenge: SealedChallenge
  /// The token whose secrets make the proofs.
  let token: TokenDigest
  /// The ratchet's value and the counter that the app knows; nil where the slot has no ratchet.
  let ratchet: (value: [UInt8], known: UInt32)?

  func encode(
    with secrets: CoreSecrets,
    releasing release: (inout Proof, Proof?) throws(ProofError) -> Void
  ) throws(ProofError) -> (Message, ProofNonce, CoreSealed.Sent) {
    guard command.bytes.count <= CoreWire.sealedCommandMax else {
      throw .outOfRange(
        field: "length of a sealed command", value: "\(command.bytes.count)",
        allowed: "0 to \(CoreWire.sealedCommandMax)")
    }
    var message = [UInt8](
      repeating: 0,
      count: (kind == .integrity ? CoreWire.sealedIntegrity : CoreWire.sealedDevice)
        + command.bytes.count)
    var shared = CoreWork<Shared>()
    let nonce = try begin(&message, &shared, secrets)
    var previous: Proof?
    if kind == .integrity {
      previous = try CoreRequest.lend(
        &message, at: CoreWire.sealedIntegrityProof, after: nil, to: release)
    }
    let offset = unsafe message.withUnsafeMutableBufferPointer { message in
      unsafe nonce.storage.withPointer { nonce in
        unsafe secrets.withSecrets { unsafe pfc_sealed_end(message.baseAddress, nonce, $0) }
      }
      return unsafe pfc_sealed_device_proof(message.baseAddress) - message.baseAddress!
    }
    _ = try CoreRequest.lend(&message, at: offset, after: previous, to: release)
    let sent = close(&message, &shared, nonce, secrets)
    return (Message(encoded: .command, message), nonce, sent)
  }

  /// The result of X25519, in a block of its own.
  private struct Shared: BitwiseCopyable {
    var bytes: InlineArray<32, UInt8> = .init(repeating: 0)
  }

  private func begin(
    _ message: inout [UInt8], _ shared: inout CoreWork<Shared>, _ secrets: CoreSecrets
  ) throws(ProofError) -> ProofNonce {
    let ephemeral = SecretBytes.random(count: 32)
    var result = CoreResult.ok
    let nonce = ProofNonce(
      storage: unsafe InlineBytes<16> { nonce in
        unsafe message.withUnsafeMutableBufferPointer { buffer in
          unsafe withRequest { request in
            unsafe withFacts(secrets) { facts in
              unsafe secrets.withSecrets { secrets in
                unsafe ephemeral.withPointer { ephemeral in
                  unsafe shared.withMutablePointer { shared in
                    var count = 0
                    result = unsafe CoreResult(
                      pfc_sealed_begin(
                        buffer.baseAddress, buffer.count, &count, nonce,
                        UnsafeMutableRawPointer(shared).assumingMemoryBound(to: UInt8.self),
                        request, facts, secrets, ephemeral))
                  }
                }
              }
            }
          }
        }
      })
    // Every other field was checked: the hardware's key is a point of low order.
    guard result == .ok else { throw .differs("hardware's key for a sealed command") }
    return nonce
  }

  private func close(
    _ message: inout [UInt8], _ shared: inout CoreWork<Shared>, _ nonce: ProofNonce,
    _ secrets: CoreSecrets
  ) -> CoreSealed.Sent {
    unsafe CoreSealed.Sent { sent in
      unsafe message.withUnsafeMutableBufferPointer { buffer in
        unsafe withFacts(secrets) { facts in
          unsafe nonce.storage.withPointer { nonce in
            unsafe shared.withMutablePointer { shared in
              unsafe pfc_sealed_close(
                buffer.baseAddress, buffer.count, sent, nonce,
                UnsafeMutableRawPointer(shared).assumingMemoryBound(to: UInt8.self), facts)
            }
          }
        }
      }
    }
  }

  private func withRequest(_ body: (UnsafePointer<pfc_request>) -> Void) {
    unsafe command.bytes.withUnsafeBufferPointer { bytes in
      unsafe (ratchet?.value ?? []).withUnsafeBufferPointer { value in
        var raw = unsafe pfc_request()
        unsafe raw.kind = UInt8(
          (kind == .integrity ? PFC_KIND_SEALED_INTEGRITY : PFC_KIND_SEALED_DEVICE).rawValue)
        unsafe raw.ratchet = ratchet == nil ? nil : value.baseAddress
        unsafe raw.known = ratchet?.known ?? 0
        unsafe raw.command_class = command.commandClass.rawValue
        unsafe instance.storage.copy(to: &raw.instance_id)
        unsafe hardware.storage.copy(to: &raw.hardware_id)
        unsafe raw.challenge = challenge.challenge.core
        unsafe raw.command = bytes.baseAddress
        unsafe raw.command_size = bytes.count
        unsafe body(&raw)
      }
    }
  }

  private func withFacts(
    _ secrets: CoreSecrets, _ body: (UnsafePointer<pfc_seal_facts>) -> Void
  ) {
    var asked = challenge.challenge.core
    unsafe withUnsafePointer(to: &asked) { asked in
      unsafe hardware.storage.withPointer { hardware in
        unsafe instance.storage.withPointer { instance in
          unsafe token.storage.withPointer { token in
            unsafe challenge.key.withPointer { key in
              unsafe secrets.withKey(of: .device) { device in
                var facts = unsafe pfc_seal_facts(
                  hardware_id: hardware, instance_id: instance, token_digest: token,
                  device_key: device, lock_key: key, challenge: asked)
                unsafe body(&facts)
              }
            }
          }
        }
      }
    }
  }
}

import ProofModel
import Synchronization

/// The remote hardware: a door with a verifier, behind a link with small packets.
final class Door {
  let keys: HardwareKeys
  private let platform: DoorPlatform
  private var verifier: Verifier
  private var session = VerifierSession()
  private var atDoor = Reassembler()
  private var atPhone = Reassembler()
  /// The commands that were done, in order.
  private(set) var done: [String] = []
  /// The packets of the last exchange, both ways.
  private(set) var packets = 0

  static let packetSize = 20

  init(trusting issuer: IssuerPublicKey, mode: Mode) throws {
    keys = try HardwareKeys(
      id: .random(), secretKey: .random(count: 32), mode: mode, issuers: [issuer])
    platform = DoorPlatform()
    try Verifier.provision(keys, on: platform)
    verifier = try Verifier(keys, on: platform)
  }

  /// Carries a message to the door in packets, has it judged, and carries the reply back.
  func send(_ message: Message) throws -> Message {
    packets = 0
    let received = try carry(message, &atDoor)
    let outcome = verifier.receive(received, in: &session)
    if let execution = outcome.execution {
      done.append(String(decoding: execution.command.bytes, as: UTF8.self))
    }
    return try carry(outcome.reply, &atPhone)
  }

  /// Noise on the air, which the door's end of the link takes like anything else.
  func receiveNoise(_ packet: [UInt8]) {
    if case .complete(let message) = atDoor.receive(packet) {
      _ = verifier.receive(message, in: &session)
    }
  }

  func challenge() throws -> Challenge { try Challenge(send(.askForChallenge)) }

  func present(_ token: MeasurementToken) throws -> Answer { try Answer(send(token.message)) }

  func answer(_ proved: ProvedCommand) throws -> Answer { try Answer(send(proved.message)) }

  func reconnect() { session.disconnect() }

  /// Power goes and comes back: what is stored stays, everything else is gone.
  func restart() throws {
    verifier = try Verifier(keys, on: platform)
    session = VerifierSession()
  }

  private func carry(_ message: Message, _ end: inout Reassembler) throws -> Message {
    var fragmenter = try Fragmenter(message, packetSize: Self.packetSize)
    while let packet = fragmenter.next() {
      packets += 1
      if case .complete(let received) = end.receive(packet) { return received }
    }
    throw ProofError.malformed("message on the link", byteCount: message.bytes.count)
  }
}

/// The door's generator, clock and storage.
private final class DoorPlatform: Platform {
  private let areas = Mutex<[StorageArea: [UInt8]]>([:])

  var seconds: (@Sendable () -> UInt32)? { nil }

  func fillRandom(_ bytes: inout MutableSpan<UInt8>) throws(PlatformFailure) {
    for index in bytes.indices { bytes[index] = .random(in: .min ... .max) }
  }

  func read(_ bytes: inout MutableSpan<UInt8>, from area: StorageArea) throws(PlatformFailure) {
    guard let stored = areas.withLock({ $0[area] }) else { throw PlatformFailure() }
    for index in bytes.indices { bytes[index] = stored[index] }
  }

  func write(_ bytes: Span<UInt8>, to area: StorageArea) throws(PlatformFailure) {
    let copied = bytes.indices.map { bytes[$0] }
    areas.withLock { $0[area] = copied }
  }
}

import HardwareBench
import ProofLink
import ProofModel

/// The hardware's portable part itself, in this process, behind the link model's door; it counts what
/// goes over the air. There is one.
struct SimulatedHardware: LinkPeripheral {
  /// What went over the air.
  private(set) var airtime = Airtime()

  let identity: HardwareIdentity
  private let issuer: IssuerKey

  init() throws {
    issuer = .random()
    identity = try HardwareKeys(
      id: HardwareID([UInt8](repeating: 5, count: 16)),
      secretKey: SecretBytes(copying: [UInt8](repeating: 6, count: 32).span), mode: .production,
      issuers: [issuer.publicKey]
    ).identity
    let made = unsafe issuer.publicKey.bytes.withUnsafeBufferPointer {
      unsafe hardware_bench_make(5, 6, $0.baseAddress, 1)
    }
    guard made == 0 else { throw PeerError("the hardware is not provisioned: \(made)") }
  }

  func token(_ sample: Sample, generation: UInt32) throws -> MeasurementToken {
    try MeasurementGrant(
      for: identity.id, instance: sample.instance, mode: .production, integrityClasses: .all,
      attempts: 3, uses: .unlimited, generation: generation, issued: 1_800_000_000,
      secrets: secrets(sample)
    ).sealed(to: identity, signedBy: issuer)
  }

  func secrets(_ sample: Sample) -> HardwareSecrets {
    sample.measurement.secrets(for: identity.id, with: sample.key)
  }

  mutating func connect() {
    airtime = Airtime()
    hardware_bench_connect()
  }

  func disconnect() { hardware_bench_disconnect() }

  func losePower() { _ = hardware_bench_restart() }

  mutating func receive(_ pdu: [UInt8]) -> [[UInt8]]? {
    airtime.add(pdu.count)
    let closes = unsafe pdu.withUnsafeBufferPointer {
      unsafe hardware_bench_receive($0.baseAddress, $0.count)
    }
    if closes != 0 { return nil }
    var sent: [[UInt8]] = []
    var buffer = [UInt8](repeating: 0, count: HARDWARE_BENCH_PDU_MAX)
    while true {
      let size = unsafe buffer.withUnsafeMutableBufferPointer {
        unsafe hardware_bench_take($0.baseAddress)
      }
      if size == 0 { return sent }
      airtime.add(size)
      sent.append(Array(buffer.prefix(size)))
    }
  }
}

/// What ATT PDUs cost on the air: Bluetooth Core 5.4, volume 6, part B, sections 2.1, 2.4 and 4.1.1.
struct Airtime {
  private(set) var pduCount = 0
  private(set) var byteCount = 0
  /// On the LE 1M PHY, eight microseconds for a byte.
  private(set) var microseconds = 0

  /// Payload of one packet on the air, with the data length extension.
  private static let payloadMax = 251
  /// Length and channel of L2CAP, before each PDU.
  private static let channelHead = 4
  /// Preamble, access address, header and CRC of a packet; what an empty answer is made of.
  private static let packetFrame = 1 + 4 + 2 + 3
  /// Between two packets.
  private static let space = 150

  mutating func add(_ count: Int) {
    pduCount += 1
    byteCount += count
    let whole = count + Self.channelHead
    let packets = (whole + Self.payloadMax - 1) / Self.payloadMax
    // Each packet is answered by one, at least an empty one, and both are followed by a space.
    microseconds += 8 * (whole + packets * 2 * Self.packetFrame) + packets * 2 * Self.space
  }
}

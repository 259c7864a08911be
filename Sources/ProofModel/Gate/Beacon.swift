// SPDX-License-Identifier: Apache-2.0

/// A gate's word on the time, as an app carries it: four bytes that change every five minutes.
///
/// A token that carries one of the newest was not made ahead of time under a false clock. The app cannot
/// authenticate a beacon; TLS does.
public struct Beacon: Sendable, Hashable {
  /// The interval: Unix time divided by 300.
  public let interval: UInt32
  let storage: InlineBytes<4>

  init(interval: UInt32, storage: InlineBytes<4>) {
    self.interval = interval
    self.storage = storage
  }

  /// Reads the value of a `Proof-Time` header.
  ///
  /// - Parameter text: 12 characters of base64url.
  /// - Throws: ``ProofError/malformed(_:byteCount:)``, ``ProofError/tooNew(_:)``.
  public init(header text: String) throws(ProofError) {
    guard let bytes = Base64.decode(text, .url) else {
      throw .malformed("beacon", byteCount: text.utf8.count)
    }
    self = try CoreGate.beacon(bytes.span)
  }

  /// The value of a `Proof-Time` header.
  public var header: String {
    let head = [CoreWire.beaconHead] + interval.littleEndianBytes
    let tail = storage.withSpan { span in span.indices.map { span[$0] } }
    return Base64.encode((head + tail).span, .url)
  }

  /// Whether two beacons are the same.
  public static func == (left: Beacon, right: Beacon) -> Bool {
    left.interval == right.interval && left.storage.isEqual(to: right.storage)
  }

  /// Hashes the interval.
  public func hash(into hasher: inout Hasher) { hasher.combine(interval) }
}

/// The key with which a gate makes beacons. Secret; all nodes of the gate share it.
public struct BeaconKey: Sendable {
  let core: CoreSharedSecret

  /// Makes the key from a gate's own secret.
  ///
  /// - Parameters:
  ///   - secret: 32 random bytes of the gate.
  ///   - number: The secret's number.
  ///   - gate: The gate.
  /// - Throws: ``ProofError/wrongLength(of:expected:actual:)``.
  public init(
    from secret: borrowing SecretBytes, number: UInt8, of gate: GateID
  ) throws(ProofError) {
    try secret.checkCount(CoreWire.gateKey, of: "gate's own secret")
    core = CoreGate.beaconKey(from: secret, number: number, of: gate)
  }

  /// Takes a key that the gate gave a redeemer.
  package init(_ bytes: consuming SecretBytes) { core = CoreSharedSecret(bytes) }

  /// The value of the `Proof-Time` header at one moment.
  ///
  /// - Parameter now: The moment.
  /// - Returns: 12 characters.
  public func header(at now: UnixTime) -> String {
    Base64.encode(CoreGate.beaconMessage(at: now.unsigned, under: core).span, .url)
  }

  /// The beacons that anchor a token at one moment. Make them once in five minutes, not for each token.
  ///
  /// - Parameter now: The moment.
  /// - Returns: Those of the next interval, of this one, and of the two before.
  public func valid(at now: UnixTime) -> ValidBeacons {
    ValidBeacons(core: CoreBeacons(at: now.unsigned, under: core))
  }
}

/// The beacons that anchor a token at one moment.
public struct ValidBeacons: Sendable {
  let core: CoreBeacons
}

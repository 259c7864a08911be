// SPDX-License-Identifier: Apache-2.0

internal import ProofModel

// A challenge leaves no row in the store. Its salt carries what the report does not repeat, and a MAC
// over all that the service judges the report by. docs/SERVICE.md, section 4, has the layout.

/// The terms of a challenge, as the salt that came back with a report proves them.
struct SaltTerms: Hashable {
  /// The longest time in seconds between now and a salt's end: the longest lifetime, and a minute for
  /// a clock that was set back.
  static let longestLife = Int64(Policy.saltLifetimes.upperBound) + 60

  /// The party that a challenge is for, as the question and the report's head name it.
  struct Asker: Hashable {
    let keyID: KeyID
    let device: InstanceID
    let purpose: AttestationPurpose
    /// The gate whose line the generation is of; nil for the device's own.
    let gate: GateID?
  }

  let asker: Asker
  /// The salt's end.
  let expiry: UnixTime
  let generation: UInt32
  let policy: MeasurementPolicy
  let limitLog2: UInt8
  /// The facts that the app withholds.
  let withheld: CollectionMode
  /// The sources that are asked for.
  let sources: [Source]
  /// The low bits of the epoch of the key that made the salt; nil for terms that have no salt yet.
  private(set) var epoch: UInt8?

  /// A fresh salt for these terms.
  func salt(_ keys: SaltKeys, account: String, noise: SaltNoise) -> Salt {
    while true {
      let fields = SaltFields(self, epoch: keys.active.epoch, noise: noise.next())
      let tag = keys.active.tag(self, fields, account: account)
      // All zeros are no salt: make another.
      if let salt = try? Salt(fields.bytes + tag) { return salt }
    }
  }

  /// Completes the terms of a salt and authenticates them. The result is nil if no key of the account
  /// made the salt for these terms.
  ///
  /// - Parameters:
  ///   - salt: The report's salt.
  ///   - asker: The report's sender.
  ///   - before: The highest generation of the asker's line.
  ///   - sources: The sources that are asked of an app that withholds facts.
  ///   - keys: The account's keys of salts.
  ///   - account: The account's name.
  ///   - now: The time. It completes the expiry, which the MAC covers in full.
  init?(
    of salt: Salt, from asker: Asker, above before: UInt32,
    sources: (CollectionMode) -> [Source], under keys: SaltKeys, account: String, at now: UnixTime
  ) {
    let bytes = salt.bytes
    guard let fields = SaltFields(bytes), let key = keys[fields.epoch],
      let expiry = fields.expiry(nearest: now), let generation = fields.generation(nearest: before)
    else { return nil }
    self.asker = asker
    self.expiry = expiry
    self.generation = generation
    policy = fields.policy
    limitLog2 = fields.limitLog2
    withheld = fields.withheld
    epoch = fields.epoch
    self.sources = sources(withheld)
    let tag = key.tag(self, fields, account: account)
    guard CoreSodium.areEqual(tag, Array(bytes.suffix(SaltFields.byteCount))) else { return nil }
  }

  init(
    _ asker: Asker, expiry: UnixTime, generation: UInt32, policy: MeasurementPolicy,
    limitLog2: UInt8,
    withheld: CollectionMode, sources: [Source]
  ) {
    self.asker = asker
    self.expiry = expiry
    self.generation = generation
    self.policy = policy
    self.limitLog2 = limitLog2
    self.withheld = withheld
    self.sources = sources
  }

  /// The app's instructions under a salt.
  func draft(_ salt: Salt) throws(ProofError) -> BaselineDraft {
    try BaselineDraft(
      salt: salt, sources: sources, policy: policy, generation: generation, limitLog2: limitLog2)
  }

  /// The bytes that the MAC covers before the salt's first half. The account comes first with its length, and
  /// the sources last, so that no two terms have the same bytes.
  func authenticated(account: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    bytes.append(UInt8(account.utf8.count))
    bytes += account.utf8
    asker.keyID.append(to: &bytes)
    asker.device.append(to: &bytes)
    bytes.append(asker.purpose.rawValue)
    bytes.append(asker.gate == nil ? 0 : 1)
    asker.gate?.append(to: &bytes)
    bytes += expiry.seconds.littleEndianBytes
    bytes += generation.littleEndianBytes
    bytes.append(UInt8(sources.count))
    for source in sources {
      bytes.append(source.id.evidenceClass.rawValue)
      bytes.append(source.id.number)
      bytes.append(source.version)
      bytes.append(source.groupsLog2)
    }
    return bytes
  }
}

/// The first half of a salt.
struct SaltFields: Hashable {
  /// The length of each half of a salt.
  static let byteCount = 8

  private static let expiryBits: UInt64 = 19
  private static let generationBits: UInt64 = 16
  private static let limitMin: UInt8 = 16

  /// The low bits of the expiry.
  let expiry: UInt64
  /// The low bits of the generation.
  let generation: UInt64
  /// The low bits of the key's epoch.
  let epoch: UInt8
  let policy: MeasurementPolicy
  let limitLog2: UInt8
  let withheld: CollectionMode
  /// The number by which two challenges of one device within a second differ.
  let noise: UInt16

  init(_ terms: SaltTerms, epoch: UInt8, noise: UInt16) {
    expiry = UInt64(bitPattern: terms.expiry.seconds) % (1 << Self.expiryBits)
    generation = UInt64(terms.generation) % (1 << Self.generationBits)
    self.epoch = epoch
    policy = terms.policy
    limitLog2 = terms.limitLog2
    withheld = terms.withheld
    self.noise = noise
  }

  /// Reads the first half of a salt; nil if a field is out of range.
  init?(_ salt: [UInt8]) {
    var rest = UInt64(littleEndianBytes: salt.prefix(Self.byteCount))
    func take(_ bits: UInt64) -> UInt64 {
      defer { rest >>= bits }
      return rest % (1 << bits)
    }
    expiry = take(Self.expiryBits)
    generation = take(Self.generationBits)
    epoch = UInt8(take(2))
    guard let policy = MeasurementPolicy(rawValue: UInt8(take(2))) else { return nil }
    self.policy = policy
    limitLog2 = UInt8(take(6)) + Self.limitMin
    guard limitLog2 <= 50 else { return nil }
    withheld = CollectionMode(rawValue: UInt8(take(3)))
    noise = UInt16(take(16))
  }

  /// The 8 bytes, little-endian.
  var bytes: [UInt8] {
    var word: UInt64 = 0
    var place: UInt64 = 0
    func put(_ value: UInt64, _ bits: UInt64) {
      word |= value << place
      place += bits
    }
    put(expiry, Self.expiryBits)
    put(generation, Self.generationBits)
    put(UInt64(epoch), 2)
    put(UInt64(policy.rawValue), 2)
    put(UInt64(limitLog2 - Self.limitMin), 6)
    put(UInt64(withheld.rawValue), 3)
    put(UInt64(noise), 16)
    return word.littleEndianBytes
  }

  /// The full expiry nearest to a time; nil if it is before the epoch.
  func expiry(nearest now: UnixTime) -> UnixTime? {
    Self.completed(expiry, Self.expiryBits, nearest: now.seconds).map { UnixTime(seconds: $0) }
  }

  /// The full generation nearest to the one that would be next; nil if it is not a generation.
  func generation(nearest before: UInt32) -> UInt32? {
    Self.completed(generation, Self.generationBits, nearest: Int64(before) + 1)
      .flatMap(UInt32.init(exactly:)).flatMap { (1..<UInt32.max).contains($0) ? $0 : nil }
  }

  /// The number with these low bits that is nearest to another number.
  private static func completed(_ low: UInt64, _ bits: UInt64, nearest: Int64) -> Int64? {
    let span = Int64(1) << Int64(bits)
    let ahead = (Int64(low) &- nearest) & (span - 1)
    let (number, overflows) = nearest.addingReportingOverflow(
      ahead < span / 2 ? ahead : ahead - span)
    return overflows || number < 0 ? nil : number
  }
}

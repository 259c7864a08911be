// SPDX-License-Identifier: Apache-2.0

/// A grant as it stands in a ticket, under the gate's own key: docs/SPEC.md, section 16.
extension GateGrant {
  /// How many bytes it has.
  package static let ticketByteCount = 148

  /// The grant's bytes. The gate, and the number of its X25519 key, are left out.
  package var ticketBody: SecretBytes {
    SecretBytes(count: Self.ticketByteCount) { bytes in
      var place = 0
      func put(_ more: [UInt8], _ bytes: inout MutableSpan<UInt8>) {
        for byte in more {
          bytes[place] = byte
          place += 1
        }
      }
      secret.core.withBytes { secret in
        for offset in secret.byteOffsets { bytes[offset] = secret[byte: offset] }
      }
      place = GateSecret.byteCount
      put(instance.bytes, &bytes)
      put(app ?? [UInt8](repeating: 0, count: Self.appByteCount), &bytes)
      let pairs = findings.flatMap { [$0.category, $0.number] }
      put(pairs + [UInt8](repeating: 0, count: 2 * GateFinding.countMax - pairs.count), &bytes)
      put(responseCode.map { Array($0.utf8) } ?? [UInt8](repeating: 0, count: 10), &bytes)
      put([(isFailed ? 1 : 0) | (isForced ? 2 : 0), mode.rawValue], &bytes)
      put(secret.generation.littleEndianBytes + properties.littleEndianBytes, &bytes)
      put([issued, notAfter, firstSeen].flatMap(\.unsigned.littleEndianBytes), &bytes)
      put(issuer?.bytes ?? [UInt8](repeating: 0, count: IssuerID.byteCount), &bytes)
    }
  }

  /// Reads the bytes again. The gate made and sealed them, so nil is a defect or another version of it.
  package init?(ticketBody body: borrowing SecretBytes, for gate: GateID) {
    guard body.count == Self.ticketByteCount else { return nil }
    let secret = body.withBytes { SecretBytes(copying: $0.extracting(0..<GateSecret.byteCount)) }
    let facts = body.withBytes { bytes in (GateSecret.byteCount..<148).map { bytes[byte: $0] } }
    var place = 0
    func take(_ count: Int) -> [UInt8] {
      defer { place += count }
      return Array(facts[place..<place + count])
    }
    func number(_ count: Int) -> UInt64 {
      UInt64(littleEndianBytes: take(count))
    }
    let (instance, app, pairs, code) = (take(16), take(16), take(32), take(10))
    let flags = number(1)
    guard let mode = Mode(rawValue: UInt8(number(1))), let instance = try? InstanceID(instance)
    else { return nil }
    let generation = UInt32(number(4))
    guard let secret = try? GateSecret(secret, generation: generation) else { return nil }
    let properties = UInt32(number(4))
    let issued = UnixTime(clamping: number(8))
    let notAfter = UnixTime(clamping: number(8))
    let firstSeen = UnixTime(clamping: number(8))
    self.init(
      for: gate, instance: instance, mode: mode, issued: issued, notAfter: notAfter,
      firstSeen: firstSeen, secret: secret)
    isFailed = flags & 1 != 0
    isForced = flags & 2 != 0
    self.properties = properties
    responseCode = code[0] == 0 ? nil : String(decoding: code, as: UTF8.self)
    for index in stride(from: 0, to: pairs.count, by: 2) where pairs[index] != 0 {
      findings.append(GateFinding(category: pairs[index], number: pairs[index + 1]))
    }
    self.app = app.allSatisfy { $0 == 0 } ? nil : app
    issuer = try? IssuerID(take(IssuerID.byteCount))
  }
}

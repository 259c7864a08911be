// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The file of a stored measurement: docs/SPEC.md, section 13.
extension StoredMeasurement {
  enum Layout {
    static let magic = Array("PKMS".utf8)
    static let version: UInt8 = 1
    static let label = Array("pfs1.measurement".utf8)
    static let head = 32
    static let tokenHead = 20
    static let check = Digest.byteCount
    static var token: Int { tokenHead + MeasurementToken.byteCount }
    static var byteCountMax: Int {
      head + MeasurementConfig.byteCountMax + tokenCountMax * token + check
    }
  }

  /// The reason why bytes are not a stored measurement.
  enum Damage: Error, Sendable, Hashable {
    /// Bytes were lost or changed, or are something else.
    case damaged
    /// Intact, and of a version that this build does not know.
    case tooNew(UInt8)
  }

  /// The file's bytes.
  var bytes: [UInt8] {
    let config = config.bytes
    var bytes = Layout.magic + [Layout.version, 0, 0, 0]
    bytes += generation.littleEndianBytes + instance.bytes
    bytes += UInt16(config.count).littleEndianBytes
    bytes += UInt16(tokens.count).littleEndianBytes + config
    for token in tokens {
      bytes += token.hardware.bytes + [token.form.rawValue, 0, 0, 0] + token.token.bytes
    }
    return bytes + Self.check(of: bytes[...])
  }

  /// Reads a file's bytes. Checks the digest before anything else.
  init(parsing bytes: [UInt8]) throws(Damage) {
    guard bytes.count >= Layout.head + Layout.check, bytes.count <= Layout.byteCountMax,
      bytes[..<4].elementsEqual(Layout.magic),
      Self.check(of: bytes.dropLast(Layout.check)).elementsEqual(bytes.suffix(Layout.check))
    else { throw .damaged }
    guard bytes[4] == Layout.version else { throw .tooNew(bytes[4]) }
    let configCount = Int(littleEndianBytes: bytes[28..<30])
    let tokenCount = Int(littleEndianBytes: bytes[30..<32])
    let expected = Layout.head + configCount + tokenCount * Layout.token + Layout.check
    guard bytes.count == expected, bytes[5...7].allSatisfy({ $0 == 0 }) else { throw .damaged }
    do {
      let config = try MeasurementConfig(Array(bytes[Layout.head..<Layout.head + configCount]))
      var tokens: [StoredToken] = []
      for index in 0..<tokenCount {
        let place = Layout.head + configCount + index * Layout.token
        tokens.append(try Self.token(in: bytes[place..<place + Layout.token]))
      }
      try self.init(config, of: InstanceID(Array(bytes[12..<28])), tokens: tokens)
    } catch ProofError.configTooNew(let version, _) {
      throw .tooNew(version)
    } catch {
      throw .damaged
    }
    // A pair has only one encoding: comparing also checks the order of the tokens and the
    // generation.
    guard self.bytes == bytes else { throw .damaged }
  }

  private static func token(in bytes: ArraySlice<UInt8>) throws -> StoredToken {
    let start = bytes.startIndex
    guard let form = TokenForm(rawValue: bytes[start + 16]) else { throw Damage.damaged }
    return try StoredToken(
      MeasurementToken(Array(bytes[(start + Layout.tokenHead)...])),
      for: HardwareID(Array(bytes[start..<start + 16])), form: form)
  }

  /// SHA-256 detects damage only; an attacker who can write the file can recompute it.
  /// Configuration and tokens have their own protection against forgery.
  private static func check(of bytes: ArraySlice<UInt8>) -> [UInt8] {
    Digest(hashing: Layout.label + bytes).bytes
  }
}

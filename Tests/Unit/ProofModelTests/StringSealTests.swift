// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ProofModel

/// docs/SPEC.md, section 13, the file of a string: what lies under the seal, byte by byte.
@Suite("A sealed string, at its bounds")
struct StringSealTests {
  private static let nonce = [UInt8](repeating: 9, count: 24)

  private func key() throws -> StringKey { try StringKey(secret(5, 32)) }

  /// Any bytes under the key's seal, at a place that the caller names.
  private func sealed(_ plain: [UInt8], at place: [UInt8]) -> StringKey.Sealed {
    let none: [UInt8] = []
    let seal = CoreCrypto.derive(label: "pfa1.string-seal", key: secret(5, 32), info: none.span)
    let context = Array("pfa1.string-data".utf8) + place
    return StringKey.Sealed(
      nonce: Self.nonce,
      body: CoreStringSeal.seal(secret(plain), key: seal, nonce: Self.nonce, context: context))
  }

  private func opened(
    _ sealed: StringKey.Sealed, by key: StringKey, at place: [UInt8]
  ) -> (name: String, value: [UInt8])? {
    guard let opened = key.open(sealed, at: place) else { return nil }
    let name = opened.name
    return (name, copy(opened.taken()))
  }

  @Test("opens if the length, the name and at least one byte of the value are there")
  func plains() throws {
    let key = try key()
    let long = String(repeating: "a", count: 256)
    let plains: [(String, [UInt8], [UInt8]?)] = [
      ("a", [1, 0, 0x61, 7], [7]), ("a", [1, 0, 0x61, 7, 8], [7, 8]), ("", [0, 0, 7], [7]),
      (long, [0, 1] + long.utf8 + [7], [7]), ("a", [1, 0, 0x61], nil), ("ab", [2, 0, 0x61], nil),
      ("ab", [2, 0, 0x61, 0x62], nil), ("", [0, 0], nil), ("", [0], nil), ("a", [1, 0], nil),
      ("a", [1, 0, 0x62, 7], nil), ("a", [1, 0, 0xFF, 7], nil), ("a", [0, 0, 0x61, 7], nil),
      (long, [255, 255] + long.utf8 + [7], nil),
    ]
    for (name, plain, value) in plains {
      let place = key.place(of: name)
      let opened = opened(sealed(plain, at: place), by: key, at: place)
      #expect(opened?.name == (value == nil ? nil : name), "\(plain.prefix(9))")
      #expect(opened?.value == value, "\(plain.prefix(9))")
    }
  }

  @Test("with a body no longer than its tag does not open")
  func bodies() throws {
    let key = try key()
    let place = key.place(of: "a")
    for count in [0, 1, 15, 16, 17] {
      let sealed = StringKey.Sealed(
        nonce: Self.nonce, body: [UInt8](repeating: 1, count: count))
      #expect(opened(sealed, by: key, at: place) == nil, "\(count)")
    }
    let whole = sealed([1, 0, 0x61, 7], at: place)
    #expect(whole.body.count == 4 + 16)
  }

  @Test("has a name of up to 65,535 bytes")
  func longestName() throws {
    let key = try key()
    let name = String(repeating: "n", count: 65_535)
    let sealed = key.seal(secret([7]), named: name, nonce: Self.nonce)
    #expect(sealed.body.count == 2 + 65_535 + 1 + 16 && sealed.nonce == Self.nonce)
    let opened = opened(sealed, by: key, at: key.place(of: name))
    #expect(opened?.name == name && opened?.value == [7])
  }

  @Test("has a key of 32 bytes and a nonce of 24: another size ends the process")
  func sizes() async {
    for (key, nonce) in [(33, 24), (32, 25)] {
      await #expect(processExitsWith: .failure, "\(key) \(nonce)") {
        [key = key as Int, nonce = nonce as Int] in
        _ = CoreStringSeal.seal(
          secret([1]), key: secret(1, key), nonce: [UInt8](repeating: 1, count: nonce), context: [])
      }
      await #expect(processExitsWith: .failure, "\(key) \(nonce)") {
        [key = key as Int, nonce = nonce as Int] in
        _ = CoreStringSeal.open(
          [UInt8](repeating: 1, count: 20), key: secret(1, key),
          nonce: [UInt8](repeating: 1, count: nonce), context: [])
      }
      await #expect(processExitsWith: .failure, "\(key) \(nonce)") {
        [key = key as Int, nonce = nonce as Int] in
        _ = secret(1, key).withBytes {
          CoreAEAD.seal(
            secret([1]), with: [], key: $0, nonce: [UInt8](repeating: 1, count: nonce))
        }
      }
    }
    await #expect(processExitsWith: .failure) {
      _ = secret(1, 33).withBytes {
        CoreAEAD.open([UInt8](repeating: 1, count: 50)[...], with: [], key: $0)
      }
    }
  }
}

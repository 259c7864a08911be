// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ProofKit
@testable import ProofModel

/// Vectors that another implementation made from docs/SERVICE.md, section 11, and docs/SPEC.md, section 13.
@Suite("Vectors of strings")
struct StringVectorTests {
  private typealias Block = [String: [String]]

  private static func blocks(_ kind: String) throws -> [Block] {
    let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appending(path: "Vectors/string.txt")
    let text = try String(contentsOf: path, encoding: .utf8)
    let blocks = text.split(separator: "\n\n").map { part in
      var block = Block()
      for line in part.split(separator: "\n") where !line.hasPrefix("#") {
        let words = line.split(separator: " ").map(String.init)
        block[words[0], default: []].append(words.dropFirst(2).joined(separator: " "))
      }
      return block
    }
    let found = blocks.filter { $0["block"] == [kind] }
    return try #require(found.isEmpty ? nil : found)
  }

  private func bytes(_ block: Block, _ name: String) throws -> [UInt8] {
    let text = try #require(block[name]?.first)
    return try #require(Hexadecimal.decode(text))
  }

  /// One block has an id of zeros, which no installation has and no initialiser takes.
  private func instance(_ bytes: [UInt8]) throws -> InstanceID {
    try InstanceID(storage: InlineBytes(bytes.span, of: "instance id"))
  }

  private func key(_ bytes: [UInt8]) throws -> StringKey {
    try StringKey(SecretBytes(copying: bytes.span))
  }

  private func opens(
    _ sealed: StringKey.Sealed, at place: [UInt8], under key: StringKey,
    as value: borrowing SecretBytes
  ) -> Bool {
    guard let opened = key.open(sealed, at: place) else { return false }
    return opened.value.matches(value)
  }

  @Test("keys of installations, and those of apps that fail")
  func keys() throws {
    for block in try Self.blocks("string_key") {
      let bytesOfSecret = try bytes(block, "secret")
      let secret = SecretBytes(copying: bytesOfSecret.span)
      let device = try instance(bytes(block, "device_id"))
      let derived = StringKey.key(of: device, from: secret)
      #expect(try derived == key(bytes(block, "key")))
      #expect(try derived.id.bytes == bytes(block, "key_id"))
      #expect(try StringKey.decoy(of: device, from: secret) == key(bytes(block, "decoy")))
    }
  }

  @Test("places and sealed values")
  func values() throws {
    for block in try Self.blocks("string_value") {
      let key = try key(bytes(block, "key"))
      let name = try #require(String(validating: bytes(block, "name"), as: UTF8.self))
      let place = key.place(of: name)
      #expect(try place == bytes(block, "place"))
      let bytesOfValue = try bytes(block, "value")
      let value = SecretBytes(copying: bytesOfValue.span)
      let sealed = key.seal(value, named: name, nonce: try bytes(block, "nonce"))
      #expect(try sealed.body == bytes(block, "sealed"))
      let isOpened = opens(sealed, at: place, under: key, as: value)
      #expect(isOpened)
    }
  }

  @Test("files, byte for byte")
  func files() throws {
    for block in try Self.blocks("string_file") {
      let file = try StringFile(parsing: bytes(block, "file"))
      #expect(try file.bytes == bytes(block, "file"))
      let strings = block["string"] ?? []
      #expect(file.records.count == strings.count)
      for line in strings {
        let words = line.split(separator: " ").map(String.init)
        let key = try key(bytes(block, words[0] == "1" ? "key" : "other_key"))
        let utf8 = try #require(Hexadecimal.decode(words[1]))
        let name = String(decoding: utf8, as: UTF8.self)
        let place = StringFile.Place(key: key.id, name: key.place(of: name))
        let record = try #require(file[place])
        let bytes = try #require(Hexadecimal.decode(words[2]))
        let value = SecretBytes(copying: bytes.span)
        let isOpened = opens(record.sealed, at: place.name, under: key, as: value)
        #expect(isOpened)
      }
    }
  }
}

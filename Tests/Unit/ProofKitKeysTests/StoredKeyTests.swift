// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitKeys
import ProofKitTPM
import ProofModel
import Testing

@Suite("An installation key in storage")
struct StoredKeyTests {
  @Test("has a file of 100 bytes: magic, version, place, private number, public half")
  func layout() throws {
    let place = Place()
    let point = try StoredInstallationKey(folder: place.path).identity().point
    let bytes = try place.bytes()
    #expect(bytes.count == 100 && Array(bytes[..<4]) == [0x50, 0x49, 1, 1])
    #expect(Array(bytes[36...]) == point.bytes && Set(bytes[4..<36]).count > 8)
    let contents = try #require(InstallationKeyFile.Contents(bytes))
    #expect(contents.place == .storage && contents.point == point)
    #expect(
      unsafe contents.secret.withPointer { unsafe Array(UnsafeBufferPointer(start: $0, count: 32)) }
        == Array(bytes[4..<36]))
    // Another magic, version or place, and another private number.
    for (index, byte) in [(0, 0x51), (1, 0x48), (2, 2), (2, 0), (3, 0), (3, 3), (4, bytes[4] ^ 1)]
      as [(Int, UInt8)]
    {
      var other = bytes
      other[index] = byte
      #expect(InstallationKeyFile.Contents(other) == nil, "\(index)")
    }
    #expect(InstallationKeyFile.Contents(Array(bytes.dropLast())) == nil)
    #expect(InstallationKeyFile.Contents(bytes + [0]) == nil)
  }

  @Test("stays the same while the app runs, though its file is gone")
  func held() throws {
    let place = Place()
    let keys: [any InstallationKey] = [
      StoredInstallationKey(folder: place.path),
      TPMInstallationKey(folder: place.path, options: .init(device: "/nowhere/tpm")),
    ]
    let points = try keys.map { try $0.identity().point }
    #expect(points[0] == points[1])
    try FileManager.default.removeItem(atPath: place.file)
    #expect(try keys.map { try $0.identity().point } == points)
    #expect(try StoredInstallationKey(folder: place.path).identity().point != points[0])
  }

  @Test("has no certificate, opens no credential, and signs each message anew")
  func uses() throws {
    let place = Place()
    let key = StoredInstallationKey(folder: place.path)
    #expect(try key.endorsementCertificate() == nil)
    #expect(throws: InstallationKeyError.libraryFailed) {
      try key.open(KeyCredential(object: [1], seed: [2]))
    }
    let signatures = try [[], [1], [2]].map { try key.signature(of: $0).bytes }
    #expect(Set(signatures).count == 3 && signatures.allSatisfy { Set($0).count > 8 })
    // In the key for TPMs, too, which had none here.
    let other = TPMInstallationKey(folder: place.path, options: .init(device: "/nowhere/tpm"))
    #expect(try other.endorsementCertificate() == nil)
    #expect(try other.signature(of: [1]).bytes.count == 64)
    #expect(throws: InstallationKeyError.libraryFailed) {
      try other.open(KeyCredential(object: [1], seed: [2]))
    }
  }

  @Test("is refused with its path where its file is damaged, too long, or open to others")
  func damaged() throws {
    let place = Place()
    _ = try StoredInstallationKey(folder: place.path).identity()
    let whole = try place.bytes()
    for bytes in [[], Array(whole.dropLast()), whole + [0], whole + whole] {
      try Data(bytes).write(to: URL(filePath: place.file))
      #expect(throws: InstallationKeyError.damaged(path: place.file)) {
        try StoredInstallationKey(folder: place.path).identity()
      }
    }
    try Data(whole).write(to: URL(filePath: place.file))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o640], ofItemAtPath: place.file)
    let error = #expect(throws: InstallationKeyError.self) {
      try StoredInstallationKey(folder: place.path).identity()
    }
    guard case .storage(let path, let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(path == place.file && !reason.isEmpty)
    #expect(try place.bytes() == whole)
  }

  @Test("a secret has 32 bytes, is drawn anew each time, and an array that held one is wiped")
  func secrets() throws {
    for count in [0, 31, 33] {
      #expect(CoreSecret(copying: [UInt8](repeating: 1, count: count)[...]) == nil)
    }
    func bytes(_ secret: CoreSecret) -> [UInt8] {
      unsafe secret.withPointer { unsafe Array(UnsafeBufferPointer(start: $0, count: 32)) }
    }
    let numbers = (0..<40).map { UInt8($0) }
    #expect(bytes(try #require(CoreSecret(copying: numbers[4..<36]))) == Array(numbers[4..<36]))
    #expect(CoreSecret.byteCount == 32)
    #expect(try bytes(#require(CoreSecret())) != bytes(#require(CoreSecret())))
    var held = numbers
    CoreSecret.wipe(&held)
    #expect(held == [UInt8](repeating: 0, count: 40))
    // FIPS 180-4: the digest of "abc".
    #expect(coreSHA256(Array("abc".utf8))?.prefix(4) == [0xBA, 0x78, 0x16, 0xBF])
  }
}

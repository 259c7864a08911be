// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitKeys
import ProofKitTPM
import ProofModel
import SeededRandom
import Testing

/// A folder that goes with the test.
final class Place {
  let path = NSTemporaryDirectory() + "installation-key-\(UUID().uuidString)"
  var file: String { path + "/installation-key" }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func bytes() throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: file))) }
}

@Suite("The file of an installation key")
struct InstallationKeyFileTests {
  @Test("is made once, for its owner alone, and gives the same key again")
  func made() throws {
    let place = Place()
    let identity = try StoredInstallationKey(folder: place.path).identity()
    #expect(identity.place == .storage)
    #expect(try StoredInstallationKey(folder: place.path).identity() == identity)
    #expect(try TPMInstallationKey(folder: place.path).identity().point == identity.point)
    let mode = try FileManager.default.attributesOfItem(atPath: place.file)[.posixPermissions]
    #expect(mode as? Int == 0o600)
    let other = Place()
    #expect(try StoredInstallationKey(folder: other.path).identity().point != identity.point)
  }

  @Test("in a TPM takes the times of the page unless told otherwise")
  func times() {
    let options = TPMInstallationKey.Options()
    #expect(options.device == "/dev/tpmrm0")
    #expect(options.signingTime == .seconds(4))
    #expect(options.provingTime == .seconds(20))
  }

  @Test("is made by one of many at the same time, or the others are told to try again")
  func together() async throws {
    let place = Place()
    let path = place.path
    let points = await withTaskGroup(of: InstallationPoint?.self) { group in
      for _ in 0..<16 {
        group.addTask { try? StoredInstallationKey(folder: path).identity().point }
      }
      return await group.reduce(into: Set<InstallationPoint>()) { points, point in
        if let point { points.insert(point) }
      }
    }
    let point = try StoredInstallationKey(folder: path).identity().point
    #expect(points.isSubset(of: [point]))
  }

  @Test("with any change is refused, or is the same key's")
  func fuzz() throws {
    let place = Place()
    let point = try StoredInstallationKey(folder: place.path).identity().point
    let whole = try place.bytes()
    var generator = SeededGenerator(seed: 5)
    for _ in 0..<2_000 {
      var bytes = whole
      switch Int.random(in: 0..<4, using: &generator) {
      case 0:
        let bit = Int.random(in: 0..<800, using: &generator)
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      case 1: bytes.removeLast(Int.random(in: 1...100, using: &generator))
      case 2: bytes += [UInt8](repeating: 0, count: Int.random(in: 1...40, using: &generator))
      default:
        for index in 4..<68 { bytes[index] = .random(in: .min ... .max, using: &generator) }
      }
      guard let contents = InstallationKeyFile.Contents(bytes) else { continue }
      // Only the place can be another and the rest be right: then a TPM is asked, which makes another key.
      #expect(bytes == whole || contents.place == .tpm)
      #expect(contents.point == point || contents.place == .tpm)
    }
    for number in [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32)] {
      #expect(InstallationKeyFile.Contents(whole[..<4] + number + whole[36...]) == nil)
    }
  }

  @Test("of a key in a TPM is not for a build without TPM support, which says so")
  func otherBuild() throws {
    let place = Place()
    _ = try StoredInstallationKey(folder: place.path).identity()
    var bytes = try place.bytes()
    bytes[3] = 2
    try Data(bytes).write(to: URL(filePath: place.file))
    let key = StoredInstallationKey(folder: place.path)
    #expect(throws: InstallationKeyError.self) { try key.identity() }
    #expect(throws: InstallationKeyError.self) { try key.signature(of: [1]) }
  }

  @Test("in a folder that cannot be is an error with its path")
  func noFolder() {
    let key = StoredInstallationKey(folder: "/proc/none")
    #expect {
      try key.identity()
    } throws: { error in
      "\(error)".contains("/proc/none/installation-key")
    }
  }

  @Test(
    "and a machine without a TPM, or with something else there: the key is in storage, with the reason"
  )
  func noTPM() throws {
    for device in ["/dev/null", "/nowhere/tpmrm0", "/etc/hostname"] {
      let place = Place()
      let key = TPMInstallationKey(folder: place.path, options: .init(device: device))
      if device == "/dev/null" {
        // It takes a command and answers with the end of its file.
        #expect(throws: InstallationKeyError.tpmBrokenOff(device: device)) { try key.identity() }
        continue
      }
      let identity = try key.identity()
      #expect(identity.place == .storage)
      #expect(identity.note.contains(device))
      #expect(try key.endorsementCertificate() == nil)
      #expect(throws: InstallationKeyError.self) { try key.open(.init(object: [1], seed: [2])) }
      _ = try key.signature(of: [1, 2, 3])
    }
  }

  @Test("Each error says what to do next, without an accusation")
  func words() {
    let errors: [InstallationKeyError] = [
      .storage(path: "p", reason: "r"), .damaged(path: "p"), .inUse(path: "p"),
      .tpmAbsent(device: "d"), .tpmDenied(device: "d"), .tpmBusy(device: "d"),
      .tpmLockedOut(device: "d"), .tpmTimedOut(device: "d"), .tpmBrokenOff(device: "d"),
      .tpmHasOtherKey(device: "d", path: "p"), .tpmFailed(device: "d", code: 0x101), .libraryFailed,
    ]
    for error in errors {
      let words = error.description
      #expect(
        ["ry again", "Check", "nstall", "Add", "Switch", "Wait", "Restore"].contains {
          words.contains($0)
        },
        "\(words)")
      for accusation in ["attack", "tamper", "stolen", "clone", "illegal"] {
        #expect(!words.lowercased().contains(accusation), "\(words)")
      }
    }
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitTPM
import ProofModel
import Testing

/// The commands to a TPM, byte for byte, and its answers at their bounds.
@Suite("The commands to a TPM")
struct TPMScriptTests {
  private typealias Command = ScriptedTPM.Command
  /// The key's template: docs/SERVICE.md, up to the point.
  private static let template: [UInt8] = [
    0x00, 0x23, 0x00, 0x0B, 0x00, 0x04, 0x04, 0x72, 0x00, 0x00, 0x00, 0x10, 0x00, 0x18, 0x00, 0x0B,
    0x00, 0x03, 0x00, 0x10,
  ]

  /// A key in this TPM: its private part is 32 times 7, its point 64 times 4.
  private func key(_ tpm: ScriptedTPM, _ place: Place) throws -> TPMInstallationKey {
    try place.holdTPMKey()
    return TPMInstallationKey(
      folder: place.path,
      options: .init(device: tpm.path, signingTime: .seconds(60), provingTime: .seconds(60)))
  }

  private func failure(_ body: () throws(InstallationKeyError) -> Void) -> InstallationKeyError? {
    do throws(InstallationKeyError) {
      try body()
      return nil
    } catch { return error }
  }

  /// Each object that a TPM made, and no other, was taken out of it.
  private func flushes(_ tpm: ScriptedTPM) -> Bool {
    let made = tpm.numbers.indices.filter { tpm.numbers[$0] == Command.makePrimary }
      .map { 0x8000_0001 + UInt32($0) }
    let flushed = tpm.commands(Command.flush).map { ScriptedTPM.number($0) }
    return Set(flushed.filter { $0 >= 0x8000_0000 }) == Set(made)
  }

  @Test("a signature is made by the key of the page, in the hierarchy of the owner")
  func signing() throws {
    let (tpm, place) = (try ScriptedTPM(), Place())
    let signature = try key(tpm, place).signature(of: [1])
    #expect(
      signature.bytes
        == [UInt8](repeating: 1, count: 32) + [UInt8](repeating: 2, count: 32))
    #expect(tpm.numbers == [Command.makePrimary, Command.sign, Command.flush])
    let made = try #require(tpm.commands(Command.makePrimary).first)
    // The hierarchy, a session of the empty password, no secret of the caller's.
    let session: [UInt8] = [0, 0, 0, 9, 0x40, 0, 0, 9, 0, 0, 0, 0, 0]
    let template =
      Self.template + [0, 32] + [UInt8](repeating: 7, count: 32) + [0, 0]
    #expect(
      made == [0x40, 0, 0, 1] + session + [0, 4, 0, 0, 0, 0, 0, UInt8(template.count)] + template
        + [0, 0, 0, 0, 0, 0])
    let signed = try #require(tpm.commands(Command.sign).first)
    // The scheme is the key's; the digest was made outside of the TPM.
    #expect(
      signed == [0x80, 0, 0, 1] + session + [0, 32] + Digest(hashing: [1]).bytes + [0, 0x10]
        + [0x80, 0x24, 0x40, 0, 0, 7, 0, 0])
    #expect(flushes(tpm))
  }

  @Test("numbers of a signature are filled up with zeros, and longer ones are none")
  func numbers() throws {
    func signature(_ change: (inout ScriptedTPM.Script) -> Void) throws -> [UInt8]? {
      var script = ScriptedTPM.Script()
      change(&script)
      let (tpm, place) = (try ScriptedTPM(script), Place())
      let key = try key(tpm, place)
      do throws(InstallationKeyError) { return try key.signature(of: [1]).bytes } catch {
        #expect(error == .tpmBrokenOff(device: tpm.path) && flushes(tpm))
        return nil
      }
    }
    for count in [0, 1, 31, 32] {
      let short = [UInt8](repeating: 9, count: count)
      let filled = [UInt8](repeating: 0, count: 32 - count) + short
      #expect(
        try signature { $0.r = short } == filled + [UInt8](repeating: 2, count: 32), "\(count)")
      #expect(
        try signature { $0.s = short } == [UInt8](repeating: 1, count: 32) + filled, "\(count)")
    }
    let long = [UInt8](repeating: 9, count: 33)
    #expect(try signature { $0.r = long } == nil)
    #expect(try signature { $0.s = long } == nil)
    // ECDAA has the same form.
    #expect(try signature { $0.algorithm = 0x001A } == nil)
  }

  @Test("a TPM that makes another key from the same bytes signs nothing")
  func otherKeys() throws {
    let whole = [UInt8](repeating: 4, count: 32)
    for (x, y) in [
      ([5] + whole.dropFirst(), whole), (whole, whole.dropLast() + [5]),
      ([0] + whole.dropFirst(), whole),
      (whole, [0] + whole.dropFirst()), (Array(whole.dropLast()), whole),
      (whole, Array(whole.dropLast())), (whole.dropLast() + [5], whole),
      (whole, [5] + whole.dropFirst()),
    ] as [([UInt8], [UInt8])] {
      var script = ScriptedTPM.Script()
      (script.x, script.y) = (x, y)
      let (tpm, place) = (try ScriptedTPM(script), Place())
      let key = try key(tpm, place)
      let expected = InstallationKeyError.tpmHasOtherKey(device: tpm.path, path: place.file)
      #expect(
        failure { () throws(InstallationKeyError) in _ = try key.signature(of: [1]) } == expected)
      #expect(tpm.commands(Command.sign).isEmpty && flushes(tpm))
    }
  }

  @Test("a new key has coordinates that begin with no zero, or the attempt is repeated")
  func newKeys() throws {
    let whole = [UInt8](repeating: 4, count: 32)
    for (x, y, isTaken) in [
      (whole, whole, true), ([0] + whole.dropFirst(), whole, false),
      (whole, [0] + whole.dropFirst(), false),
      ([1] + whole.dropFirst(), [1] + whole.dropFirst(), true),
    ] as [([UInt8], [UInt8], Bool)] {
      var script = ScriptedTPM.Script()
      (script.x, script.y) = (x, y)
      let (tpm, place) = (try ScriptedTPM(script), Place())
      let key = TPMInstallationKey(
        folder: place.path, options: .init(device: tpm.path, signingTime: .seconds(60)))
      if isTaken {
        #expect(try key.identity().point.bytes == x + y)
        #expect(tpm.numbers == [Command.makePrimary, Command.flush] && flushes(tpm))
      } else {
        #expect(throws: InstallationKeyError.tpmFailed(device: tpm.path, code: 0)) {
          try key.identity()
        }
        // Other bytes each time.
        let uniques = tpm.commands(Command.makePrimary).map { Array($0.dropLast(8).suffix(32)) }
        #expect(uniques.count == 8 && Set(uniques).count == 8 && flushes(tpm))
      }
    }
  }

  // MARK: The certificate

  private func certificate(
    _ memory: [UInt8], excess: Int = 0
  ) throws -> (certificate: [UInt8]?, error: InstallationKeyError?, tpm: ScriptedTPM) {
    var script = ScriptedTPM.Script()
    (script.memory, script.excess) = (memory, excess)
    let (tpm, place) = (try ScriptedTPM(script), Place())
    let key = try key(tpm, place)
    do throws(InstallationKeyError) { return (try key.endorsementCertificate(), nil, tpm) } catch {
      return (nil, error, tpm)
    }
  }

  /// A value of DER with so many bytes as a whole.
  private func value(_ count: Int, _ head: [UInt8] = [0x30, 0x82]) -> [UInt8] {
    let content = max(0, count - 4)
    return head + [UInt8(content >> 8), UInt8(content & 255)]
      + (0..<content).map { UInt8(truncatingIfNeeded: $0 &* 7) }
  }

  @Test(
    "a certificate is one value of DER with up to 4,096 bytes; what follows is the maker's filler")
  func certificates() throws {
    for count in [4, 5, 511, 512, 513, 1_024, 1_025, 4_095, 4_096] {
      let whole = value(count)
      let read = try certificate(whole)
      #expect(read.certificate == whole && read.error == nil, "\(count)")
      if count < 4_096 {
        #expect(try certificate(whole + [0xFF]).certificate == whole, "\(count)")
        #expect(
          try certificate(whole + [UInt8](repeating: 0, count: 4_096 - count)).certificate == whole)
      }
      let cut = try certificate(Array(whole.dropLast()))
      #expect(cut.certificate == nil && cut.error == nil, "\(count)")
    }
    for memory in [
      [], [0x30], [0x30, 0x82, 0], value(4_097), value(9) + [UInt8](repeating: 0, count: 4_088),
      value(9, [0x31, 0x82]), value(9, [0x2F, 0x82]), value(9, [0x30, 0x81]),
      value(9, [0x30, 0x83]),
      [UInt8](repeating: 0xFF, count: 600),
    ] as [[UInt8]] {
      let read = try certificate(memory)
      #expect(read.certificate == nil && read.error == nil, "\(memory.prefix(5))")
      #expect(read.tpm.commands(Command.read).isEmpty == (memory.isEmpty || memory.count > 4_096))
    }
  }

  @Test("memory is read in pieces of 512 bytes, by the index's own password")
  func pieces() throws {
    let read = try certificate(value(1_030))
    let index: [UInt8] = [0x01, 0xC0, 0x00, 0x02]
    let session: [UInt8] = [0, 0, 0, 9, 0x40, 0, 0, 9, 0, 0, 0, 0, 0]
    #expect(
      read.tpm.commands(Command.read)
        == [[2, 0, 0, 0], [2, 0, 2, 0], [0, 6, 4, 0]].map { index + index + session + $0 })
    #expect(Set(read.tpm.commands(Command.readIndex)) == [index])
    let more = try certificate(value(1_030), excess: 1)
    #expect(more.error == .tpmBrokenOff(device: more.tpm.path))
    #expect(more.tpm.commands(Command.read).count == 1)
    let fewer = try certificate(value(1_030), excess: -1)
    #expect(fewer.error == .tpmBrokenOff(device: fewer.tpm.path))
  }

  // MARK: Credentials

  private static let credential = KeyCredential(
    object: [0, 32] + [UInt8](repeating: 8, count: 66), seed: [UInt8](repeating: 9, count: 256))

  private func opened(
    _ change: (inout ScriptedTPM.Script) -> Void
  ) throws -> (secret: [UInt8]?, error: InstallationKeyError?, tpm: ScriptedTPM) {
    var script = ScriptedTPM.Script()
    change(&script)
    let (tpm, place) = (try ScriptedTPM(script), Place())
    let key = try key(tpm, place)
    do throws(InstallationKeyError) {
      return (try key.open(Self.credential).bytes, nil, tpm)
    } catch { return (nil, error, tpm) }
  }

  @Test("a credential is opened by the endorsement key that stands at its place")
  func standing() throws {
    let opened = try opened { _ in }
    #expect(opened.secret == [UInt8](0..<32) && flushes(opened.tpm))
    #expect(
      opened.tpm.numbers == [
        Command.makePrimary, Command.readPublic, Command.startSession, Command.policySecret,
        Command.activate, Command.flush,
      ])
    #expect(opened.tpm.commands(Command.readPublic) == [[0x81, 1, 0, 1]])
    let activation = try #require(opened.tpm.commands(Command.activate).first)
    #expect(Array(activation.prefix(8)) == [0x80, 0, 0, 1, 0x81, 1, 0, 1])
    let parts = [0, 68] + Self.credential.object + [1, 0] + Self.credential.seed
    #expect(Array(activation.suffix(parts.count)) == parts)
  }

  @Test("the session is one of a policy, of the endorsement's password")
  func session() throws {
    let tpm = try opened { _ in }.tpm
    let started = try #require(tpm.commands(Command.startSession).first)
    #expect(Array(started.prefix(10)) == [0x40, 0, 0, 7, 0x40, 0, 0, 7, 0, 32])
    // No salt, a policy, no cipher, SHA-256.
    #expect(Array(started.suffix(7)) == [0, 0, 1, 0, 0x10, 0, 0x0B])
    let secret = try #require(tpm.commands(Command.policySecret).first)
    #expect(Array(secret.prefix(8)) == [0x40, 0, 0, 0x0B, 3, 0, 0, 0])
    #expect(Array(secret.suffix(10)) == [UInt8](repeating: 0, count: 10))
  }

  @Test("where none stands, or it does not open it, one is made by the profile's template")
  func made() throws {
    let template = ScriptedTPM.endorsementTemplate + [UInt8](repeating: 0, count: 256)
    for (hasEndorsement, refusals) in [(false, 0), (true, 1)] {
      let opened = try opened {
        $0.hasEndorsement = hasEndorsement
        $0.refusals = refusals
      }
      #expect(opened.secret == [UInt8](0..<32) && flushes(opened.tpm))
      let commands = opened.tpm.commands(Command.makePrimary)
      #expect(commands.count == 2)
      let made = try #require(commands.last)
      #expect(Array(made.prefix(4)) == [0x40, 0, 0, 0x0B])
      #expect(Array(made.dropLast(6).suffix(template.count)) == template)
      // A session that was refused is taken out, one that was used is gone.
      let flushed = opened.tpm.commands(Command.flush).filter { $0 == [3, 0, 0, 0] }
      #expect(flushed.count == refusals)
    }
  }

  @Test("a credential that both refuse is refused, and a secret of another length is none")
  func refused() throws {
    let refused = try opened { $0.refusals = 2 }
    #expect(refused.error == .tpmFailed(device: refused.tpm.path, code: 0x1DF))
    #expect(flushes(refused.tpm) && refused.tpm.commands(Command.activate).count == 2)
    for count in [0, 31, 33] {
      let other = try opened { $0.secret = [UInt8](repeating: 1, count: count) }
      #expect(other.error == .tpmFailed(device: other.tpm.path, code: 0), "\(count)")
      #expect(flushes(other.tpm))
    }
  }
}

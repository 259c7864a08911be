// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import ProofKit
import ProofKitTPM
import ProofModel
import Testing

/// A Unix socket that gives one answer to each command, as a TPM does that refuses everything.
private final class RefusingTPM: Sendable {
  /// The way in which the answer is sent.
  enum Way: Sendable {
    case whole
    /// Byte by byte.
    case inPieces
    /// The connection ends behind it.
    case last
    /// Nothing is said.
    case silent
  }

  let path = "/tmp/tpm-\(UInt32.random(in: 1 ... .max))"
  let commandCount = CoreLock(0)
  private let listener: Int32

  init(_ answer: [UInt8], _ way: Way = .whole) throws {
    listener = try TPMSocket.listen(at: path)
    let file = listener
    let count = commandCount
    Thread { Self.serve(file, answer, way, count) }.start()
  }

  deinit { TPMSocket.end(listener, at: path) }

  private static func serve(
    _ listener: Int32, _ answer: [UInt8], _ way: Way, _ count: CoreLock<Int>
  ) {
    defer { close(listener) }
    while true {
      let line = accept(listener, nil, nil)
      guard line >= 0 else { return }
      var command = [UInt8](repeating: 0, count: 4_096)
      while unsafe read(line, &command, command.count) > 0 {
        count.withLock { $0 += 1 }
        let pieces = way == .inPieces ? answer.map { [$0] } : way == .silent ? [] : [answer]
        for piece in pieces {
          unsafe _ = send(line, piece, piece.count, Int32(MSG_NOSIGNAL))
        }
        if way == .last { break }
      }
      // The end of the connection, also while a new process of another test has it open.
      shutdown(line, Int32(SHUT_RDWR))
      close(line)
    }
  }

  /// The answer of a TPM that refuses a command: tag, size, code.
  static func refusal(_ code: UInt32, size: UInt32 = 10) -> [UInt8] {
    func bytes(_ number: UInt32) -> [UInt8] {
      (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
    return [0x80, 0x01] + bytes(size) + bytes(code)
  }
}

/// Codes: TPM 2.0 Library, Part 2, section 6.6.3.
@Suite("The answers of a TPM that does not serve")
struct TPMAnswerTests {
  private func key(
    _ tpm: RefusingTPM, _ place: Place, signing: Duration = .seconds(60)
  ) -> TPMInstallationKey {
    TPMInstallationKey(
      folder: place.path,
      options: .init(device: tpm.path, signingTime: signing, provingTime: .seconds(60)))
  }

  private func failure(_ body: () throws -> Void) -> InstallationKeyError? {
    do {
      try body()
      return nil
    } catch { return error as? InstallationKeyError }
  }

  /// The error of a key at its first use, and whether a file of it is there.
  private func first(
    _ answer: [UInt8], _ way: RefusingTPM.Way = .whole, signing: Duration = .seconds(60)
  ) throws -> (error: InstallationKeyError?, device: String, isMade: Bool) {
    let (tpm, place) = (try RefusingTPM(answer, way), Place())
    let error = failure { _ = try key(tpm, place, signing: signing).identity() }
    return (error, tpm.path, FileManager.default.fileExists(atPath: place.file))
  }

  @Test(
    "a TPM that has no room or no time is busy, and no key is made elsewhere",
    arguments: [
      0x902, 0x903, 0x904, 0x905, 0x906, 0x908, 0x909, 0x90A, 0x920, 0x922, 0x923,
      // The same by the kernel's resource manager.
      0xC0902,
    ] as [UInt32])
  func busy(code: UInt32) throws {
    let told = try first(RefusingTPM.refusal(code))
    #expect(told.error == .tpmBusy(device: told.device) && !told.isMade)
  }

  @Test("a TPM that is locked out says so, and a code of the library is no refusal of a TPM")
  func others() throws {
    let locked = try first(RefusingTPM.refusal(0x921))
    #expect(locked.error == .tpmLockedOut(device: locked.device) && !locked.isMade)
    let failed = try first(RefusingTPM.refusal(0xB0902))
    #expect(failed.error == .tpmFailed(device: failed.device, code: 0xB0902) && !failed.isMade)
  }

  @Test(
    "a TPM that makes no keys leaves the key to the storage, with its code as the reason",
    arguments: [0x100, 0x101, 0x901, 0x907, 0x184, 0xC0101] as [UInt32])
  func refused(code: UInt32) throws {
    let (tpm, place) = (try RefusingTPM(RefusingTPM.refusal(code)), Place())
    let identity = try key(tpm, place).identity()
    #expect(identity.place == .storage)
    #expect(
      identity.note == "the TPM at \(tpm.path) makes no key (0x\(String(code, radix: 16)))")
    // The next start finds the key, and asks no TPM.
    let count = tpm.commandCount.withLock { $0 }
    let again = try key(tpm, place).identity()
    #expect(again.point == identity.point && tpm.commandCount.withLock { $0 } == count)
    #expect(again.note == "it was made where no TPM could be used")
  }

  @Test("an answer may come in pieces, and is none if its size differs from what came")
  func sizes() throws {
    let pieces = try first(RefusingTPM.refusal(0x902), .inPieces)
    #expect(pieces.error == .tpmBusy(device: pieces.device))
    let whole = RefusingTPM.refusal(0x902)
    for (answer, way) in [
      ([], .last), (Array(whole.prefix(9)), .last), (RefusingTPM.refusal(0x902, size: 11), .last),
      (whole + [0], .whole), (RefusingTPM.refusal(0x902, size: 9), .whole),
      (RefusingTPM.refusal(0x902, size: 0), .whole),
      (RefusingTPM.refusal(0x902, size: 4_097), .whole),
      (RefusingTPM.refusal(0x902, size: 0x0100_000A), .whole),
    ] as [([UInt8], RefusingTPM.Way)] {
      let told = try first(answer, way)
      #expect(told.error == .tpmBrokenOff(device: told.device) && !told.isMade, "\(answer)")
    }
  }

  @Test("a TPM that says nothing ends with the time of a signature, however short")
  func silent() throws {
    for time in [Duration.milliseconds(1), .nanoseconds(1), .zero] {
      let told = try first([], .silent, signing: time)
      #expect(told.error == .tpmTimedOut(device: told.device) && !told.isMade)
    }
    // A time beyond all clocks is no overflow.
    let told = try first(RefusingTPM.refusal(0x902), signing: .seconds(Int64.max))
    #expect(told.error == .tpmBusy(device: told.device))
  }

  @Test("a path that is too long for a socket, or leads to a file, has no TPM")
  func paths() throws {
    for device in ["/tmp/" + String(repeating: "x", count: 200), "/etc/hostname"] {
      let place = Place()
      let key = TPMInstallationKey(folder: place.path, options: .init(device: device))
      #expect(try key.identity().note == "there is no TPM at \(device)")
    }
  }

  // MARK: A key that is in a TPM

  @Test("each use of a key in a TPM tells the TPM's refusal, and none falls back")
  func uses() throws {
    let (tpm, place) = (try RefusingTPM(RefusingTPM.refusal(0x101)), try Place.withTPMKey())
    let key = key(tpm, place)
    let identity = try key.identity()
    #expect(identity.place == .tpm && identity.note == "" && identity.point.bytes[0] == 4)
    let refusal = InstallationKeyError.tpmFailed(device: tpm.path, code: 0x101)
    #expect(throws: refusal) { try key.signature(of: [1]) }
    #expect(throws: refusal) { try key.endorsementCertificate() }
    #expect(throws: refusal) { try key.open(KeyCredential(object: [1], seed: [2])) }
  }

  @Test("a TPM that has no certificate has none, and another refusal is an error")
  func certificate() throws {
    // TPM_RC_HANDLE of the first handle: there is no such index.
    let (tpm, place) = (try RefusingTPM(RefusingTPM.refusal(0x18B)), try Place.withTPMKey())
    #expect(try key(tpm, place).endorsementCertificate() == nil)
    for code in [0x182, 0x102] as [UInt32] {
      let other = try RefusingTPM(RefusingTPM.refusal(code))
      #expect(throws: InstallationKeyError.tpmFailed(device: other.path, code: code)) {
        try key(other, place).endorsementCertificate()
      }
    }
  }

  @Test("a credential that no TPM could hold is refused before a TPM is asked")
  func credential() throws {
    let (tpm, place) = (try RefusingTPM(RefusingTPM.refusal(0x101)), try Place.withTPMKey())
    let long = [UInt8](repeating: 1, count: 5_000)
    for credential in [KeyCredential(object: long, seed: [1]), .init(object: [1], seed: long)] {
      #expect(throws: InstallationKeyError.tpmFailed(device: tpm.path, code: 0)) {
        try key(tpm, place).open(credential)
      }
    }
    #expect(tpm.commandCount.withLock { $0 } == 0)
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofService

/// Certificates of TPMs, and their authorities. Tests/Process/Backend opens credentials in a TPM.
@Suite struct EndorsementTests {
  private typealias Sample = EndorsementSamples

  private static let now: UnixTime = 1_900_000_000

  private static func authorities(_ pem: [UInt8]) throws -> TPMAuthorities {
    try TPMAuthorities(pem: pem, path: "authorities.pem")
  }

  private static func credential(
    _ certificate: [UInt8], _ authorities: TPMAuthorities, at time: UnixTime = now
  ) throws -> KeyCredential? {
    authorities.credential(
      holding: try CredentialSecret([UInt8](repeating: 7, count: 32)),
      for: Endorsement(
        try InstallationPoint([UInt8](repeating: 3, count: 64)), certificate: certificate),
      at: time)
  }

  @Test func `a certificate of an endorsement key gets a credential, drawn anew each time`() throws
  {
    let authorities = try Self.authorities(Sample.pem(Sample.first))
    for certificate in [Sample.good, Sample.several] {
      let made = try (0..<2).map { _ in try #require(try Self.credential(certificate, authorities))
      }
      for credential in made {
        // A digest of 32 bytes with its size, and an encrypted secret of as many with its size.
        #expect(credential.object.count == 68 && Array(credential.object[..<2]) == [0, 32])
        #expect(credential.seed.count == 256 && Set(credential.seed).count > 64)
        #expect(Set(credential.object[2..<34]).count > 8 && Set(credential.object[34...]).count > 8)
      }
      #expect(made[0].seed != made[1].seed)
      #expect(made[0].object[2..<34] != made[1].object[2..<34])
      #expect(made[0].object[34...] != made[1].object[34...])
    }
  }

  @Test func `a certificate of another use, key, authority or form gets none`() throws {
    let authorities = try Self.authorities(Sample.pem(Sample.first))
    var changed = Sample.good
    changed[changed.count - 1] ^= 1
    for certificate in [
      Sample.useless, Sample.attestation, Sample.ofSecond, Sample.ofIntermediate, Sample.long,
      Sample.curve, Sample.first, [], Sample.good + [0], Array(Sample.good.dropLast()), changed,
      [UInt8](repeating: 0x30, count: 5_000),
    ] { #expect(try Self.credential(certificate, authorities) == nil) }
  }

  @Test func `a certificate counts from its first second to its last one`() throws {
    let authorities = try Self.authorities(Sample.pem(Sample.first))
    // 2020-01-01 00:00:00 and 2099-12-31 23:59:59.
    let (first, last) = (1_577_836_800 as UnixTime, 4_102_444_799 as UnixTime)
    for (time, counts) in [
      (first - 1, false), (first + 1, true), (last - 1, true), (last + 1, false),
    ] { #expect((try Self.credential(Sample.good, authorities, at: time) != nil) == counts) }
  }

  @Test func `each authority of a file is trusted by itself, roots and others`() throws {
    let both = try Self.authorities(Sample.pem(Sample.first, Sample.second))
    #expect(try Self.credential(Sample.good, both) != nil)
    #expect(try Self.credential(Sample.ofSecond, both) != nil)
    #expect(try Self.credential(Sample.ofIntermediate, both) == nil)
    let one = try Self.authorities(Sample.pem(Sample.intermediate))
    #expect(try Self.credential(Sample.ofIntermediate, one) != nil)
    #expect(try Self.credential(Sample.good, one) == nil)
  }

  @Test func `a file of authorities has a mebibyte at most, and nothing but certificates`() throws {
    let whole = Sample.pem(Sample.first)
    let space = [UInt8](repeating: 0x0A, count: 1 << 20)
    let full = try Self.authorities(space.dropLast(whole.count) + whole)
    #expect(try Self.credential(Sample.good, full) != nil)
    func reason(_ pem: [UInt8]) -> String? {
      do throws(TPMAuthorities.Refusal) {
        _ = try TPMAuthorities(pem: pem, path: "a.pem")
        return nil
      } catch {
        guard case .unreadable("a.pem", let reason) = error else { return "another path" }
        return reason
      }
    }
    #expect(reason(space.dropLast(whole.count - 1) + whole) == "it is too long")
    let words = "a part of it is no certificate, or it has none"
    let bad = Array("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n".utf8)
    for pem in [[], space, bad, whole + bad, bad + whole] { #expect(reason(pem) == words) }
    #expect(reason(whole + space.prefix(9)) == nil)
  }
}

// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofModel
import Testing

@testable import ProofService

/// A challenge's demand for evidence of a TPM, by a service that knows an authority.
@Suite struct KeyDemandTests {
  private typealias Sample = EndorsementSamples

  private let point: InstallationPoint

  init() throws { point = try InstallationPoint([UInt8](repeating: 3, count: 64)) }

  private func service(_ bench: Bench) throws -> AttestationService {
    AttestationService(
      account: bench.account, clock: bench.clock.clock,
      tpmAuthorities: try TPMAuthorities(pem: Sample.pem(Sample.first), path: "authorities.pem"))
  }

  private func demand(
    _ service: AttestationService, _ bench: Bench, hasKey: Bool = true,
    certificate: [UInt8]? = nil
  ) throws -> KeyDemand? {
    let endorsement = certificate.map { Endorsement(point, certificate: $0) }
    let question = bench.app.question(hasKey: hasKey, endorsement: endorsement)
    let response = service.respond(
      to: HTTPRequest(
        method: "POST", path: "/v1/challenge", body: question.bytes, peer: "192.0.2.7"))
    return try AttestationChallenge(response.body).key
  }

  @Test func `evidence is asked for under the rule “hardware”, of an app with a key`() throws {
    for rule in InstallationKeyRule.allCases {
      let bench = try Bench(policy: [.installationKey: rule.rawValue])
      let service = try service(bench)
      #expect(try demand(service, bench, hasKey: false) == nil)
      let expected: KeyDemand = rule == .hardware ? .evidence : .nothing
      #expect(try demand(service, bench) == expected, "\(rule)")
      if rule != .hardware {
        #expect(try demand(service, bench, certificate: Sample.good) == .nothing, "\(rule)")
      }
      #expect(service.metrics[.endorsementsRefused] == 0)
    }
  }

  @Test func `a certificate of a known authority gets a credential, and another one is counted`()
    throws
  {
    let bench = try Bench(policy: [.installationKey: "hardware"])
    let service = try service(bench)
    guard case .credential(let credential)? = try demand(service, bench, certificate: Sample.good)
    else {
      Issue.record("no credential")
      return
    }
    #expect(credential.object.count == 68 && credential.seed.count == 256)
    #expect(service.metrics[.endorsementsRefused] == 0)
    for (count, certificate) in [Sample.ofSecond, Sample.useless, [0x30, 0]].enumerated() {
      #expect(try demand(service, bench, certificate: certificate) == .nothing)
      #expect(service.metrics[.endorsementsRefused] == count + 1)
    }
    // The certificate ends with the year 2099.
    bench.clock.advance(by: 4_102_444_800 - bench.clock.now.seconds)
    #expect(try demand(service, bench, certificate: Sample.good) == .nothing)
  }

  @Test func `a device whose key was proved is asked no more`() throws {
    for (kind, expected) in [
      (.storage, .evidence), (.unproved, .evidence), (.tpm, .nothing),
    ] as [(InstallationKeyNote.Kind, KeyDemand)] {
      let bench = try Bench(policy: [.installationKey: "hardware"])
      var note = DeviceNote()
      note.key = InstallationKeyNote(point, kind, since: 5)
      let spender = Spender(store: bench.store)
      #expect(try spender.see(bench.app.device, note: note.bytes) == .used)
      #expect(try demand(service(bench), bench) == expected, "\(kind)")
    }
  }
}

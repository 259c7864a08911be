// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import ProofModel
import Testing

@testable import ProofKit

/// Configurations that are almost right: with the signature of the account's key, so that every claim
/// is reached, and without.
@Suite("Configuration, mutated")
struct ConfigurationFuzzTests {
  let service = InProcessService()

  @Test("claims under a good signature are taken or refused, and what is taken keeps its rules")
  func claims() throws {
    var mutator = Mutator("configuration claims")
    let fingerprint = AccountConfiguration.fingerprint(of: service.issuer.publicKey)
    let inputs: [(name: String, value: String)] = [
      ("acc", #""acme""#), ("ser", "7"), ("iat", "1900000000"), ("fps", "3"),
      ("url", #""https://attest.example.com:8443""#), ("spk", #"["\#(pin(1))"]"#),
      ("pin", #"{"a.example":["\#(pin(1))"],"*":["\#(pin(2))"],"b.example":[]}"#),
      ("dom", #"{"a.example":"token","b.example":"measurement","c.example":"none"}"#),
      ("hnd", #"["\#(handover(IssuerKey.random(), to: IssuerKey.random()))"]"#),
    ]
    var taken = 0
    for round in 0..<Mutator.rounds {
      // Each value is taken as it is; mutants follow.
      let (name, own) = round < inputs.count ? inputs[round] : mutator.pick(inputs)
      let value =
        round < inputs.count
        ? Array(own.utf8) : mutator.mutant(of: inputs.map { Array($0.value.utf8) })
      let text = service.configuration(claims: [name: String(decoding: value, as: UTF8.self)])
      guard let read = try? AccountConfiguration(text, signedBy: fingerprint) else { continue }
      #expect(InitialConfiguration.isAccount(read.account) && read.text == text)
      #expect(ServiceAddress(url: read.serviceURL)?.url == read.serviceURL)
      #expect(read.servicePins.allSatisfy(Pins.isPin))
      #expect(read.pins.byHost.values.allSatisfy { $0.allSatisfy(Pins.isPin) })
      #expect(try AccountConfiguration(read.text, signedBy: fingerprint) == read)
      taken += 1
    }
    #expect(taken > 0, "some values are taken, or nothing was tried")
  }

  @Test("no changed configuration is taken under the old signature")
  func signatures() throws {
    var mutator = Mutator("configuration")
    let fingerprint = AccountConfiguration.fingerprint(of: service.issuer.publicKey)
    let text = service.configuration()
    let inputs = [
      text, service.configuration(serial: 9), service.configuration(signer: .random()),
      service.shortForm,
    ].map { Array($0.utf8) }
    for _ in 0..<2 * Mutator.rounds {
      let mutant = mutator.mutant(of: inputs)
      let words = String(decoding: mutant, as: UTF8.self)
      let isTaken = (try? AccountConfiguration(words, signedBy: fingerprint)) != nil
      #expect(isTaken == inputs[..<2].contains(mutant))
      _ = try? InitialConfiguration(words)
    }
  }
}

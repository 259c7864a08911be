// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// A configuration key names the next one.
func handover(
  _ old: IssuerKey, to new: IssuerKey, account: String = "acme", signer: IssuerKey? = nil,
  header: String = #"{"alg":"EdDSA","typ":"handover+jwt"}"#
) -> String {
  func encoded(_ key: IssuerKey) -> String { Base64.encode(key.publicKey.bytes, .url) }
  let claims = #"{"acc":"\#(account)","key":"\#(encoded(old))","nxt":"\#(encoded(new))"}"#
  let signed = [header, claims].map { Base64.encode(Array($0.utf8), .url) }
    .joined(separator: ".")
  let signature = CoreCrypto.sign(Array(signed.utf8).span, with: signer ?? old)
  return signed + "." + Base64.encode(signature, .url)
}

@Suite("Handover of the configuration key")
struct HandoverTests {
  private let first = IssuerKey.random()
  private let second = IssuerKey.random()
  private let service = InProcessService()

  private func fingerprint(_ key: IssuerKey) -> Digest {
    AccountConfiguration.fingerprint(of: key.publicKey)
  }

  private func configuration(_ handovers: [String], serial: UInt32 = 9) -> String {
    let list = handovers.map { JSONText.quote($0) }.joined(separator: ",")
    return service.configuration(serial: serial, claims: ["hnd": "[\(list)]"])
  }

  @Test("an app with the first or a later fingerprint follows the handovers to the present key")
  func chain() throws {
    let text = configuration([
      handover(first, to: second), handover(second, to: service.issuer),
    ])
    for key in [first, second, service.issuer] {
      let read = try AccountConfiguration(text, signedBy: fingerprint(key))
      #expect(read.key == service.issuer.publicKey)
    }
  }

  @Test("a chain that is forged, broken, of another account or too long leads nowhere")
  func refused() {
    let stranger = IssuerKey.random()
    let good = handover(second, to: service.issuer)
    let chains: [[String]] = [
      [], [good], [handover(first, to: second)], [good, handover(first, to: second)],
      [handover(first, to: service.issuer, signer: stranger)],
      [handover(first, to: service.issuer, account: "bolt")],
      [handover(first, to: service.issuer, header: #"{"alg":"EdDSA"}"#)],
      [handover(first, to: service.issuer, header: #"{"alg":"none","typ":"handover+jwt"}"#)],
      [handover(first, to: service.issuer) + "A"], ["x"], ["..."],
      // A configuration is no handover.
      [service.configuration(signer: first)],
      [String](repeating: handover(first, to: service.issuer), count: 9),
    ]
    for chain in chains {
      #expect(throws: SetupError.self, "\(chain)") {
        _ = try AccountConfiguration(configuration(chain), signedBy: fingerprint(first))
      }
    }
  }

  @Test("a handover is no configuration, and one to a key is not the key's signature")
  func confusion() {
    #expect(throws: SetupError.self) {
      _ = try AccountConfiguration(handover(first, to: second))
    }
    let stranger = IssuerKey.random()
    let text = service.configuration(
      signer: stranger, claims: ["hnd": #"["\#(handover(first, to: service.issuer))"]"#])
    #expect(throws: SetupError.self) {
      _ = try AccountConfiguration(text, signedBy: fingerprint(first))
    }
  }

  @Test("an app that has followed a handover takes no configuration of the key before it")
  func noWayBack() throws {
    let digest = Base64.encode(fingerprint(first).bytes)
    let initial = try InitialConfiguration("#acme@attest.example.com#\(digest)")
    let text = configuration([handover(first, to: service.issuer)])
    let held = try initial.update(text, held: nil)
    let encoded = Base64.encode(first.publicKey.bytes, .url)
    let old = service.configuration(
      serial: 99, signer: first, claims: ["key": JSONText.quote(encoded)])
    #expect(try initial.update(old, held: nil).serial == 99)
    #expect(throws: SetupError.self) { _ = try initial.update(old, held: held) }
    // After a restart the stored one checks out by its own handovers, and the next needs none.
    #expect(try initial.update(held.text, held: nil) == held)
    _ = try initial.update(service.configuration(serial: 10), held: held)
  }
}

import ProofModel
import SeededRandom
import Testing

@testable import ProofRequest

/// RFC 8941: reading and writing are inverse, and bad input is refused.
@Suite struct StructuredFieldTests {
  static func rewritten(_ text: String) -> String? {
    StructuredDictionary(Array(text.utf8)).map { String(decoding: written($0), as: UTF8.self) }
  }

  static func written(_ dictionary: StructuredDictionary) -> [UInt8] {
    var bytes: [UInt8] = []
    for member in dictionary.members {
      if !bytes.isEmpty { bytes += ", ".utf8 }
      bytes += dictionary.bytes(member)
      let value = dictionary.places[member + 1]
      if value.kind == .boolean && value.number == 1 {
        // A key alone stands for true: its parameters follow the key.
        var item: [UInt8] = []
        dictionary.write(member + 1, to: &item)
        bytes += item.dropFirst(2)
      } else {
        bytes.append(UInt8(ascii: "="))
        dictionary.write(member + 1, to: &bytes)
      }
    }
    return bytes
  }

  @Test(
    "Canonical text is written as it was read",
    arguments: [
      "", "a", "a=1", "a=-999999999999999", "a=1.5", "a=-0.125, b", "a=\"x\\\"y\\\\\"",
      "a=tok/en:*",
      "a=:AAEC:", "a=?0", "a;x;y=2", "a=(1 \"b\";c=d :AA==:);e=?0", "a=()", "*a.b-c_1=1",
    ])
  func canonical(text: String) { #expect(Self.rewritten(text) == text) }

  @Test(
    "Other spellings are read and written in the canonical one",
    arguments: [
      ("  a=1 ,\t b=2  ", "a=1, b=2"), ("a=(  1   2  )", "a=(1 2)"), ("a; x;  y=1", "a;x;y=1"),
      ("a=?1", "a"), ("a=1.500", "a=1.5"), ("a=007", "a=7"), ("a=1.0", "a=1.0"), ("a;x=?1", "a;x"),
    ])
  func spellings(text: String, expected: String) { #expect(Self.rewritten(text) == expected) }

  @Test(
    "Malformed text is no dictionary",
    arguments: [
      "A=1", "a=", "a=1,", "a=1, a=2", "a;x;x", "a=\"", "a=\"\\x\"", "a=\"\u{e9}\"", "a=:A:",
      "a=:AA:",
      "a=:AAEC", "a=1.", "a=1.2345", "a=1234567890123456", "a=1234567890123.5", "a=-", "a=?2",
      "a=?",
      "a=(1", "a=(1\t2)", "a=(1,2)", "a=((1))", "a=(\"b\"\"c\")", "a b", "=1", "a=1 b=2", "a=@1",
      "a=\"\u{7f}\"", "\ta=1",
    ])
  func malformed(text: String) { #expect(Self.rewritten(text) == nil) }

  @Test("Mutated fields never trap, and what is read is written to a text that reads the same")
  func mutated() throws {
    var mutator = Mutator("StructuredFieldTests")
    let corpus = [
      #"sig1=("@method" "x";bs;key="k");created=1;keyid="a";nonce="b", sig2=:AAEC:;q=1.5"#,
      "sha-256=:uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YU=:, b=?1", "a=tok;b=\"\\\"\", c=(1 2 3)",
    ].map { Array($0.utf8) }
    for _ in 0..<Mutator.rounds {
      let bytes = mutator.mutant(of: corpus)
      guard let dictionary = StructuredDictionary(bytes) else { continue }
      let written = Self.written(dictionary)
      let again = try #require(StructuredDictionary(written))
      #expect(again.places.map(\.kind) == dictionary.places.map(\.kind))
      #expect(Self.written(again) == written)
    }
  }

  @Test("Mutated requests never trap a verifier, and none is the key's but the request itself")
  func mutatedRequests() throws {
    var mutator = Mutator("StandardProof")
    let signed = try StandardFormTests.signed()
    let input = Array(try #require(signed.fields.first("signature-input")).utf8)
    let tag = Array(try #require(signed.fields.first("signature")).utf8)
    let key = StandardFormTests.key()
    for _ in 0..<Mutator.rounds {
      var head = signed
      let text = mutator.mutant(of: [input])
      let signature = mutator.mutant(of: [tag])
      guard (try? head.fields.set("signature-input", String(decoding: text, as: UTF8.self))) != nil,
        (try? head.fields.set("signature", String(decoding: signature, as: UTF8.self))) != nil,
        let proof = try? StandardProof(reading: head),
        key.withBytes({ proof.isSigned(with: $0) })
      else { continue }
      #expect(proof.nonce == "n0" && proof.created == 1_790_000_000 && proof.keyID == "handle")
    }
  }
}

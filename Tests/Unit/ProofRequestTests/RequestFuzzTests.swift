// SPDX-License-Identifier: Apache-2.0

import ProofModel
import SeededRandom
import Testing

@testable import ProofRequest

/// The parsers of requests under inputs that are almost right. That nothing traps is what the process's life shows.
@Suite("Requests, mutated")
struct RequestFuzzTests {
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
      let written = StructuredFieldTests.written(dictionary)
      let again = try #require(StructuredDictionary(written))
      #expect(again.places.map(\.kind) == dictionary.places.map(\.kind))
      #expect(StructuredFieldTests.written(again) == written)
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

  @Test("A digest's field is read in one spelling, and written as it was read")
  func digests() {
    var mutator = Mutator("Content-Digest")
    let alone = ContentDigest(of: [1, 2, 3].span).text
    let corpus = [
      alone, "md5=:AAEC:, " + alone, alone + ", sha-512=:AAEC:", "sha-256=:AAEC:",
      String(alone.dropLast(3)) + "B=:",
    ].map { Array($0.utf8) }
    var taken = 0
    for _ in 0..<10 * Mutator.rounds {
      let text = String(decoding: mutator.mutant(of: corpus), as: UTF8.self)
      guard let read = try? ContentDigest(reading: text) else { continue }
      #expect(text.contains(read.text.dropFirst("sha-256=:".count)), "\(text)")
      #expect(try! ContentDigest(reading: read.text) == read)
      taken += 1
    }
    #expect(taken > 0, "some mutants are read, or nothing was tried")
  }

  @Test("A URL that is taken is taken again as the same, and its target is sent as it was given")
  func urls() throws {
    var mutator = Mutator("URL")
    let corpus = [
      "https://api.example.com/a/b?c=d&e=%2F", "http://[2001:db8::1]:8080/x",
      "HTTPS://A.Example.:443",
      "https://a.example/%2e%2E/..;x/./y//z?", "https://a.example/a%00?b=%zz",
    ].map { Array($0.utf8) }
    var taken = 0
    for _ in 0..<10 * Mutator.rounds {
      let url = String(decoding: mutator.mutant(of: corpus), as: UTF8.self)
      guard let head = try? RequestHead(method: "GET", url: url) else { continue }
      #expect(url.hasSuffix(head.target) || head.target.hasPrefix("/?") || head.target == "/")
      #expect(head.path + (head.query ?? "") == head.target)
      let again = try RequestHead(
        method: "GET", url: "\(head.scheme.rawValue)://\(head.authority)\(head.target)")
      #expect(again == head && TargetRule.found(in: again) == TargetRule.found(in: head))
      taken += 1
    }
    #expect(taken > 0, "some mutants are taken, or nothing was tried")
  }

  @Test("A form's value is written in one spelling")
  func forms() {
    var mutator = Mutator("form")
    let corpus = ["a+b%20c", "%", "%4", "%e2%98%83", "a=b&c", "*-._~"].map { Array($0.utf8) }
    for _ in 0..<10 * Mutator.rounds {
      let bytes = mutator.mutant(of: corpus)
      #expect(FormEncoding.decode(FormEncoding.encode(bytes)) == bytes)
      let written = FormEncoding.encode(FormEncoding.decode(bytes))
      #expect(FormEncoding.encode(FormEncoding.decode(written)) == written)
    }
  }
}

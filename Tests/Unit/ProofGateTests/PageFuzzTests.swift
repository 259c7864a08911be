// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofJOSE
import ProofModel
import ProofRequest
import SeededRandom
import Testing

@testable import ProofGate

/// Each parser of the page, with mutated input: it never traps, and nothing but a right answer passes.
@Suite struct PageFuzzTests {
  @Test("Queries, forms, answers and languages of any form are judged, and none of them passes")
  func texts() throws {
    let site = try PageSite { $0.origins = ["https://app.example.com"] }
    let challenge = try site.set(.person)
    let handle = Base64.encode(site.site.app.handle.bytes, .url)
    let query =
      "challenge=\(challenge.text)&method=GET&target=%2Fpay%3Fto%3D7&handle=\(handle)&layout=popup&language=de"
      + "&return=%2Fa&dismissible=yes&origin=https%3A%2F%2Fapp.example.com&loopback=8080&state=abcdefghijklmnop"
    let seeds = [
      query, "slider 120 AAAAAAAAAAAAAAAAAAAAAA", "ruler 70 AAAAAAAAAAAAAAAAAAAAAA",
      "work \(challenge.text) AAAA", "de-CH, fr;q=0.8, *;q=0.1", "https://app.example.com:8443/a?b",
      "reading=70&mark=AAAAAAAAAAAAAAAAAAAAAA&" + query,
    ].map { Array($0.utf8) }
    var mutator = Mutator("page texts")
    for _ in 0..<Mutator.rounds {
      let bytes = mutator.mutant(of: seeds)
      let text = String(decoding: bytes, as: UTF8.self)
      if let pairs = FormPairs(bytes) {
        for (name, value) in pairs.values {
          let again = FormPairs("\(FormPairs.encoded(name))=\(FormPairs.encoded(value))".utf8)
          #expect(again?.values == [name: value])
        }
        if let wish = PageWish(pairs.values) {
          if let back = wish.back { #expect(back.hasPrefix("/") && !back.hasPrefix("//")) }
          if let origin = wish.origin { #expect(origin.hasPrefix("https://")) }
          #expect(wish.loopback == nil || wish.handle != nil)
        }
      }
      _ = PageLanguage(wish: text, accepted: text)
      if let answer = PersonAnswer(text), case .slider(let place, _) = answer {
        #expect((-22...2000).contains(place))
      }
      if let origin = PageSettings.origin(ofAddress: text) {
        #expect(PageSettings.isOrigin(origin))
      }
      #expect(!Markup.escaped(text).utf8.contains { "<>\"'".utf8.contains($0) })
      #expect(!Markup.scriptData(text).utf8.contains { "<>&".utf8.contains($0) })
    }
  }

  @Test("Requests of any form get an answer, and none of them a clearance")
  func requests() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    let body =
      "{\"challenge\":\"\(challenge.text)\",\"method\":\"GET\",\"target\":\"/pay?to=7\","
      + "\"answer\":\"slider 120 AAAAAAAAAAAAAAAAAAAAAA\"}"
    let form =
      "challenge=\(challenge.text)&method=GET&target=%2Fpay%3Fto%3D7&reading=7&mark=AAAAAAAAAAAAAAAAAAAAAA"
    let types = ["application/json", "application/x-www-form-urlencoded"]
    var mutator = Mutator("page requests")
    for round in 0..<Mutator.rounds {
      let type = types[round % 2]
      let sent = mutator.mutant(of: [Array((round % 2 == 0 ? body : form).utf8)])
      let fields = try HeaderFields([
        (name: "Content-Type", value: type), (name: "Origin", value: "https://\(Site.host)"),
      ])
      for path in ["answer", "picture", "again"] {
        let answer = site.handler.answer(
          PageRequest(
            "POST", PageHandler.folder + path, at: Site.host, from: Site.address, fields: fields,
            body: sent))
        #expect(answer.status >= 400 || path == "again" && answer.status == 200)
        #expect(answer.field("Set-Cookie") == nil)
      }
    }
  }
}

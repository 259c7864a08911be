// SPDX-License-Identifier: Apache-2.0

import ProofBackend
import ProofModel
import ProofRequest
import Synchronization
import Testing

@testable import ProofGate

/// The page while its store does not answer once, its failures as a person sees them, and an
/// operator's own page.
@Suite struct PageStoreTests {
  /// A store that fails at its first uses.
  private final class Failing: ReplayStore {
    private let store = MemoryReplayStore()
    private let left: Atomic<Int>

    init(_ times: Int) { left = Atomic(times) }

    func begin(at now: UnixTime) -> ReplayMemory { ReplayMemory(highest: 0, gap: nil) }

    func insert(
      _ key: ReplayKey, until expiry: UnixTime, at now: UnixTime
    ) throws(ReplayStoreFailure) -> Bool {
      if left.subtract(1, ordering: .relaxed).oldValue > 0 {
        throw .unavailable(place: "test", reason: "switched off")
      }
      return try store.insert(key, until: expiry, at: now)
    }
  }

  @Test("A store that does not answer for the long work uses no challenge of a person up")
  func longWork() throws {
    let site = try Site()
    let challenges = try site.challenges(Failing(1))
    var settings = PageSettings()
    settings.longLevel = 1
    let handler = PageHandler(
      settings, own: site.own, challenges, try site.clearances(), PersonBounds(),
      clock: site.clock.clock)
    let subject = try site.subject("GET", "/")
    let person = challenges.set(.person, for: subject)
    let work = challenges.set(.memoryWork, level: 1, for: subject)
    let solution = try solve(work.text).solution
    let body =
      "{\"challenge\":\"\(person.text)\",\"method\":\"GET\",\"target\":\"/\","
      + "\"answer\":\"work \(work.text) \(solution)\"}"
    let request = PageRequest(
      "POST", PageHandler.folder + "answer", at: Site.host, from: Site.address,
      fields: try HeaderFields([(name: "Content-Type", value: "application/json")]),
      body: Array(body.utf8))
    let first = handler.answer(request)
    #expect(first.status == 503 && first.number == "1002" && first.field("Retry-After") == "5")
    #expect(handler.answer(request).status == 200, "challenge and work count still")
    #expect(handler.answer(request).status == 410)
  }

  private func count(_ text: PageText, _ answer: PageAnswer) -> Int {
    answer.text.ranges(of: text.text(in: .english)).count
  }

  @Test("A failure is shown in the place of the progress, also without script")
  func failures() throws {
    let site = try PageSite()
    let challenge = try site.set(.person)
    let page = try site.page(challenge.text)
    // Each text of the script stands in the page's data, and once more where it is shown.
    #expect(count(.checking, page) == 2 && count(.failed, page) == 1)
    #expect(count(.noscript, page) == 1 && count(.proceed, page) == 1)
    let failed = try site.page(flipped(challenge.text, bit: 300))
    #expect(count(.checking, failed) == 1 && count(.failed, failed) == 2)
    #expect(count(.noscript, failed) == 0 && count(.proceed, failed) == 0)
    let work = try site.page(try site.set(.work, level: 1).text)
    #expect(count(.noscript, work) == 1 && count(.proceed, work) == 0)
  }

  @Test("The browser takes all parameters along to an operator's page")
  func redirects() throws {
    let site = try PageSite {
      $0.custom = .address("https://app.example.com/check")
      $0.origins = ["https://app.example.com"]
    }
    let handle = site.site.app.handle
    let name = Base64.encode(handle.bytes, .url)
    let state = String(repeating: "s", count: 16)
    let id = try site.set(.person, handle).text
    let more =
      "&handle=\(name)&dismissible=yes&origin=https%3A%2F%2Fapp.example.com&return=%2Fback"
      + "&loopback=1024&state=\(state)&layout=embedded&language=de"
    let answer = try site.page(id, more)
    #expect(answer.status == 302 && answer.code == "custom" && answer.body.isEmpty)
    #expect(
      answer.field("Location")
        == "https://app.example.com/check?challenge=\(id)&method=GET&target=%2Fpay%3Fto%3D7"
        + "&layout=embedded&handle=\(name)&language=de&return=%2Fback&dismissible=yes"
        + "&origin=https%3A%2F%2Fapp.example.com&loopback=1024&state=\(state)")
    let plain = try site.page(try site.set(.person).text)
    #expect(plain.field("Location")?.hasSuffix("&layout=popup") == true)
  }

  @Test("A request whose lines cannot be read has the reason")
  func lines() throws {
    func refusal(_ lines: [ForwardSite.Line]) -> ForwardRefusal? {
      do throws(ForwardRefusal) {
        _ = try PageRequest("GET", "/x", lines, body: [], from: "192.0.2.1", in: .original)
        return nil
      } catch {
        return error
      }
    }
    let host: ForwardSite.Line = ("X-Original-Host", "api.example.com")
    let scheme: ForwardSite.Line = ("X-Original-Scheme", "https")
    #expect(refusal([host, scheme]) == nil)
    #expect(refusal([host]) == .missing("x-original-scheme"))
    #expect(refusal([scheme]) == .missing("x-original-host"))
    #expect(refusal([scheme, ("X-Original-Host", "")]) == .missing("x-original-host"))
    #expect(refusal([host, scheme, host]) == .repeated("x-original-host"))
    #expect(
      refusal([host, scheme, ("X_Original_Scheme", "https")]) == .repeated("x-original-scheme"))
    #expect(refusal([host, ("X-Original-Scheme", "http")]) == .scheme("http"))
    #expect(refusal([("X-Original-Host", "a b"), scheme]) == .host("a b"))
    guard case .format = refusal([host, scheme, ("a b", "c")]) else {
      Issue.record("A name with a blank is no field's.")
      return
    }
  }
}

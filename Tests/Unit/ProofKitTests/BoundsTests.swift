// SPDX-License-Identifier: Apache-2.0

import ProofModel
import Testing

@testable import ProofKit

/// The bounds and times of the app's side are those of docs/SDK.md, docs/REQUESTS.md and
/// docs/SPEC.md, with the numbers written out.
@Suite struct BoundsTests {
  /// docs/SDK.md, *Times*.
  @Test("An attestor waits as long as the page says")
  func attestorTimes() {
    #expect(AttestorTimes.startUp == .seconds(2) && AttestorTimes.configuration == .seconds(3))
    #expect(AttestorTimes.fetch == .seconds(10) && AttestorTimes.wait == .seconds(120))
    #expect(AttestorTimes.failure == .milliseconds(500))
    #expect(AttestorTimes.unprotected == .seconds(30))
    #expect(AttestorTimes.failover == .seconds(300) && AttestorTimes.life == .seconds(300))
  }

  @Test("A token is handed out until a tenth of its life, 1 s to 30 s, before its end")
  func margins() {
    for (life, margin) in [
      (.seconds(1), .seconds(1)), (.seconds(10), .seconds(1)),
      (.seconds(11), .milliseconds(1_100)), (.seconds(299), .milliseconds(29_900)),
      (.seconds(300), .seconds(30)), (.seconds(301), .seconds(30)),
    ] as [(Duration, Duration)] {
      #expect(AttestorTimes.margin(of: life) == margin, "\(life)")
    }
  }

  /// docs/REQUESTS.md, *Times* and *Challenges*.
  @Test("A session and a client wait as long as the page says")
  func gateTimes() {
    #expect(GateTimes.backOff == .seconds(1) && GateTimes.backOffMax == .seconds(60))
    #expect(GateTimes.quiet == .seconds(600) && GateTimes.youth == .seconds(2))
    #expect(GateTimes.renewal == 0.8)
    #expect(GateClient.time == .seconds(60) && ProtectedClient.time == .seconds(60))
    #expect(ChallengeTimes.page == .seconds(660) && ChallengeTimes.share == .seconds(20))
    let settings = ChallengeSettings()
    #expect(settings.workLevelMax == 18 && settings.memoryWorkLevelMax == 4)
    #expect(settings.threadCount == 2)
  }

  /// docs/SDK.md, *Secure strings*.
  @Test("Secure strings have the bounds of the page")
  func strings() {
    #expect(SecureStringLimits.nameLength == 64 && SecureStringLimits.valueByteCount == 65_535)
    #expect(SecureStringLimits.count == 64 && SecureStringLimits.totalByteCount == 262_144)
    #expect(SecureStringLimits.sets == 4)
  }

  /// docs/SPEC.md, section 13.
  @Test("Files of the app have the numbers of SPEC")
  func files() {
    #expect(StoredMeasurement.tokenCountMax == 256)
    #expect(StoredMeasurement.Layout.version == 1 && StoredMeasurement.Layout.head == 32)
    #expect(StoredMeasurement.Layout.tokenHead == 20 && StoredMeasurement.Layout.check == 32)
    #expect(StoredMeasurement.Layout.token == 308)
    #expect(StoredMeasurement.Layout.byteCountMax == 79_596)
    #expect(StringFile.Layout.version == 1 && StringFile.Layout.head == 8)
    #expect(StringFile.Layout.recordHead == 52 && StringFile.Layout.bodyMin == 20)
    #expect(StringFile.Layout.check == 32 && StringFile.Layout.countMax == 256)
  }

  /// docs/SPEC.md, section 16: the kinds of challenges.
  @Test("Challenges have the numbers of SPEC, and their texts their bounds")
  func challenges() {
    let kinds: [GateClient.Challenge.Kind] = [.token, .proof, .work, .memoryWork, .person]
    #expect(kinds.map(\.rawValue) == [5, 6, 7, 8, 9])
    #expect(GateClient.Challenge.bodyMax == 4_096 && GateClient.Challenge.cookiesMax == 16_384)
    #expect(GateClient.Challenge.characterCount == 80)
    #expect(PageBridge.messageByteCountMax == 4_096)
    #expect(LoopbackServer.connectionMax == 16 && LoopbackServer.headMax == 8_192)
    #expect(LoopbackServer.patience == .seconds(5))
  }

  @Test("Differences of a diagnosis have their numbers")
  func findings() {
    let kinds: [Diagnosis.Finding.Kind] = [.changed, .suspicious, .absent, .gone]
    #expect(kinds.map(\.rawValue) == [1, 2, 3, 4])
    #expect(FetchStatus.success.rawValue == 0)
    #expect(FetchStatus.allCases.map(\.rawValue) == Array(0..<FetchStatus.allCases.count))
  }

  @Test("A request of a transport takes an answer of up to 1 MiB unless it says otherwise")
  func answers() {
    let request = TransportRequest(url: "https://a.example", timeout: .seconds(1))
    #expect(request.responseLimit == 1_048_576)
  }

  @Test("A name of a string has 1 to 64 characters, its definition up to 65,535 bytes")
  func names() {
    #expect(!Self.isTaken(0) && Self.isTaken(1) && Self.isTaken(64) && !Self.isTaken(65))
    for (count, isTaken) in [(65_535, true), (65_536, false)] {
      let value = String(repeating: "v", count: count)
      let request = FetchRequest.secureString("name", newDefinition: value)
      #expect(((try? request.get()) != nil) == isTaken, "\(count)")
    }
  }

  private static func isTaken(_ count: Int) -> Bool {
    let name = String(repeating: "é", count: count)
    return (try? FetchRequest.secureString(name, newDefinition: nil).get()) != nil
  }

  @Test("A host has labels of up to 63 characters, and 253 together")
  func hosts() {
    func label(_ count: Int) -> String { String(repeating: "a", count: count) }
    #expect(HostName(label(63)) != nil && HostName(label(64)) == nil && HostName("") == nil)
    let three = [label(63), label(63), label(63)].joined(separator: ".")
    #expect(HostName("\(three).\(label(61))") != nil)
    #expect(HostName("\(three).\(label(62))") == nil)
    for (port, isPort) in [("0", false), ("1", true), ("65535", true), ("65536", false)] {
      #expect(HostName.isPort(port[...]) == isPort, "\(port)")
    }
  }

  @Test("An IPv6 address has 2 to 45 characters, an account's name 1 to 64")
  func addresses() {
    for (address, isTaken) in [
      ("[::]", true), ("[:]", false), ("[\(String(repeating: ":", count: 45))]", true),
      ("[\(String(repeating: ":", count: 46))]", false),
    ] {
      #expect((ServiceAddress(url: "https://\(address)") != nil) == isTaken, "\(address)")
    }
    for (count, isTaken) in [(0, false), (1, true), (64, true), (65, false)] {
      let name = String(repeating: "n", count: count)
      #expect(InitialConfiguration.isAccount(name) == isTaken, "\(count)")
    }
  }

  /// docs/SPEC.md, section 15, *Gate nonce*: a word counts for 60 s.
  @Test("A gate's word on the time is used for 50 s, and has 32 characters")
  func words() throws {
    let text = String(repeating: "w", count: 32)
    #expect(try #require(GateState.Word(text, at: .seconds(7))).end == .seconds(57))
    #expect(GateState.Word(text + "wwww", at: .zero) == nil)
    #expect(GateState.Word(String(text.dropLast(4)), at: .zero) == nil)
  }

  @Test("Eight addresses of the service that failed are remembered, and a ninth begins anew")
  func places() {
    let all = (0..<10).map { ServicePlace("https://\($0).example") }
    for count in [8, 9] {
      let places = ServicePlaces()
      for place in all.prefix(count) { places.note(place, hasAnswered: false, at: .zero) }
      // Only the last one of nine is remembered.
      let failed = count == 8 ? all[..<8] : all[8..<9]
      let order = places.ordered(all, at: .seconds(299))
      #expect(order == all.filter { !failed.contains($0) } + failed, "\(count)")
      #expect(places.ordered(all, at: .seconds(300)) == all, "forgotten")
    }
  }

  @Test("A page's data have up to 1,024 characters")
  func pageData() {
    for (count, isTaken) in [(1_024, true), (1_025, false)] {
      let data = String(repeating: "d", count: count)
      let head = "GET /done?state=s&data=\(data) HTTP/1.1\r\nHost: 127.0.0.1:7\r\n\r\n"
      let request = LoopbackRequest(Array(head.utf8), port: 7, state: "s")
      #expect((request?.result == .success(data)) == isTaken, "\(count)")
    }
  }
}

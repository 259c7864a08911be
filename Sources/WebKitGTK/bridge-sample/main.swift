// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitHTTP
import ProofKitWebKitGTK

// An app whose pages may ask for event tokens. It shows pages one after the other, and prints what each of them got:
//
//   bridge-sample FOLDER AUTHORITIES CONFIG HOST CERTIFICATE ORIGIN [--named NAME] URL…
//
// FOLDER has the app's bundle and its storage. AUTHORITIES: a file of certificates for service and gate. CONFIG: the
// account's signed configuration. HOST: a host of the gate. CERTIFICATE: that of the pages. ORIGIN: the one page on
// the list, with event 3301. A page says what it got by its title, `done: TEXT`. With --named the app answers a named
// challenge first, whose page stands in a window, and prints `named` with the clearance.

@MainActor
final class Sample {
  private let bridge: PageBridge
  private let certificate: String
  private var urls: [String]
  private var shown: BridgeWindow?

  init(_ bridge: PageBridge, _ certificate: String, _ urls: [String]) {
    self.bridge = bridge
    self.certificate = certificate
    self.urls = urls
  }

  func next() {
    guard !urls.isEmpty else { return WebLoop.quit() }
    let url = urls.removeFirst()
    var isDone = false
    let window = BridgeWindow(bridge, title: "sample", width: 400, height: 300) { title in
      guard let title, title.hasPrefix("done: "), !isDone else { return }
      isDone = true
      say("\(url) \(title.dropFirst(6))")
      // The window must outlive the callback that is running.
      WebLoop.onMain { MainActor.assumeIsolated { self.next() } }
    }
    for host in ["127.0.0.1", "localhost"] { _ = window.trust(certificate, for: host) }
    shown = window
    window.load(url)
  }
}

func say(_ line: String) {
  print(line)
  fflush(nil)
}

var words = CommandLine.arguments
guard words.count > 6, WebLoop.begin() else {
  say("usage: bridge-sample FOLDER AUTHORITIES CONFIG HOST CERTIFICATE ORIGIN URL…, with a display")
  exit(2)
}
var name: String?
if let place = words.firstIndex(of: "--named") {
  name = words[place + 1]
  words.removeSubrange(place...place + 1)
}
let probe = try Probe(
  .init(bundle: words[1] + "/bundle", storage: words[1] + "/storage", hardens: false))
let transport = CurlTransport(.init(authorities: words[2], allowsPlainLoopback: true))
let attestor = Attestor(observer: probe, over: transport)
try attestor.initializeAndWait(words[3])
let log = Log(upTo: .info) { _, line in
  FileHandle.standardError.write(Data((line + "\n").utf8))
}
let session = try GateSession(attestor, for: words[4], options: .init(log: log))
let sample = Sample(
  PageBridge(session, origins: [try .init(words[6]): [3301]]), words[5], Array(words.dropFirst(7)))
let client = ProtectedClient(
  session,
  challenges: ChallengeSettings(
    presenter: WebKitPresenter(
      title: "person", trust: .init(certificate: words[5], host: "localhost"))))
// WebKitGTK loads libraries with its first page, and the app is attested with what it has loaded. The session therefore
// begins when a page has gone through all of it.
var isLoaded = false
let first = BridgeWindow(
  PageBridge(session, origins: [:]), title: "sample", width: 400, height: 300
) { [name] title in
  guard title == "done: loaded", !isLoaded else { return }
  isLoaded = true
  session.start { error in
    if let error {
      say("error: \(error)")
      exit(1)
    }
    // The gate token, which the gate of the test opens.
    let request = try? session.guarded(Request("GET", "https://\(session.host)/"))
    say("token \(request?.values(of: "proof-token").first ?? "-")")
    // The gate's answer brings its word on the time, which event tokens carry.
    do {
      let status = try client.performAndWait(Request("GET", "https://\(session.host)/proof")).status
      say("served \(status)")
    } catch { say("served error: \(error)") }
    if let name {
      do { say("named \(try client.attestAndWait(name))") } catch { say("named error: \(error)") }
    }
    WebLoop.onMain { MainActor.assumeIsolated { sample.next() } }
  }
}
_ = first.trust(words[5], for: "127.0.0.1")
first.load(words[6] + "/load")
WebLoop.run()

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
var configuration = Configuration(
  account: words[3], bundle: words[1] + "/bundle", storage: words[1] + "/storage")
configuration.network.authorities = words[2]
configuration.network.allowsPlainLoopback = true
configuration.log = Log(upTo: .info) { _, line in
  FileHandle.standardError.write(Data((line + "\n").utf8))
}
configuration.presenter = WebKitPresenter(
  title: "person", trust: .init(certificate: words[5], host: "localhost"))
let attestor = try Attestor(configuration)
let host = words[4]
let sample = Sample(
  PageBridge(attestor, origins: [try .init(words[6]): [3301]]), words[5], Array(words.dropFirst(7)))

// WebKitGTK loads libraries with its first page, and the app is attested with what it has loaded. The app is therefore
// admitted when a page has gone through all of it.
var isLoaded = false
let first = BridgeWindow(
  PageBridge(attestor, origins: [:]), title: "sample", width: 400, height: 300
) { [name, attestor, host, sample] title in
  guard title == "done: loaded", !isLoaded else { return }
  isLoaded = true
  Task.detached {
    let client = attestor.client
    do { try await attestor.ready() } catch {
      say("error: \(error)")
      exit(1)
    }
    // The gate token, which the gate of the test opens.
    let request = try? await client.guarded(Request("GET", "https://\(host)/"))
    say("token \(request?.values(of: "proof-token").first ?? "-")")
    // The gate's answer brings its word on the time, which event tokens carry.
    do {
      say("served \(try await client.perform(Request("GET", "https://\(host)/proof")).status)")
    } catch { say("served error: \(error)") }
    if let name {
      do {
        try await client.attest(name, at: host)
        say("named \(await client.clearance(for: host) ?? "-")")
      } catch { say("named error: \(error)") }
    }
    WebLoop.onMain { MainActor.assumeIsolated { sample.next() } }
  }
}
_ = first.trust(words[5], for: "127.0.0.1")
first.load(words[6] + "/load")
WebLoop.run()

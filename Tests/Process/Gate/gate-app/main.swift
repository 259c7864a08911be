// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofKitHTTP
import ProofModel

// An app with the SDK in it, at a gate: `gate-app BUNDLE STORAGE AUTHORITIES CONFIG HOST` starts a session, says
// `ready`, and answers each line of its standard input.
//
//   AUTHORITIES: a file of certificates (PEM). CONFIG: the account's signed configuration. HOST: a host of the gate
//
//   send METHOD URL [BODY]   one call of perform: status, clearance or -, and the body, with blanks between
//   event NUMBER METHOD URL [BODY]         the same, with an event whose data is the body
//   fields NUMBER METHOD URL BODY DATA     the fields of a request with such an event, each as NAME:VALUE, with tabs
//                                          between; nothing is sent
//   user NAME                the user account of what follows
//   storm COUNT URL          that many calls at once: the statuses, each with how often it came
//   named NAME               the clearance for a named challenge
//   clearance                the clearance that the session holds, or -

func answer(_ words: [String], _ client: GateClient) throws -> String {
  func request(_ words: ArraySlice<String>) -> Request {
    let words = Array(words)
    return Request(words[0], words[1], body: words.count > 2 ? Array(words[2].utf8) : nil)
  }
  func shown(_ response: Response) -> String {
    let clearance = client.clearance(for: client.session.host) ?? "-"
    return "\(response.status) \(clearance) \(String(decoding: response.body, as: UTF8.self))"
  }
  switch words[0] {
  case "send": return try shown(client.performAndWait(request(words[1...])))
  case "event":
    let request = request(words[2...])
    return try shown(
      client.performAndWait(
        request, event: EventID(UInt16(words[1]) ?? 0), data: request.body ?? []))
  case "fields":
    let guarded = try client.session.guarded(
      request(words[2...4]), event: EventID(UInt16(words[1]) ?? 0), data: Array(words[5].utf8))
    return guarded.fields.map { "\($0.name):\($0.value)" }.joined(separator: "\t")
  case "user":
    try client.session.setAccount(words[1])
    return words[1]
  case "storm":
    let statuses = Statuses()
    let group = DispatchGroup()
    for _ in 0..<(Int(words[1]) ?? 0) {
      group.enter()
      Thread.detachNewThread {
        let status = try? client.performAndWait(Request("GET", words[2])).status
        statuses.add(status ?? 0)
        group.leave()
      }
    }
    group.wait()
    return statuses.text
  case "named": return try client.attestAndWait(words[1])
  default: return client.clearance(for: client.session.host) ?? "-"
  }
}

/// The statuses that threads found.
final class Statuses: @unchecked Sendable {
  private let lock = NSLock()
  private var counts: [Int: Int] = [:]

  func add(_ status: Int) { lock.withLock { counts[status, default: 0] += 1 } }

  var text: String {
    lock.withLock {
      counts.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }.joined(separator: " ")
    }
  }
}

let words = CommandLine.arguments
let probe = try Probe(.init(bundle: words[1], storage: words[2], hardens: false))
let transport = CurlTransport(.init(authorities: words[3], allowsPlainLoopback: true))
let attestor = Attestor(observer: probe, over: transport)
try attestor.initializeAndWait(words[4])
let log = Log(upTo: .info) { _, line in FileHandle.standardError.write(Data((line + "\n").utf8)) }
let session = try GateSession(attestor, for: words[5], options: .init(log: log))
let started = DispatchSemaphore(value: 0)
session.start { error in
  print(error.map { "error: \($0)" } ?? "ready")
  started.signal()
}
started.wait()
fflush(nil)
let client = GateClient(session, over: transport)
while let line = readLine() {
  do {
    print(try answer(line.split(separator: " ").map(String.init), client))
  } catch {
    print("error: \(error)")
  }
  fflush(nil)
}

// SPDX-License-Identifier: Apache-2.0

import ProofBench

/// Another implementation of RFC 9421, beside ours on the same request: `http-message-signatures` of PyPI, in Python.
struct RequestPeer {
  private static let python = ".build/pypi/bin/python"
  private static let script = "Benchmarks/request-peer/peer.py"

  /// The library, if it is not there, and how to get it.
  let missing: [String]

  init() {
    let isThere =
      Workplace.isThere(Self.python) && Workplace.isThere(Self.script)
      && (try? Subprocess.run([Self.python, "-c", "import http_message_signatures"])) != nil
    missing = isThere ? [] : ["http-message-signatures (RFC 9421): .ci/pypi backend"]
  }

  /// Ours, and theirs if it is there. A round starts a process for each of theirs; its start is not timed.
  func group(_ sample: Sample) throws -> Group {
    let request = try RequestSample(sample)
    var candidates: [Candidate] = [
      .whole("sign", count: 100) { count in for _ in 0..<count { _ = try request.sign() } },
      .whole("verify", count: 100) { count in for _ in 0..<count { try request.verify() } },
    ]
    var ratios: [(String, String)] = []
    for name in ["sign", "verify"] where missing.isEmpty {
      candidates.append(candidate(name))
      ratios.append(("\(name).python", name))
    }
    return Group(name: "request.peer", candidates: candidates, ratios: ratios)
  }

  private func candidate(_ name: String) -> Candidate {
    Candidate(name: "\(name).python", count: 200) { count in
      let peer = try Subprocess([Self.python, Self.script, name, "\(count)"], kept: .kept)
      let text = peer.rest()
      guard peer.end() == 0, let time = Int64(text.prefix { $0 != "\n" }) else {
        throw PeerError("http-message-signatures: \(text)")
      }
      return .nanoseconds(time)
    }
  }
}

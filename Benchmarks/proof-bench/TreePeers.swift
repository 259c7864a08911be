// SPDX-License-Identifier: Apache-2.0

import ProofBench

/// The programs that people take to measure a folder, each as a whole process over the same files.
struct TreePeers {
  /// Command in front of the files' names, and the package that it comes from.
  private static let peers: [(name: String, words: [String], package: String)] = [
    ("sha256sum", ["sha256sum"], "coreutils"),
    ("openssl-dgst", ["openssl", "dgst", "-sha256"], "openssl"),
    ("b3sum", ["b3sum"], "b3sum"),
    // On small files its threads wait for each other more than they help.
    ("b3sum-1-thread", ["b3sum", "--num-threads", "1"], "b3sum"),
  ]

  private let there: [(name: String, words: [String])]
  /// Peers that are not on this machine, and how to get them.
  let missing: [String]

  init() {
    there = Self.peers.filter { Subprocess.find($0.words[0]) != nil }.map { ($0.name, $0.words) }
    let absent = Self.peers.filter { Subprocess.find($0.words[0]) == nil }
    // A program stands in the list once for each way of running it.
    missing = Set(absent.map { "\($0.words[0]): apt-get install \($0.package)" }).sorted()
  }

  /// One tree, by all of them, side by side.
  func group(_ tree: String, _ trees: Trees) throws -> Group {
    let folder = try trees.tree(tree)
    let ours = try trees.measureProgram()
    let listing = try Subprocess(["find", ".", "-type", "f"], in: folder, kept: .kept)
    let files = listing.rest().split(separator: "\n").map(String.init).sorted()
    guard listing.end() == 0, !files.isEmpty else { throw PeerError("\(folder) is empty") }
    func candidate(_ name: String, _ words: [String]) -> Candidate {
      .whole(name) { _ in try Subprocess.run(words, in: folder) }
    }
    return Group(
      name: "peers.\(tree)",
      candidates: [candidate("proofprobe", [ours, "."])]
        + there.map { candidate($0.name, $0.words + files) },
      ratios: there.map { ($0.name, "proofprobe") })
  }
}

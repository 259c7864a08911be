// SPDX-License-Identifier: Apache-2.0

import Console
import Foundation
import ProofBench

/// One run: the groups that are wanted, the figures, and what was asked to come of them.
struct Run {
  private let options: BenchOptions
  private let progress = Progress()

  init(_ options: BenchOptions) { self.options = options }

  /// The groups, and which part of the time each of them gets.
  private static let shares: [(name: String, share: Int)] = [
    ("proof", 2), ("token", 2), ("verify", 2), ("link", 2), ("store", 2),
    ("request", 2), ("request.peer", 2), ("event", 2), ("judge", 2), ("gate", 2),
    ("session", 2), ("attest", 6),
    ("measure.app", 8), ("measure.size", 8), ("measure.files", 6), ("peers.round", 6),
    ("peers.a", 12), ("peers.b", 8), ("peers.c", 8), ("peers.d", 8),
  ]

  func go() throws {
    let sample = try Sample()
    if let instrumented = options.instrumented { return try count(sample, instrumented) }
    let names = try options.wanted(Self.shares.map(\.name))
    let thresholds = options.checks || options.checksRatios ? try readThresholds() : []
    let machine = Machine()
    let tools = Tools()
    let timings = options.measuresTimes ? try measure(names, sample, tools) : []
    let figures = try countAll(sample)
    progress.clear()
    let results = Results(
      date: Machine.date, machine: Machine.description, foreign: machine.foreign,
      missing: tools.missing(for: names), timings: timings, figures: figures)
    Workplace.clear()
    print(options.json ? results.json.description : results.text())
    if options.reports { try write(results) }
    check(results, thresholds)
  }

  private func count(_ sample: Sample, _ what: BenchOptions.Instrumented) throws {
    var operations = try Operation.inMemory(sample)
    if what == .system { operations += try Operation.withSystem(sample, Trees()) }
    for operation in operations {
      try operation.run()
      print("\(operation.name) \(operation.count)")
    }
    Workplace.clear()
  }

  private func measure(
    _ names: [String], _ sample: Sample, _ tools: Tools
  ) throws -> [Timing] {
    let wanted = Self.shares.filter { names.contains($0.name) }
    let whole = wanted.map(\.share).reduce(0, +)
    return try wanted.map { name, share in
      progress.show("\(name): making ready")
      let group = try tools.group(name, sample)
      let budget = Budget(
        rounds: options.rounds, time: .seconds(options.seconds) * share / whole)
      return try group.run(
        budget,
        progress: { round in
          progress.show("\(name): round \(max(0, round)) of at most \(options.rounds)")
        })
    }
  }

  private func countAll(_ sample: Sample) throws -> [Figure] {
    guard options.usesInstruments else { return [] }
    progress.show("counting bytes, packets, allocations")
    let figures = try Figures.all(sample)
    progress.show("counting instructions and system calls")
    return try figures + Instruments().figures()
  }

  private func readThresholds() throws -> [Threshold] {
    guard let text = contents(of: options.thresholds) else {
      throw PeerError("\(options.thresholds) cannot be read")
    }
    do throws(ThresholdError) {
      return try Threshold.parse(text)
    } catch {
      throw PeerError("\(options.thresholds): \(error)")
    }
  }

  private func write(_ results: Results) throws {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: options.results)) ?? []
    let earlier = EarlierRun.newest(in: names, before: results.date).flatMap { name in
      contents(of: "\(options.results)/\(name)").flatMap { EarlierRun(json: $0) }
    }
    let page = ReportPage(results, since: earlier)
    for file in page.files {
      try ProofBench.write(file.text, to: "\(options.results)/\(file.name)")
    }
    Terminal.complain("proof-bench: wrote \(options.results)/\(results.date).md")
  }

  private func check(_ results: Results, _ thresholds: [Threshold]) {
    guard options.checks || options.checksRatios else { return }
    var objections = thresholds.objections(to: results.figures)
    if options.checksRatios { objections += thresholds.objections(to: results.timings) }
    for objection in objections { Terminal.complain("proof-bench: \(objection)") }
    if !objections.isEmpty { Terminal.end(1) }
    if !options.json {
      print("\n\(results.figures.count) figures are within \(options.thresholds)")
    }
  }
}

/// Tools that the groups are made with; started when first needed.
final class Tools {
  private let trees = Trees()
  private let programs = TreePeers()
  private let service = ServiceRuns()
  private let requests = RequestPeer()
  private var peers: Peers?

  func group(_ name: String, _ sample: Sample) throws -> Group {
    switch name {
    case "proof": return try proofGroup(sample)
    case "token": return try tokenGroup(sample)
    case "verify": return try verifyGroup(sample)
    case "link": return try linkGroup()
    case "store": return try storeGroup(sample)
    case "request": return try requestGroup(sample)
    case "request.peer": return try requests.group(sample)
    case "event": return try eventGroup(sample)
    case "judge": return try judgeGroup(sample)
    case "gate": return try gateGroup(sample)
    case "session": return try sessionGroup(trees)
    case "attest": return try attestGroup(service)
    case "measure.app": return try appGroup(trees)
    case "measure.size": return try sizeGroup(trees)
    case "measure.files": return try filesGroup(trees)
    case "peers.round":
      let peers = try Peers()
      self.peers = peers
      return try peerGroup(sample, peers)
    default: return try programs.group(String(name.dropFirst("peers.".count)), trees)
    }
  }

  /// Tools missing on this machine, of those these groups compare with.
  func missing(for names: [String]) -> [String] {
    var missing = peers?.missing ?? []
    if names.contains("request.peer") { missing += requests.missing }
    if names.contains("attest") { missing += service.missing }
    if names.contains(where: { $0.hasPrefix("peers.") && $0 != "peers.round" }) {
      missing += programs.missing
    }
    return missing
  }
}

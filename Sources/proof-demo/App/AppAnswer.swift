// SPDX-License-Identifier: Apache-2.0

import ProofApp

/// The sample app's answer to a verb: a line for people, JSON for programs.
struct AppAnswer: Codable {
  /// The outcome, in few words that do not change from run to run.
  var outcome: String
  /// Further details.
  var detail = ""
  /// Whether the verb was carried out.
  var isDone = true
  /// The installation's name, if the verb asked for it.
  var instance: String?
  /// The answer of an API, without its words on the time.
  var told: String?
  /// How many commands the lock has done since its start, if it said so.
  var doneCount: Int?
  var time = StepTime()
}

/// The parts of the time of one step, in milliseconds.
struct StepTime: Codable {
  var total = 0.0
  /// Looking at code, files, environment and device.
  var measurement = 0.0
  /// Folding the evidence, deriving keys, proving, checking receipts; in a step that needs no link,
  /// also the SDK's other work.
  var cryptography = 0.0
  /// The link to the hardware: packets, and the hardware's own work.
  var link = 0.0
  /// Service and backend over the network, their own work included.
  var network = 0.0
}

extension StepTime {
  static func += (sum: inout StepTime, other: StepTime) {
    sum.total += other.total
    sum.measurement += other.measurement
    sum.cryptography += other.cryptography
    sum.link += other.link
    sum.network += other.network
  }
}

extension LinkError {
  /// The outcome of a command in few words.
  var words: String {
    switch reason {
    case .integrityDiffers, .deviceDiffers: "measure again"
    case .hardwareTooOld: "update the lock"
    case .notMeasured, .resourcesExhausted: "not measured"
    case .busy: "wait"
    case .linkLost: "link lost"
    case .unreachable: "no lock at this address"
    case .timedOut: "deadline passed"
    case .cancelled: "cancelled"
    case .earlierCommand: "an earlier command"
    case .notStored: "not remembered"
    case .logMissing: "no log"
    case .logNotPermitted: "not handed out"
    case .sealingMissing: "not sealed"
    case .delegationMissing: "lends nothing"
    case .delegationRefused: "ask the owner: \(verdict.map { "\($0)" } ?? code)"
    case .tokenNotHeld: "open first"
    default: "ask the backend: \(verdict.map { "\($0)" } ?? code)"
    }
  }
}

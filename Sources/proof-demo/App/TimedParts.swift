// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofLink
import ProofModel

/// A probe, timed.
struct TimedProbe: EvidenceObserver {
  let probe: Probe
  let stopwatch: Stopwatch

  func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try stopwatch.time(.measurement) { () throws(ProofError) in try probe.collect(for: config) }
  }

  func measurement(
    under config: MeasurementConfig, with key: MeasurementProofKey
  ) throws(ProofError) -> Measurement {
    try stopwatch.time(.measurement) { () throws(ProofError) in
      try probe.measurement(under: config, with: key)
    }
  }

  func release(_ proof: inout Proof, after previous: Proof?) throws(ProofError) {
    try probe.release(&proof, after: previous)
  }

  func forget() { probe.forget() }

  func guarding<R>(_ body: () throws(ProofError) -> R) throws(ProofError) -> R {
    try probe.guarding(body)
  }

  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    try stopwatch.time(.measurement) { () throws(ProofError) in
      try probe.observe(sources, policy: policy, limitLog2: limitLog2, cancellation: cancellation)
    }
  }
}

/// A way to service and backend, timed.
struct TimedTransport: Transport {
  let transport: any Transport
  let stopwatch: Stopwatch

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    try stopwatch.time(.network) { () throws(TransportError) in try transport.send(request) }
  }
}

/// A prover, timed: its work beside measuring is cryptography.
struct TimedProver: CommandProver {
  let prover: Prover<TimedProbe>
  let stopwatch: Stopwatch

  func prove(
    _ command: Command, _ kind: ProofKind, from instance: InstanceID, to hardware: HardwareID,
    answering challenge: Challenge, form: TokenForm
  ) throws(ProofError) -> ProvedCommand {
    try stopwatch.time(.cryptography) { () throws(ProofError) in
      try prover.prove(
        command, kind, from: instance, to: hardware, answering: challenge, form: form)
    }
  }

  func hasChanged(
    since command: ProvedCommand, at hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Bool {
    try prover.hasChanged(since: command, at: hardware, form: form)
  }

  func receipt(
    of answer: Answer, to token: MeasurementToken, for hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Receipt {
    try stopwatch.time(.cryptography) { () throws(ProofError) in
      try prover.receipt(of: answer, to: token, for: hardware, form: form)
    }
  }

  func recall(
    of command: OpenCommand, from instance: InstanceID, to hardware: HardwareID, form: TokenForm
  ) throws(ProofError) -> Recall {
    try stopwatch.time(.cryptography) { () throws(ProofError) in
      try prover.recall(of: command, from: instance, to: hardware, form: form)
    }
  }
}

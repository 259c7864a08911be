// SPDX-License-Identifier: Apache-2.0

import ProofApp

/// A probe, timed. Work of a guarded closure beside measuring is cryptography.
struct TimedProbe: EvidenceObserver {
  let probe: any EvidenceObserver
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
    try stopwatch.time(.cryptography) { () throws(ProofError) in try probe.guarding(body) }
  }

  func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    try stopwatch.time(.measurement) { () throws(ProofError) in
      try probe.observe(sources, policy: policy, limitLog2: limitLog2, cancellation: cancellation)
    }
  }

  func differences(from config: MeasurementConfig) throws(ProofError) -> Diagnosis {
    try stopwatch.time(.measurement) { () throws(ProofError) in try probe.differences(from: config)
    }
  }

  func noteEntries(of config: MeasurementConfig) throws(ProofError) {
    try probe.noteEntries(of: config)
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

extension Parts {
  /// The same parts, timed.
  func timed(by stopwatch: Stopwatch) -> Parts {
    Parts(
      probe: TimedProbe(probe: probe, stopwatch: stopwatch),
      transport: TimedTransport(transport: transport, stopwatch: stopwatch))
  }
}

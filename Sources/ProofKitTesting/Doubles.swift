// SPDX-License-Identifier: Apache-2.0

public import ProofApp
import ProofKit
import ProofLink
import ProofModel
import Synchronization

/// A clock that moves only when a test says so: lives, deadlines and back-off without waiting.
public final class ManualClock: Sendable {
  private let moment: Mutex<(uptime: Duration, time: UnixTime)>

  /// Makes a clock that stands still.
  ///
  /// - Parameter time: The time of day.
  public init(time: UnixTime = 1_900_000_000) {
    moment = Mutex((.seconds(1000), time))
  }

  /// Moves the clock.
  public func advance(by duration: Duration) {
    moment.withLock { moment in
      moment.uptime += duration
      moment.time = moment.time.advanced(by: Int(duration.components.seconds))
    }
  }

  /// The clock, for ``/ProofKit/Parts``.
  public var clock: AttestorClock {
    AttestorClock(
      uptime: { self.moment.withLock { $0.uptime } },
      time: UnixClock { self.moment.withLock { $0.time } })
  }
}

/// A transport that answers by a script, and records the requests.
public final class ScriptedTransport: Transport {
  /// The answer to one request.
  public typealias Answer = Result<TransportResponse, TransportError>

  private struct State {
    var script: [Answer]
    var requests: [TransportRequest] = []
  }

  private let state: Mutex<State>
  private let last: Answer

  /// Makes a transport.
  ///
  /// - Parameters:
  ///   - script: The answers, one for each request.
  ///   - last: The answer to all further requests; by default the network is unreachable.
  public init(_ script: [Answer] = [], then last: Answer = .failure(.unreachable("script"))) {
    state = Mutex(State(script: script))
    self.last = last
  }

  /// The requests so far, in order.
  public var requests: [TransportRequest] { state.withLock { $0.requests } }

  /// Gives the next answer of the script.
  public func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    let answer = state.withLock { state -> Answer? in
      state.requests.append(request)
      return state.script.isEmpty ? nil : state.script.removeFirst()
    }
    if request.cancellation.isCancelled { throw .cancelled }
    return try (answer ?? last).get()
  }
}

/// Evidence by value: one installation on one device, which a test changes.
public final class FixedProbe: EvidenceObserver {
  private struct State {
    var changes: [EvidenceClass: UInt8] = [:]
    var failure: ProofError?
    var count = 0
  }

  private let state = Mutex(State())
  private let seed: String

  /// Makes evidence.
  ///
  /// - Parameter seed: Probes of one seed have the same evidence.
  public init(seed: String = "app") { self.seed = seed }

  /// Changes all evidence of a class: the app, its environment, or the device.
  public func change(_ kind: EvidenceClass) { state.withLock { $0.changes[kind, default: 0] += 1 } }

  /// Makes measurements fail, such as with
  /// ``/ProofModel/ProofError/resourcesExhausted(reason:)``; nil ends that.
  public func fail(with error: ProofError?) { state.withLock { $0.failure = error } }

  /// How often the app was observed.
  public var count: Int { state.withLock { $0.count } }

  /// Observes sources.
  public func observe(
    _ sources: [Source], policy: MeasurementPolicy, limitLog2: UInt8, cancellation: Cancellation
  ) throws(ProofError) -> Observation {
    let (changes, failure) = state.withLock { state in
      state.count += 1
      return (state.changes, state.failure)
    }
    if let failure { throw failure }
    var records: [EvidenceRecord] = []
    for source in sources {
      let text = "\(seed) \(source.id) \(changes[source.id.evidenceClass, default: 0])"
      records.append(
        try EvidenceRecord(source.id, name: "all", digest: Digest(hashing: Array(text.utf8))))
    }
    return Observation(try EvidenceSet(records))
  }

  /// Observes the sources of a configuration.
  public func collect(for config: MeasurementConfig) throws(ProofError) -> EvidenceSet {
    try observe(
      config.sources, policy: config.policy, limitLog2: 33, cancellation: Cancellation()
    ).evidence
  }
}

/// Keeps a connection's memory, and fails on the writes that a test names.
public final class MemoryLinkStore: LinkMemoryStore {
  /// A write that failed because the test wanted it.
  public struct Failure: Error, Sendable, Hashable {
    /// The number of the write, from 1.
    public let write: Int
  }

  private let state = Mutex((bytes: [UInt8]?.none, writes: 0))
  private let failing: Set<Int>

  /// Makes an empty store.
  ///
  /// - Parameter failing: The numbers of the writes that fail, from 1.
  public init(failingAt failing: Set<Int> = []) { self.failing = failing }

  /// The bytes saved last; nil for none.
  public func load() throws -> [UInt8]? { state.withLock { $0.bytes } }

  /// Saves bytes, unless this write fails.
  public func save(_ bytes: [UInt8]) throws {
    try state.withLock { state in
      state.writes += 1
      if failing.contains(state.writes) { throw Failure(write: state.writes) }
      state.bytes = bytes
    }
  }
}

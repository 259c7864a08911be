// SPDX-License-Identifier: Apache-2.0

import Console
import DurableFiles
import HTTPServing
import ProofBackend
import ProofGate
import ProofJOSE
import ProofKit
import ProofKitHTTP
import ProofModel

/// Where a gate fetches its configuration.
struct PullOptions: Sendable {
  /// The service's URL without a path.
  let service: String
  /// The file with the gate's credential.
  let credential: String
  /// The authorities for the service's certificate; nil for those of the system.
  let authorities: String?
  let schedule: PullSchedule

  static let known = [
    Option("--service", "URL", help: "fetches the configuration there, into --configuration"),
    Option("--credential", "FILE", help: "what `proofctl gate credential` wrote"),
    Option("--service-ca", "FILE", help: "certificates (PEM) that may vouch for the service"),
    Option("--poll-seconds", "N", help: "how often it asks, about; 30 if missing"),
  ]

  /// Nil if the configuration is handed over as a file.
  init?(_ options: Options) throws(UsageError) {
    guard let service = options.value("--service") else {
      for name in ["--credential", "--service-ca", "--poll-seconds"] where options.has(name) {
        throw UsageError("\(name) is for a gate with --service")
      }
      return nil
    }
    let isPlain = ["http://127.0.0.1", "http://[::1]"].contains { host in
      service == host || service.hasPrefix(host + ":")
    }
    guard service.hasPrefix("https://") || isPlain else {
      throw UsageError(
        "--service is \(service); it takes https://HOST, and plain http for 127.0.0.1 and [::1] alone"
      )
    }
    self.service = service.hasSuffix("/") ? String(service.dropLast()) : service
    credential = try options.needed("--credential")
    authorities = options.value("--service-ca")
    let seconds = try options.number("--poll-seconds", within: 1...86_400) ?? 30
    schedule = PullSchedule(interval: Double(seconds))
  }
}

/// Fetches the configuration at the start and from then on.
struct ServicePull: Sendable {
  /// How often a gate without a configuration asks before it ends.
  private static let firstTries = 5

  private let options: PullOptions
  private let file: String
  private let pull: ConfigurationPull
  private let log: HTTPLog

  init(_ options: PullOptions, _ files: GateFiles, log: HTTPLog) {
    self.options = options
    self.log = log
    file = files.configuration
    var settings = CurlTransport.Options()
    settings.authorities = options.authorities
    settings.allowsPlainLoopback = true
    let transport = CurlTransport(settings)
    pull = ConfigurationPull(
      keptIn: files.configuration, signedBy: files.fingerprint,
      clock: .system
    ) { tag in try Self.answer(of: transport, options, tag) }
  }

  private static func answer(
    of transport: CurlTransport, _ options: PullOptions, _ tag: String?
  ) throws -> ConfigurationPull.Answer {
    // Read it each time: a credential may be replaced while the gate runs.
    let credential = String(
      decoding: try SecretFile.read(options.credential, limit: 1024), as: UTF8.self
    ).filter { !$0.isWhitespace }
    var request = TransportRequest(
      url: options.service + "/v1/gate/configuration", timeout: .seconds(10),
      responseLimit: 65_536)
    request.method = "GET"
    request.fields = [HeaderField("Authorization", "Bearer \(credential)")]
    if let tag { request.fields?.append(HeaderField("If-None-Match", tag)) }
    let response = try transport.send(request)
    switch response.status {
    case 200:
      let tag = response.fields.first { $0.name.lowercased() == "etag" }?.value
      return .text(
        String(decoding: response.body, as: UTF8.self).filter { !$0.isWhitespace }, tag: tag)
    case 304: return .unchanged
    case 401:
      throw GateFailure(
        "the service refuses the credential: draw another one with proofctl gate credential")
    case 404: throw GateFailure("the service has no such gate, or is of an earlier version")
    default: throw GateFailure("the service answered with status \(response.status)")
    }
  }

  // MARK: The start

  /// Sees to it that there is a configuration in the file, as far as the service is needed for it.
  func prepare(_ fingerprint: Digest) throws {
    do {
      let kept = try GateFiles.configuration(file, fingerprint)
      log.note("kept configuration", [("serial", .number(Int(kept.serial)))])
      return
    } catch let failure as FileFailure where failure.isMissing {
      log.note("no kept configuration", [("file", .text(file))])
    } catch {
      log.note(
        "kept configuration damaged",
        [("file", .text(file)), ("reason", .text("\(error) It is fetched anew."))])
    }
    var failure = PullFailure("")
    for number in 0..<Self.firstTries {
      do {
        if let pulled = try pull.pull(after: nil) {
          if let problem = pulled.problem { throw GateFailure(problem) }
          return
        }
      } catch let error as PullFailure {
        failure = error
        log.note("configuration not fetched", [("reason", .text("\(error)"))])
      }
      if number + 1 < Self.firstTries { Background.sleep(seconds: Double(1 << number) / 4) }
    }
    throw GateFailure("there is no configuration, and none can be fetched: \(failure)")
  }

  // MARK: From then on

  /// Asks from time to time, on a thread of its own, and hands what it gets to the judge.
  func run(for judge: JudgeHandler) throws {
    let isStarted = Background.start {
      while true {
        self.once(judge)
        Background.sleep(
          seconds: options.schedule.wait(
            afterFailures: pull.counts.inRow, random: .random(in: 0...1)))
      }
    }
    guard isStarted else { throw GateFailure("the system gives no thread") }
  }

  private func once(_ judge: JudgeHandler) {
    do {
      guard let pulled = try pull.pull(after: judge.configuration) else { return }
      judge.take(pulled.configuration)
      if let problem = pulled.problem {
        log.note("configuration not kept", [("reason", .text(problem))])
      }
    } catch {
      log.note(
        "configuration not fetched",
        [
          ("reason", .text("\(error)")), ("failures", .number(pull.counts.inRow)),
        ])
    }
  }

  var metrics: [HTTPMetric] {
    let counts = pull.counts
    let rows = [
      ("taken", counts.taken), ("unchanged", counts.unchanged), ("failed", counts.failed),
      ("refused", counts.refused),
    ]
    var metrics = [
      HTTPMetric(
        "proof_gate_pulls_total", .counter,
        help: "Questions to the service for the configuration, by result.",
        samples: rows.map { HTTPMetric.Sample(Double($0.1), labels: [.init("result", $0.0)]) }),
      HTTPMetric(
        "proof_gate_pull_failures_in_row", .gauge,
        help: "How many of the last questions failed or had an answer that was refused.",
        Double(counts.inRow)),
    ]
    if let heard = counts.heard {
      metrics.append(
        HTTPMetric(
          "proof_gate_service_silence_seconds", .gauge,
          help: "Seconds since the service's last good answer.", Double(.now - heard)))
    }
    return metrics
  }
}

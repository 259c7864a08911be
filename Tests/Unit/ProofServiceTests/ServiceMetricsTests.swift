// SPDX-License-Identifier: Apache-2.0

import ProofJOSE
import ProofModel
import Testing

@testable import ProofService

/// The page of metrics, the counts of the management, and the age that a survey tells.
@Suite struct ServiceMetricsTests {
  private func page(_ bench: Bench) -> String {
    let response = bench.get("/metrics")
    #expect(response.status == 200)
    // An answer of text ends with a line end of its own.
    return String(decoding: response.body.dropLast(), as: UTF8.self)
  }

  @Test func `each event has a counter of its own`() {
    let metrics = ServiceMetrics()
    for (number, event) in ServiceMetrics.Event.allCases.enumerated() {
      metrics.count(event)
      metrics.count(event, by: number)
    }
    let lines = metrics.text.split(separator: "\n")
    let events = ServiceMetrics.Event.allCases
    #expect(lines.count == 2 * events.count && Set(events.map(\.metricName)).count == events.count)
    for (number, event) in events.enumerated() {
      let name = "proof_service_\(event.metricName)_total"
      #expect(lines[2 * number] == "# TYPE \(name) counter")
      #expect(lines[2 * number + 1] == "\(name) \(number + 1)" && metrics[event] == number + 1)
    }
    #expect(metrics.text.hasSuffix("\n") && ServiceMetrics.Event.storeFailures.metricName != "")
  }

  @Test func `the page tells devices, and their age where a replica counted them`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    _ = try bench.attest(bench.app)
    let devices = "# TYPE proof_service_devices gauge\nproof_service_devices 1\n"
    #expect(page(bench).hasSuffix(devices))
    for seconds in [0, 7] as [Int64] {
      store.surveyAge.withLock { $0 = .atMost(seconds: seconds) }
      #expect(
        page(bench).hasSuffix(
          devices + "# TYPE proof_service_devices_age_seconds gauge\n"
            + "proof_service_devices_age_seconds \(seconds)\n"))
    }
    store.surveyAge.withLock { $0 = .unknown }
    #expect(page(bench).hasSuffix(devices))
    // A clock is told before, and without the store, too.
    store.clock.withLock { $0 = bench.clock.now - 7 + 60 }
    bench.clock.advance(by: 60)
    _ = try bench.attest(bench.app)
    let clock =
      "# TYPE proof_service_clock_ahead_seconds gauge\nproof_service_clock_ahead_seconds 7\n"
    #expect(page(bench).hasSuffix(clock + devices))
    store.isAway.withLock { $0 = true }
    #expect(page(bench).hasSuffix(clock))
    #expect(page(bench).hasPrefix("# TYPE proof_service_challenges_total counter\n"))
  }

  @Test func `a list of devices tells its age in each one, and the counts tell it once`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    _ = try bench.attest(bench.app)
    for (age, shown) in [
      (.present, nil), (.atMost(seconds: 3), 3), (.unknown, "unknown"),
    ] as [(SurveyAge, JSONValue?)] {
      store.surveyAge.withLock { $0 = age }
      #expect(try bench.management.devices().map(\.shown["age"]) == [shown])
      let counts = try bench.management.metrics()
      #expect(counts["devicesAge"] == shown)
      let names = ["devices", "apis", "registrations", "sdkBuilds", "keys", "configurationSerial"]
      #expect(names.map { counts.integer($0) } == [1, 3, 1, 1, 0, 4])
    }
  }

  @Test func `a device is shown with its times, its generation and the rule about it`() throws {
    let bench = try Bench()
    let first = bench.clock.now
    _ = try bench.attest(bench.app, .measurement, name: Bench.lockAPI)
    bench.clock.advance(by: 5)
    _ = try bench.attest(bench.app, .measurement, name: Bench.lockAPI)
    let device = bench.app.device
    func shown() throws -> JSONObject {
      try #require(try bench.management.devices().first).shown
    }
    let plain = try shown()
    #expect(plain.text("device") == device.description)
    #expect(plain.text("did") == Base64.encode(device.bytes))
    #expect(plain.integer("firstSeen") == first.seconds)
    #expect(plain.integer("lastSeen") == first.seconds + 5)
    #expect(
      try plain.integer("generation") == bench.store.device(device).map { Int64($0.generation) })
    #expect(plain["rule"] == nil && plain["annotations"] == nil && plain["age"] == nil)
    for (decision, word) in [(DeviceRule.Decision.pass, "pass"), (.fail, "fail")] {
      try bench.management.set(decision, for: device)
      #expect(try shown().text("rule") == word)
    }
    try bench.management.annotate(Properties([.debug]), for: device)
    #expect(try shown().texts("annotations") == ["debug"])
    try bench.management.set(nil, for: device)
    #expect(try shown()["rule"] == nil && shown().texts("annotations") == ["debug"])
  }

  @Test func `a sweep that fails is counted, and the report that began it is answered`() throws {
    let store = InterruptedStore()
    let bench = try Bench(store)
    store.keepsMarks.withLock { $0 = true }
    #expect(try bench.attest(bench.app).outcome == .done)
    #expect(bench.service.metrics[.storeFailures] == 1)
    // The next sweep is due after ten seconds.
    bench.clock.advance(by: 9)
    #expect(try bench.attest(bench.app).outcome == .done)
    #expect(bench.service.metrics[.storeFailures] == 1)
    bench.clock.advance(by: 1)
    #expect(try bench.attest(bench.app).outcome == .done)
    #expect(bench.service.metrics[.storeFailures] == 2)
    store.keepsMarks.withLock { $0 = false }
    bench.clock.advance(by: 10)
    #expect(try bench.attest(bench.app).outcome == .done)
    #expect(bench.service.metrics[.storeFailures] == 2)
    #expect(bench.service.metrics[.devicesDropped] == 0)
  }

  @Test func `devices that a sweep drops are counted`() throws {
    let bench = try Bench(policy: [.deviceRetention: "1"])
    _ = try bench.attest(bench.app)
    bench.clock.advance(by: 30 * 86_400)
    var other = bench.app
    other.evidence[TestApp.Name(.device, 5, "secret")] = Digest(hashing: [2])
    _ = try bench.attest(other)
    #expect(bench.service.metrics[.devicesDropped] == 1)
  }
}

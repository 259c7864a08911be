// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import ProofKit

/// How long the app may be kept waiting: what each request is told it may take, on a clock in the hand.
@Suite("Times")
struct TimeTests {
  let api = "api.example.com"

  /// A service whose every answer takes this long.
  private func stage(
    answeringAfter time: Duration, isShort: Bool
  ) throws -> (InProcessService, Attestor) {
    let clock = ManualClock()
    let service = InProcessService { _, _ in clock.advance(time) }
    let attestor = Attestor(observer: Scene(), over: service, clock: clock.clock)
    try attestor.initializeAndWait(isShort ? service.shortForm : service.configuration())
    return (service, attestor)
  }

  private func timeouts(_ service: InProcessService) -> [Duration] {
    service.state.withLock { $0.timeouts }
  }

  @Test("a blocking call has two minutes, unless it says otherwise")
  func blocking() {
    #expect(AttestorTimes.wait == .seconds(120))
  }

  @Test("all requests of one fetch together have ten seconds")
  func fetch() throws {
    let (service, attestor) = try stage(answeringAfter: .seconds(4), isShort: true)
    #expect(attestor.fetchTokenAndWait(for: api).status == .success)
    #expect(timeouts(service) == [.seconds(10), .seconds(6), .seconds(2)])
  }

  @Test("when they are over nothing more is sent")
  func over() throws {
    let (service, attestor) = try stage(answeringAfter: .seconds(5), isShort: true)
    let result = attestor.fetchTokenAndWait(for: api)
    #expect(result.status == .poorNetwork && result.reason.contains("time"))
    #expect(timeouts(service) == [.seconds(10), .seconds(5)])
    #expect(service.count("report") == 0)
  }

  @Test("a second round has what the first one left")
  func again() throws {
    let (service, attestor) = try stage(answeringAfter: .seconds(7), isShort: false)
    service.set { $0.failure = .brokenOff("x") }
    #expect(attestor.fetchTokenAndWait(for: api).status == .poorNetwork)
    #expect(timeouts(service) == [.seconds(10), .seconds(3)])
  }

  @Test("a first start does not wait for a service that cannot be reached", .timeLimit(.minutes(5)))
  func unreachable() throws {
    let (service, attestor) = try stage(answeringAfter: .zero, isShort: true)
    service.set { $0.failure = .unreachable("x") }
    let session = try #require(attestor.state.withLock { $0.session })
    #expect(attestor.ask(session, for: .seconds(3_600)) == nil)
  }

  @Test("the very first start has two seconds, and an update three")
  func configuration() async throws {
    let folder = "/var/tmp/proofkit-times-\(getpid())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (service, attestor) = try stage(answeringAfter: .zero, isShort: true)
    try attestor.initializeAndWait(
      service.shortForm, updates: .automatic(ConfigurationStore(folder: folder)),
      comment: "reinit")
    #expect(timeouts(service) == [.seconds(2)])
    let (other, next) = try stage(answeringAfter: .zero, isShort: true)
    try? await next.update()
    #expect(timeouts(other) == [.seconds(3)])
    #expect(AttestorTimes.startUp == .seconds(2) && AttestorTimes.configuration == .seconds(3))
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel

@testable import ProofKit

/// The service, and at `https://api.example.com/grant` a backend that issues tokens.
final class AppNetwork: Transport {
  struct State {
    /// The bearer and the hardware of each request.
    var asked: [(bearer: String, hardware: String)] = []
    var status = 200
    /// The body of an answer with another status.
    var word = "hardware\n"
    var isGarbled = false
    var failure: TransportError?
    /// Called before an answer, on the request's thread.
    var isIssuing: (@Sendable () -> Void)?
  }

  let service: InProcessService
  let state = CoreLock(State())

  init(_ service: InProcessService) { self.service = service }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    guard request.url.hasPrefix("https://api.example.com/grant?") else {
      return try service.send(request)
    }
    let hardware = String(request.url.split(separator: "=").last ?? "")
    let state = state.withLock { state in
      state.asked.append((request.authorization ?? "", hardware))
      return state
    }
    state.isIssuing?()
    if request.cancellation.isCancelled { throw .cancelled }
    if let failure = state.failure { throw failure }
    guard state.status == 200 else {
      return TransportResponse(status: state.status, body: Array(state.word.utf8))
    }
    guard !state.isGarbled, let id = try? HardwareID(hardware), let token = try? Self.token(id)
    else { return TransportResponse(status: 200, body: [1, 2]) }
    return TransportResponse(status: 200, body: token.bytes)
  }

  /// Bytes that look like a token for hardware.
  static func token(_ hardware: HardwareID) throws -> MeasurementToken {
    let head = Array("PT".utf8) + [1, 1] + hardware.bytes.prefix(4)
    let body = [UInt8](repeating: 0, count: MeasurementToken.byteCount - head.count)
    return try MeasurementToken(head + body)
  }
}

/// An app with a storage folder, made as an app developer makes it.
final class AppStage {
  let service: InProcessService
  let network: AppNetwork
  let scene = Scene()
  let time = ManualClock()
  let folder: String
  var configuration: Configuration
  let attestor: Attestor

  init(
    _ service: InProcessService = InProcessService(), claims: [String: String] = [:],
    folder: String? = nil, _ change: (inout Configuration) -> Void = { _ in }
  ) throws {
    self.service = service
    self.folder = folder ?? "/var/tmp/proofkit-app-\(UInt64.random(in: 1 ... .max))"
    network = AppNetwork(service)
    configuration = Configuration(
      account: service.configuration(claims: claims), storage: self.folder)
    change(&configuration)
    attestor = try Attestor(
      configuration, using: Parts(probe: scene, transport: network, clock: time.clock))
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }
}

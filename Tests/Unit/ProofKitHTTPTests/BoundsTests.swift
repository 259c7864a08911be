// SPDX-License-Identifier: Apache-2.0

import HTTPServing
import ProofKitHTTP
import Testing

@testable import proof_service

/// Defaults of the transport and of the service's options, written out.
@Suite struct BoundsTests {
  /// docs/SDK.md, *Times*.
  @Test("A transport connects within 5 s and keeps 4 connections")
  func transport() {
    let options = CurlTransport.Options()
    #expect(options.connectTimeout == .seconds(5) && options.keptConnectionCount == 4)
    #expect(!options.allowsPlainLoopback && options.authorities == nil)
  }

  /// docs/RUNNING.md, *Limits*, and `proof-service --help`.
  @Test("A service listens at 127.0.0.1:8443, drains for 30 s, and has the limits of the page")
  func service() {
    let options = ServiceOptions(["--store", "account.sqlite", "--plain"])
    #expect(options.server.address == "127.0.0.1" && options.server.port == 8_443)
    #expect(options.drainTime == .seconds(30))
    #expect(options.leaveSeconds == 0 && options.graceSeconds == 0)
    #expect(options.server.limits == HTTPLimits())
    let limits = options.server.limits
    #expect(limits.threads == 8 && limits.connections == 1_024)
    #expect(limits.connectionsPerAddress == 64)
    #expect(limits.requestTime == .seconds(10) && limits.idleTime == .seconds(60))
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofModel
import Testing

@testable import ProofKit

/// A backend whose answer a test sets.
private final class Backend: Transport {
  let service: InProcessService
  let body = CoreLock<[UInt8]>([])

  init(_ service: InProcessService) { self.service = service }

  func send(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
    guard request.url.contains("/grant?") else { return try service.send(request) }
    return TransportResponse(status: 200, body: body.withLock { $0 })
  }
}

/// A key that says it is in a TPM.
private struct CertifiedKey: InstallationKey {
  let certificateByteCount: Int

  func identity() throws(InstallationKeyError) -> InstallationKeyIdentity {
    do {
      return InstallationKeyIdentity(
        try InstallationPoint([UInt8](repeating: 4, count: 64)), in: .tpm)
    } catch { throw .libraryFailed }
  }

  func signature(
    of message: [UInt8]
  ) throws(InstallationKeyError) -> InstallationSignature { throw .libraryFailed }

  func endorsementCertificate() throws(InstallationKeyError) -> [UInt8]? {
    [UInt8](repeating: 7, count: certificateByteCount)
  }

  func open(
    _ credential: KeyCredential
  ) throws(InstallationKeyError) -> CredentialSecret { throw .libraryFailed }
}

@Suite("Answers of backend and service at their bounds")
struct EnrolmentAnswerTests {
  @Test("up to the length of one token an answer is a token, longer ones have several")
  func lengths() async throws {
    let stage = try AppStage()
    let backend = Backend(stage.service)
    let attestor = try Attestor(
      stage.configuration,
      using: Parts(probe: stage.scene, transport: backend, clock: stage.time.clock))
    let lock = try Sample.hardware(1)
    for count in [0, 1, 287, 288, 289, 575, 576] {
      backend.body.withLock { $0 = [UInt8](repeating: 0, count: count) }
      let error = await #expect(throws: EnrolmentError.self) {
        try await attestor.enrol(lock, at: "https://api.example.com/grant")
      }
      switch error {
      case .unusableToken?: #expect(count <= 288, "\(count)")
      case .store(.tokenForOther(let named))?: #expect(count > 288 && named == lock, "\(count)")
      default: Issue.record("\(count): \(String(describing: error))")
      }
    }
    #expect(MeasurementToken.byteCount == 288)
  }

  @Test("a certificate of up to 4,096 bytes is shown to a service that asks for evidence")
  func certificates() throws {
    for (count, challenges) in [(1, 2), (4_096, 2), (4_097, 1)] {
      let service = InProcessService()
      service.set {
        $0.tamper = { path, bytes in
          guard path == "challenge", let told = try? AttestationChallenge(bytes) else {
            return bytes
          }
          return AttestationChallenge(
            told.draft, lifetime: told.lifetime, configSerial: told.configSerial, key: .evidence
          ).bytes
        }
      }
      let attestor = Attestor(
        observer: Scene(), over: service,
        installationKey: CertifiedKey(certificateByteCount: count),
        clock: ManualClock().clock)
      try attestor.initializeAndWait(service.configuration())
      _ = attestor.fetchTokenAndWait(for: "api.example.com")
      #expect(service.count("challenge") == challenges, "\(count)")
    }
  }
}

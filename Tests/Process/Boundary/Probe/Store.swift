// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofModel

/// A folder of this process's own.
func withFolder(_ body: (String) async throws -> Void) async throws {
  let folder = FileManager.default.temporaryDirectory
    .appending(component: "boundary-\(InstanceID.random())").path
  defer { try? FileManager.default.removeItem(atPath: folder) }
  try await body(folder)
}

/// Pairs by hand, for a store of an app's own.
func probeStore(_ baseline: BaselineProbe) throws {
  let hardware = baseline.hardware.identity
  let token = try grant(baseline).sealed(to: hardware, signedBy: baseline.issuer)
  let paired = try PairedHardware(
    token, for: hardware.id, of: baseline.instance, under: baseline.config, form: .diversified)
  try expect(paired.id == hardware.id && paired.instance == baseline.instance)
  try expect(paired.generation == baseline.config.generation && paired.token == token)
  try expect(paired.config == baseline.config && paired.form == .diversified)
  try expect(token.bytes.count == 288)

  let errors: [MeasurementStoreError] = [
    .noPlace, .unusable(path: "", reason: ""), .failed(path: "", reason: ""),
    .notDurable(path: "", reason: ""), .damaged(keptAs: "", byteCount: 1), .tooNew(version: 2),
    .superseded(stored: 2, offered: 1),
    .otherInstance(stored: baseline.instance, offered: .random()), .empty,
    .repeatedHardware(hardware.id), .tokenForOther(hardware.id),
    .tooManyTokens(count: 257, allowed: 256), .inUse(path: "", processID: 1),
    .notPaired(hardware.id),
  ]
  try expect(errors.allSatisfy { !$0.description.isEmpty })
  if case .noMeasurement(let cause) = errors[0] { throw cause }
  try expect(advice(MeasurementStoreError.notPaired(hardware.id)) == "go online")
  try expect(advice(ProofError.resourcesExhausted(reason: "files")) == "try again")
  try expect(advice(SetupError.notInitialized) == "call support: SETUP-9")
  try expect(advice(TransportError.unreachable("no route")) == "come closer")
}

/// The use that an app makes of an error.
private func advice(_ failure: some ProofFailure) -> String {
  switch failure.whoCanMend {
  case .retry: "try again"
  case .wait(let time): "try again in \(time)"
  case .user: "come closer"
  case .online: "go online"
  case .operator, .developer: "call support: \(failure.code)"
  }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import ProofKit
import ProofModel

/// Stores and loads an app's state, in a folder of this process's own.
func probeStore(_ baseline: BaselineProbe) throws {
  let folder = FileManager.default.temporaryDirectory
    .appending(component: "boundary-\(InstanceID.random())").path
  defer { try? FileManager.default.removeItem(atPath: folder) }
  let hardware = baseline.hardware.identity
  let token = try StoredToken(
    grant(baseline).sealed(to: hardware, signedBy: baseline.issuer), for: hardware.id,
    form: .diversified)
  try expect(token.hardware == hardware.id && token.form == .diversified)
  try expect(token.token.bytes.count == 288 && StoredMeasurement.tokenCountMax == 256)

  let store = try MeasurementStore(folder: folder)
  try expect(try store.load() == nil)
  let pair = try StoredMeasurement(baseline.config, of: baseline.instance, tokens: [])
  try store.save(pair)
  try store.add(token, generation: pair.generation)
  let loaded = try store.load()
  try expect(loaded?.tokens == [token] && loaded?.token(for: hardware.id) == token)
  try expect(loaded?.config == baseline.config && loaded?.instance == baseline.instance)
  let paired: PairedHardware = try store.hardware(hardware.id)
  try expect(paired == PairedHardware(token, of: baseline.instance, under: baseline.config))
  try expect(paired.id == hardware.id && paired.instance == baseline.instance)
  try expect(paired.generation == pair.generation)
  try store.removeToken(for: hardware.id)
  try expect(try store.load() == pair)
  do {
    _ = try MeasurementStore(folder: folder)
    try expect(false)
  } catch let error as MeasurementStoreError {
    guard case .inUse(path: _, processID: _) = error else { throw error }
  }
  try store.erase()
  try expect(try !MeasurementStore.defaultFolder(for: "door").isEmpty)

  let errors: [MeasurementStoreError] = [
    .noPlace, .unusable(path: "", reason: ""), .failed(path: "", reason: ""),
    .notDurable(path: "", reason: ""), .damaged(keptAs: "", byteCount: 1), .tooNew(version: 2),
    .superseded(stored: 2, offered: 1),
    .otherInstance(stored: baseline.instance, offered: .random()), .empty,
    .repeatedHardware(hardware.id), .tokenForOther(hardware.id),
    .tooManyTokens(count: 257, allowed: 256), .noMeasurement(.noNetwork), .notPaired(hardware.id),
  ]
  try expect(errors.allSatisfy { !$0.description.isEmpty })
  try expect(advice(MeasurementStoreError.notPaired(hardware.id)) == "go online")
  try expect(advice(ProofError.resourcesExhausted(reason: "files")) == "try again")
  try expect(advice(AttestorError.notInitialized) == "call support: SETUP-9")
  try expect(advice(TransportError.unreachable("no route")) == "come closer")
  try expect(FetchStatus.noService.whoCanMend == Mender.retry)
  try expect(FetchStatus.noService.code == "SDK-4")
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

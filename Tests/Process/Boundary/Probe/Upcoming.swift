// SPDX-License-Identifier: Apache-2.0

import ProofKit
import ProofModel

func probeUpcoming() throws {
  let record = try EvidenceRecord(SourceID(.app, 2), name: "executable", digest: nil)
  try expect(EvidenceRecord(line: record.line) == record)
  try expect(UpcomingPair.countMax == 3)
  let parts = (\UpcomingPair.config, \UpcomingPair.token, \UpcomingPair.label)
  let make: (MeasurementConfig, String, String) -> UpcomingPair = UpcomingPair.init(_:token:label:)
  let told = \AttestationAnswer.upcoming
  _ = (parts, make, told)
}

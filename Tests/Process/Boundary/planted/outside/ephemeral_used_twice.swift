// SPDX-License-Identifier: Apache-2.0

// expect: 'ephemeral' consumed more than once
import ProofModel

func client(
  grant: MeasurementGrant, hardware: HardwareIdentity, issuer: IssuerKey
) throws -> [MeasurementToken] {
  let ephemeral = SecretBytes.random(count: 32)
  let first = try grant.sealed(to: hardware, signedBy: issuer, ephemeral: ephemeral)
  let second = try grant.sealed(to: hardware, signedBy: issuer, ephemeral: ephemeral)
  return [first, second]
}

// SPDX-License-Identifier: Apache-2.0

// Each step uses one room of the public API; together they use all of it, which `check` compares
// with the symbol graph. No step needs an unsafe expression or a C type.

try probeBytes()
try probeTime()
try probeSecrets()
try probeEvidence()
let baseline = try probeMeasurement()
try probeProofs(baseline)
try probeTokens(baseline)
try probeFactorySecret(baseline)
try probeUpcoming()
try probeRatchet(baseline)
try probeSealed(baseline)
try probeDelegation(baseline)
try probeLog()
try probeFrames()
try probeMessages(baseline)
try probeVerifier(baseline)
try probeAttestation(baseline)
try probeAdmission()
try probeGate(baseline)
try probeInstallationKey(baseline)
try probeErrors()
try probeProver(baseline)
try await probeProbing()
try await withFolder { try await probeAttestor(in: $0) }
try await withFolder { try await probeProtectedClient(in: $0) }
try probeStore(baseline)
try probeDefaults(baseline.config)
print("the public API does what its probe expects")

# SPDX-License-Identifier: Apache-2.0

"""Tokens for measurements to come, each with its defences taken out; as in mutants.py."""

BACKEND, SERVICE = "Sources/ProofBackend", "Sources/ProofService"
ISSUER, LEDGER, APP, GRANT = (
    f"{BACKEND}/{name}.swift" for name in ("MeasurementTokenIssuer", "IssueLedgerFile", "MeasuredApp", "UnlockGrant"))
PREDICTIONS, RECORD = f"{SERVICE}/Attestation/Predictions.swift", f"{SERVICE}/Record/Prediction.swift"
TOKENS, ANSWERS = "UpcomingTokenTests", "UpcomingTests"

UPCOMING_MUTANTS = [
    ("an upcoming token for hardware that has no candidates", ISSUER,
     "guard !app.isUpcoming || hardware.takesUpcoming && form == .diversified else {", "guard true else {", TOKENS, []),
    ("an upcoming token that does not say so", ISSUER, "isUpcoming: app.isUpcoming, ", "isUpcoming: false, ", TOKENS,
     []),
    ("an upcoming token without end", ISSUER, "return min(lifetime ?? .max, Self.upcomingLifetime)",
     "return lifetime", TOKENS, []),
    ("pairs of two fetches", ISSUER, "other.mode == app.mode, other.base == app.generation",
     "other.mode == app.mode", TOKENS, []),
    ("pairs of two instances", ISSUER, "other.isUpcoming, other.instance == app.instance,", "other.isUpcoming,",
     TOKENS, []),
    ("a ledger that compares generations", LEDGER, "generation - min(generation, offset))", "generation)", TOKENS, []),
    ("a base that is not stored", LEDGER, "record += offset.littleEndianBytes", "record += [0, 0]", TOKENS, []),
    ("a base as high as the generation", APP, "base < generation", "base <= generation", TOKENS, []),
    ("more pairs than a fetch has", GRANT, "return lines.count <= Self.upcomingMax ? lines : nil", "return lines",
     TOKENS, []),
    ("a fetch that reserves one generation", PREDICTIONS,
     "base.addingReportingOverflow(UInt32(UpcomingPair.countMax))", "base.addingReportingOverflow(0)", ANSWERS, []),
    ("a real token for an app that fails", f"{SERVICE}/Token/TokenMinter.swift",
     "judgement.isPassed && pair.isForApp\n", "pair.isForApp || true\n", ANSWERS, []),
    ("a real token of another app's update", f"{SERVICE}/Token/TokenMinter.swift",
     "judgement.isPassed && pair.isForApp\n", "judgement.isPassed\n", ANSWERS, []),
    ("a build without its records is predicted", RECORD,
     "sources.contains(source)\n", "false && sources.contains(source)\n", ANSWERS, []),
    ("records of another build are registered", RECORD,
     "guard AppDigest(of: records) == registration.digest else {", "guard true else {", ANSWERS, []),
    ("an update of an unknown build is registered", RECORD,
     "guard updates != registration.digest, let present = snapshot.registrations[updates],\n"
     "      present.prediction == nil || present.prediction?.updates != nil\n    else {", "guard true else {",
     ANSWERS, []),
]

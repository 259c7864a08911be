# SPDX-License-Identifier: Apache-2.0

"""Factory secrets and suites on the issuer's side, each with its defences taken out; as in mutants.py."""

ISSUER, LEDGER = (f"Sources/ProofBackend/{name}.swift" for name in ("MeasurementTokenIssuer", "IssueLedgerFile"))
SERVICE = "Sources/ProofService"
HARDWARE, KEY = f"{SERVICE}/Management/ManagementHardware.swift", f"{SERVICE}/Account/FactoryKey.swift"
SUITES, SECRETS = "TokenSuiteTests", "FactorySecretTests"

SUITE_MUTANTS = [
    ("a factory secret that may be missing", ISSUER, "throw .factorySecretMissing(hardware.identity.id)",
     "return nil", SUITES, []),
    ("a literal token for hardware with a factory secret", ISSUER, "(hardware.allowsLiteral && factory == nil)",
     "hardware.allowsLiteral", SUITES, []),
    ("version 1 for hardware of version 2", ISSUER,
     "factory != nil || hardware.features.contains(.tokenVersionTwo)", "factory != nil", SUITES, []),
    ("a downgrade that the ledger allows", LEDGER,
     "guard suite == .two || !state.sealedWithSecret.contains(pair.hardware) else {", "guard true else {", SUITES, []),
    ("a suite that no record keeps", LEDGER, "let suite = suite == .two ? suite.rawValue : 0",
     "let suite: UInt8 = suite == .two ? 0 : 0", SUITES, []),
    ("a registration that loses a feature", HARDWARE, "hardware.features.formUnion(features)",
     "hardware.features = features", SECRETS, []),
    ("a factory secret without its feature", HARDWARE,
     "hardware.features.formUnion([.tokenVersionTwo, .factorySecret])",
     "hardware.features.formUnion(.tokenVersionTwo)", SECRETS, []),
    ("a sealed factory secret for any hardware", KEY, '"factory/\\(hardware)"', '"factory/"', SECRETS, []),
    ("a sealed factory secret in a list", f"{SERVICE}/Record/Hardware.swift", 'shown["factorySecret"] = nil', "",
     SECRETS, []),
]

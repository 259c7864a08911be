# SPDX-License-Identifier: Apache-2.0

"""Copies that hardware tells of, on their way to the service, and revoked hardware; as in mutants.py."""

KIT, LINK, SERVICE = "Sources/ProofKit/Attestor", "Sources/ProofLink", "Sources/ProofService"
JUDGEMENT, CALL = f"{SERVICE}/Policy/Judgement.swift", f"{LINK}/ConnectionCall.swift"
NOTE = f"{SERVICE}/Policy/DeviceNote.swift"

COPY_MUTANTS = [
    ("a report that does not tell of it", f"{KIT}/AttestationExchange.swift", "if !settings.copySightings.isEmpty {",
     "if settings.copySightings.count > 9 {", "AttestorTests", []),
    ("it is told again and again", f"{KIT}/AttestorState.swift", "      settings.copySightings = []\n", "",
     "AttestorTests", []),
    ("it is forgotten though the service did not answer", f"{KIT}/AttestorState.swift",
     "if [.success, .rejected].contains(outcome.result.status), key", "if key", "AttestorTests", []),
    ("a kept token holds the news back", f"{KIT}/AttestorSettings.swift",
     "state.changeSettings { $0.copySightings.insert(hardware) }", "state.settings.copySightings.insert(hardware)",
     "AttestorTests", []),
    ("the service does not remember it", NOTE, "if report.tellsOfCopy { copyReported = now }", "",
     "PolicyTests", []),
    ("the service remembers it for ever", JUDGEMENT, "{ $0 >= now - Int64(policy.cloneWindow) }", "{ $0 > 0 }",
     "PolicyTests", []),
    ("the connection keeps it to itself", CALL, "if isNews { noteCopy() }", "_ = isNews", "RatchetTests", []),
    ("a restart keeps it to itself", CALL, "    if memory.hasSeenCopy { noteCopy() }\n", "", "RatchetTests", []),
    ("it stays after the service has answered", CALL, "    try forgetReportedCopy()\n    takeNewestPair()",
     "    takeNewestPair()", "RatchetTests", []),
    ("a revoked piece holds up the others", f"{KIT}/Enrolment.swift",
     "guard piece != hardware, error.isOfHardware else { throw error }",
     "guard piece != hardware, error == .cancelled else { throw error }",
     "EnrolmentTests", []),
    ("a proxy's refusal drops a pair", f"{KIT}/EnrolmentError.swift",
     'self == .backend(status: 403, word: "hardware")',
     "if case .backend(status: 403, _) = self { true } else { false }", "EnrolmentTests", []),
    ("the last pair is dropped", f"{KIT}/Enrolment.swift", "if let refusal, tokens.isEmpty { throw refusal }",
     "if tokens.isEmpty { return false }", "EnrolmentTests", [("var refusal: EnrolmentError?", "_ = hardware"),
                                                            ("        refusal = error\n", "")]),
]

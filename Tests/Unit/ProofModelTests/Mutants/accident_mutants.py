# SPDX-License-Identifier: Apache-2.0

"""The ends of a link call that accidents led to, each taken out once; as in mutants.py."""

LINK = "Sources/ProofLink"

ACCIDENT_MUTANTS = [
    ("a recall that hardware never understands is asked for ever", f"{LINK}/LinkJudgement.swift",
     "if unreadRecallCount < Self.unreadRecallCountMax { break }", "break", "AccidentTests", []),
    ("a receipt of another key is asked for until the deadline", f"{LINK}/LinkExchange.swift",
     "return unreadReceiptCount == Self.unreadReceiptCountMax", "return false", "AccidentTests", []),
    ("a receipt of another owner's token is waited for", f"{LINK}/HardwareConnection+Loans.swift",
     "(delegation.generation == hardware.generation", "(delegation.generation > 0", "BenchTests/LoanTests", []),
    ("a delegation's receipt of another key is asked for until the deadline", f"{LINK}/LinkLoan.swift",
     "      hasUnreadReceipt = true\n", "", "BenchTests/LoanTests", []),
    ("a token that was lost is not presented again", f"{LINK}/LinkExchange.swift",
     "if case .presenting = phase, !hasUnreadReceipt { isDoubted = false }", "", "AccidentTests", []),
]

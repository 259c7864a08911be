// SPDX-License-Identifier: Apache-2.0

// expect: 'receipt' is inaccessible due to 'package' protection level
import ProofModel

func client(recall: Recall, answer: Answer) throws -> Advice {
  try recall.receipt(of: answer).verdict.advice(to: .command)
}

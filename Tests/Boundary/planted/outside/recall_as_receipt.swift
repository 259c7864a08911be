// expect: has no member 'receipt'
import ProofModel

func client(recall: Recall, answer: Answer) throws -> Advice {
  try recall.receipt(of: answer).verdict.advice(to: .command)
}

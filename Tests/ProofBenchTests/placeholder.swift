import ProofBench

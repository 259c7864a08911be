// expect: type 'SecretBytes' does not conform to protocol 'Copyable'
import ProofModel

func client() -> [SecretBytes] { [] }

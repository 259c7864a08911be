// expect: nothing
import ProofModel

func client(secret: consuming SecretBytes) -> Int { secret.withBytes { $0.byteCount } }

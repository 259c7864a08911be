// expect: cannot find 'CoreCrypto' in scope
import ProofModel

func client() { _ = CoreCrypto.self }

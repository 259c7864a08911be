import ProofKitHTTP
import Testing

// SPDX-License-Identifier: Apache-2.0

// expect: 'session' consumed more than once
import ProofModel

func client(session: consuming VerifierSession) {
  var first = session
  var second = session
  first.disconnect()
  second.disconnect()
}

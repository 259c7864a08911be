// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// Makes and checks receipts.
enum CoreReceipt {
  static func tag(
    _ verdict: Verdict, _ detail: UInt16, _ counter: UInt64, _ nonce: ProofNonce,
    _ secrets: CoreSecrets?
  ) -> InlineBytes<32> {
    unsafe InlineBytes { tag in
      unsafe secrets?.withKey(of: .device) { key in
        unsafe nonce.storage.withPointer { nonce in
          unsafe pfc_receipt_make(tag, key, nonce, verdict.rawValue, detail, counter)
        }
      }
    }
  }

  static func check(
    _ answer: Answer, _ nonce: ProofNonce, _ secrets: CoreSecrets
  ) throws(ProofError) {
    let result = unsafe secrets.withKey(of: .device) { key in
      unsafe nonce.storage.withPointer { nonce in
        unsafe answer.tag.withPointer { tag in
          unsafe CoreResult(
            pfc_receipt_check(
              tag, key, nonce, answer.verdict.rawValue, answer.detail, answer.counter))
        }
      }
    }
    try result.orThrow(opening: "receipt", byteCount: 32)
  }
}

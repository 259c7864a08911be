// SPDX-License-Identifier: Apache-2.0

internal import ProofCore

/// The result of a core function, with a name for each number.
struct CoreResult: Equatable {
  let code: Int32

  static let ok = CoreResult(PFC_OK)
  static let argument = CoreResult(PFC_E_ARGUMENT)
  static let damaged = CoreResult(PFC_E_DAMAGED)
  static let foreign = CoreResult(PFC_E_FOREIGN)
  static let tooNew = CoreResult(PFC_E_TOO_NEW)
  static let malformed = CoreResult(PFC_E_MALFORMED)
  static let order = CoreResult(PFC_E_ORDER)
  static let source = CoreResult(PFC_E_SOURCE)
  static let recipient = CoreResult(PFC_E_RECIPIENT)
  static let signature = CoreResult(PFC_E_SIGNATURE)
  static let mode = CoreResult(PFC_E_MODE)
  static let differs = CoreResult(PFC_E_DIFFERS)
  static let storage = CoreResult(PFC_E_STORAGE)
  static let random = CoreResult(PFC_E_RANDOM)
  static let tooFar = CoreResult(PFC_E_TOO_FAR)

  private init(_ result: pfc_result) { code = result.rawValue }

  init(_ code: Int32) { self.code = code }

  /// For calls whose arguments are valid by their types. Any other result is a defect of this
  /// library, so it traps.
  func mustBeOK(_ call: StaticString = #function) {
    precondition(self == .ok, "The core refused valid arguments: \(call), result \(code).")
  }
}

/// Turns the core's results about received or stored bytes into errors.
extension CoreResult {
  /// Throws the error that the result stands for; `noun` names the bytes that were opened.
  func orThrow(opening noun: String, byteCount: Int) throws(ProofError) {
    switch self {
    case .ok: return
    case .malformed: throw .malformed(noun, byteCount: byteCount)
    case .tooNew: throw .tooNew(noun)
    case .recipient: throw .notForThisHardware(noun)
    case .signature: throw .notSigned(noun)
    case .mode: throw .wrongMode(noun)
    case .differs: throw .differs(noun)
    case .storage: throw .storageFailed
    case .damaged: throw .storageDamaged
    case .random: throw .randomFailed
    default: mustBeOK()
    }
  }
}

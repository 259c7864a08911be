// SPDX-License-Identifier: Apache-2.0

// Written by docs/generate-reasons from docs/reasons.txt: change that.

import ProofModel

extension LinkError.Reason {
  enum Number: Int {
    case integrityDiffers = 1
    case deviceDiffers = 2
    case notPermitted = 3
    case attemptsExhausted = 4
    case usesExhausted = 5
    case tokenRefused = 6
    case tokenExpired = 7
    case revoked = 8
    case full = 9
    case hardwareTooOld = 10
    case busy = 11
    case hardwareFault = 12
    case notMeasured = 13
    case notStored = 14
    case unreachable = 15
    case linkLost = 16
    case timedOut = 17
    case cancelled = 18
    case earlierCommand = 19
    case resourcesExhausted = 20
    case copied = 21
    case logMissing = 22
    case logNotPermitted = 23
    case sealingMissing = 24
    case delegationMissing = 25
    case delegationRefused = 26
    case tokenNotHeld = 27

    /// The party that can remove the cause; nil if the error itself says it.
    var mender: Mender? {
      switch self {
      case .integrityDiffers: .online
      case .deviceDiffers: .online
      case .notPermitted: .operator
      case .attemptsExhausted: .online
      case .usesExhausted: .online
      case .tokenRefused: .online
      case .tokenExpired: .online
      case .revoked: .operator
      case .full: .operator
      case .hardwareTooOld: .operator
      case .busy: nil
      case .hardwareFault: .operator
      case .notMeasured: nil
      case .notStored: .user
      case .unreachable: .user
      case .linkLost: .user
      case .timedOut: .retry
      case .cancelled: .retry
      case .earlierCommand: .user
      case .resourcesExhausted: .retry
      case .copied: .online
      case .logMissing: .operator
      case .logNotPermitted: .developer
      case .sealingMissing: .operator
      case .delegationMissing: .operator
      case .delegationRefused: .user
      case .tokenNotHeld: .user
      }
    }
  }
}

extension Verdict {
  /// The party that can remove the cause; nil if the error itself says it.
  var mender: Mender? {
    switch self {
    case .accepted: .online
    case .acceptedDeviceOnly: .online
    case .held: .online
    case .orderDone: .online
    case .notExecuted: .online
    case .acceptedCopy: .online
    case .acceptedDeviceOnlyCopy: .online
    case .ready: .online
    case .integrityDiffers: .online
    case .deviceDiffers: .online
    case .stale: .online
    case .notPermitted: .operator
    case .attemptsExhausted: .online
    case .usesExhausted: .online
    case .unknownInstance: .online
    case .copied: .online
    case .notForMe: .online
    case .notSigned: .operator
    case .expired: .online
    case .superseded: .online
    case .revoked: .operator
    case .wrongMode: .operator
    case .noRoom: .operator
    case .tooNew: .operator
    case .malformed: .operator
    case .busy: nil
    case .fault: .operator
    }
  }
}

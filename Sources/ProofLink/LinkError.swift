// SPDX-License-Identifier: Apache-2.0

public import ProofModel

/// The reason why a call of a ``HardwareConnection`` failed.
///
/// It names only what was found. ``Reason/integrityDiffers`` and ``Reason/deviceDiffers`` come from an
/// answer of the hardware alone; an app that could not be measured is ``Reason/notMeasured``.
public struct LinkError: ProofFailure {
  /// A cause. New ones may come in a minor version: a `switch` needs a `default`.
  public struct Reason: Sendable, Hashable {
    fileprivate let number: Number

    private init(_ number: Number) { self.number = number }

    /// App or environment differ from the measurement.
    public static let integrityDiffers = Reason(.integrityDiffers)
    /// The device differs from the measurement.
    public static let deviceDiffers = Reason(.deviceDiffers)
    /// The token does not permit this class of command for this kind of match.
    public static let notPermitted = Reason(.notPermitted)
    /// The token's attempts are exhausted.
    public static let attemptsExhausted = Reason(.attemptsExhausted)
    /// The token's uses are exhausted.
    public static let usesExhausted = Reason(.usesExhausted)
    /// The hardware refuses the token, the order or the message.
    public static let tokenRefused = Reason(.tokenRefused)
    /// The token's time is over.
    public static let tokenExpired = Reason(.tokenExpired)
    /// The token was revoked.
    public static let revoked = Reason(.revoked)
    /// All slots of the hardware serve other instances.
    public static let full = Reason(.full)
    /// The hardware is older than the token, the order or the command.
    public static let hardwareTooOld = Reason(.hardwareTooOld)
    /// The hardware ends this link, as a rate limit.
    public static let busy = Reason(.busy)
    /// The hardware could not store or draw random bytes.
    public static let hardwareFault = Reason(.hardwareFault)
    /// The app could not be measured: ``LinkError/measurement`` says why. Nothing was sent.
    public static let notMeasured = Reason(.notMeasured)
    /// The memory of the link could not be read or stored. Nothing was sent.
    public static let notStored = Reason(.notStored)
    /// No link could be opened: nothing is at the address, or the radio is off.
    public static let unreachable = Reason(.unreachable)
    /// No link could be kept open.
    public static let linkLost = Reason(.linkLost)
    /// The deadline passed. The link is closed.
    public static let timedOut = Reason(.timedOut)
    /// The task was cancelled. The link is closed.
    public static let cancelled = Reason(.cancelled)
    /// An earlier command that was left open was done after all, or its outcome can no longer be found
    /// out: ``LinkError/earlier``. This command was not sent.
    public static let earlierCommand = Reason(.earlierCommand)
    /// Another copy of the app has sent commands to the hardware, and the token refuses this class of
    /// command to copies.
    public static let copied = Reason(.copied)
    /// No link could be opened, because memory or descriptors ran out on this side.
    public static let resourcesExhausted = Reason(.resourcesExhausted)
    /// The hardware keeps no log, or its firmware does not hand it out.
    public static let logMissing = Reason(.logMissing)
    /// The hardware hands out its log only after an accepted command on the same link, and so many
    /// parts for each.
    public static let logNotPermitted = Reason(.logNotPermitted)
    /// The hardware answers no sealed commands, and the app sends no others. Nothing was sent.
    public static let sealingMissing = Reason(.sealingMissing)
    /// The hardware takes no delegations.
    public static let delegationMissing = Reason(.delegationMissing)
    /// The hardware refuses the delegation.
    public static let delegationRefused = Reason(.delegationRefused)
    /// The hardware does not hold the app's present token yet, and would refuse what it lends. Nothing
    /// was made.
    public static let tokenNotHeld = Reason(.tokenNotHeld)
  }

  /// The cause.
  public let reason: Reason
  /// Whether the command of this call, or an earlier one that it had begun to ask about, may have been
  /// executed: ``HardwareConnection/settle(within:)`` finds out, and the next command does so first.
  public package(set) var commandMayBeDone: Bool
  /// Whether the hardware's answer carried a receipt. Otherwise anyone on the link could have made it.
  public let isAuthenticated: Bool
  /// The cause, for ``Reason/notMeasured``.
  public let measurement: ProofError?
  /// The result of the earlier command, for ``Reason/earlierCommand``.
  public let earlier: Outcome?

  /// The cause within the hardware's verdict, where the hardware told one: ``code`` names it then.
  public let detail: RefusalDetail?
  /// The message that the hardware refused, or that has no outcome, as the hardware and the backend log it;
  /// nil where none was sent. Errors that differ in it alone are equal.
  public package(set) var reference: Reference? {
    get { subject.reference }
    set { subject = Subject(reference: newValue) }
  }

  /// The verdict that the hardware's answer had.
  package let verdict: Verdict?
  private let wait: Duration?
  private var subject = Subject(reference: nil)
  /// The words of storage or transport.
  private let words: String

  /// A message that an error is about, and that makes no error another one.
  private struct Subject: Hashable {
    let reference: Reference?

    static func == (_: Subject, _: Subject) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  package init(_ reason: Reason, commandMayBeDone: Bool = false, words: String = "") {
    self.init(reason, commandMayBeDone, words: words, verdict: nil)
  }

  private init(
    _ reason: Reason, _ commandMayBeDone: Bool = false, words: String = "", verdict: Verdict?,
    detail: RefusalDetail? = nil, isAuthenticated: Bool = false, measurement: ProofError? = nil,
    earlier: Outcome? = nil, wait: Duration? = nil
  ) {
    self.reason = reason
    self.commandMayBeDone = commandMayBeDone
    self.words = words
    self.verdict = verdict
    self.detail = detail
    self.isAuthenticated = isAuthenticated
    self.measurement = measurement
    self.earlier = earlier
    self.wait = wait
  }

  /// The app could not be measured.
  package static func notMeasured(_ error: ProofError) -> LinkError {
    LinkError(.notMeasured, verdict: nil, measurement: error)
  }

  /// An earlier command was executed, or may have been.
  package static func earlierCommand(_ outcome: Outcome) -> LinkError {
    LinkError(.earlierCommand, verdict: nil, earlier: outcome)
  }

  /// The hardware wants to be left alone for some seconds.
  package static func busy(seconds: Int) -> LinkError {
    LinkError(
      .busy, verdict: .busy, detail: .seconds(UInt16(clamping: seconds)), wait: .seconds(seconds))
  }

  /// The hardware refused.
  package static func refused(
    _ verdict: Verdict, _ detail: RefusalDetail? = nil, isAuthenticated: Bool
  ) -> LinkError {
    let reason: Reason =
      switch verdict {
      case .integrityDiffers: .integrityDiffers
      case .deviceDiffers: .deviceDiffers
      case .notPermitted: .notPermitted
      case .attemptsExhausted: .attemptsExhausted
      case .usesExhausted: .usesExhausted
      case .expired: .tokenExpired
      case .revoked: .revoked
      case .copied: .copied
      case .noRoom: .full
      case .tooNew: .hardwareTooOld
      case .fault: .hardwareFault
      default: .tokenRefused
      }
    return LinkError(reason, verdict: verdict, detail: detail, isAuthenticated: isAuthenticated)
  }
}

extension LinkError {
  /// The hardware refused a delegation. Such a refusal has no receipt.
  package static func refusedDelegation(
    _ verdict: Verdict, _ detail: RefusalDetail?
  ) -> LinkError {
    switch verdict {
    case .deviceDiffers, .notPermitted, .expired, .superseded, .unknownInstance, .notForMe:
      LinkError(.delegationRefused, verdict: verdict, detail: detail)
    default: refused(verdict, detail, isAuthenticated: false)
    }
  }

  /// `LOCK-` and the numbers of the hardware's verdict and detail, such as `LOCK-18.2`; or `LINK-` and the
  /// number of the reason.
  public var code: String {
    detail?.code ?? verdict.map { "LOCK-\($0.rawValue)" } ?? "LINK-\(reason.number.rawValue)"
  }

  /// The party that can remove the cause.
  public var whoCanMend: Mender {
    // Some verdicts blame the member's own measurement, which is another one here.
    let isLoan = reason == .delegationRefused
    let listed = if let verdict, !isLoan { verdict.mender } else { reason.number.mender }
    return detail?.mender ?? listed ?? measurement?.whoCanMend ?? wait.map(Mender.wait) ?? .retry
  }

  /// The failure and the next step, as text.
  public var description: String {
    if let verdict, reason != .busy {
      let speaker =
        isAuthenticated ? "The hardware" : "The hardware, or another sender on the link,"
      let caution = commandMayBeDone ? " The command may have been done nevertheless." : ""
      let advice = verdict.advice(to: reason == .delegationRefused ? .delegation : .command)
      return "\(speaker) answered “\(verdict)” (\(code)).\(caution) \(advice)"
    }
    return switch reason.number {
    case .busy: "The hardware is busy. Try again in \(wait?.components.seconds ?? 1) seconds."
    case .notMeasured: "No command was sent. \(measurement.map { "\($0)" } ?? "")"
    case .notStored:
      "No command was sent, because the link's memory could not be read or stored: \(words). Make "
        + "room, and check the folder."
    case .unreachable:
      "The hardware cannot be reached (\(words))\(end) Check the address, that it has power, and that "
        + "it is near."
    case .linkLost:
      "No link could be kept open\(end) Check that the hardware has power and is near, then try again."
    case .resourcesExhausted:
      "No link could be opened (\(words))\(end) Close files and other programs, then try again."
    case .timedOut: "The deadline passed\(end)"
    case .cancelled: "The call was cancelled\(end)"
    case .logMissing: "The hardware keeps no log, or its firmware does not hand it out."
    case .logNotPermitted:
      "The hardware hands out its log only after an accepted command on this link, and so many parts "
        + "for each. Send a command, then collect the log."
    case .sealingMissing:
      "The hardware answers no sealed commands, or another sender on the link hides that it does. No "
        + "command was sent."
    case .delegationMissing:
      "The hardware takes no delegations, or another sender on the link hides that it does."
    case .tokenNotHeld:
      "The hardware does not hold this app's token yet, and would refuse what it lends. Send it a "
        + "command, then lend."
    default:
      earlier == .unknown
        ? "The hardware cannot tell whether an earlier command was done. Look before you send this one."
        : "An earlier command was done after all. Look before you send this one."
    }
  }

  private var end: String {
    commandMayBeDone
      ? ", and the command may have been done: ask the hardware before you send it again."
      : "; the command was not done."
  }
}

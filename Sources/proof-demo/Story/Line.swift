// SPDX-License-Identifier: Apache-2.0

/// One line of the story: the step, its outcome, and the required outcome.
struct Line {
  let act: String
  let what: String
  let expected: String
  let happened: String
  /// Further details.
  let detail: String
  /// The parts of the time, if the app did the step.
  let time: StepTime?

  var isAsItMust: Bool { happened == expected }
}

/// The result of a step.
struct Happening {
  let outcome: String
  var detail = ""
  var time: StepTime?

  init(_ outcome: String, _ detail: String = "", time: StepTime? = nil) {
    self.outcome = outcome
    self.detail = detail
    self.time = time
  }

  /// The app's answer, with the lock's verdict.
  init(_ answer: AppAnswer) {
    self.init(answer.outcome, answer.detail, time: answer.time)
  }
}

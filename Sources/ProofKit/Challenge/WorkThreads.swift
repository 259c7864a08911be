// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Solves a challenge of kind work on several threads, until it is solved, cancelled, or late.
struct WorkThreads: Sendable {
  /// Tells whether the work must end early, and why.
  typealias Stop = @Sendable () -> GateError?

  private struct State {
    var next: UInt8 = 0
    var running: Int
    var parts: [UInt8: [UInt8]] = [:]
    var error: GateError?
  }

  private let solver: WorkSolver
  let threadCount: Int

  init(
    _ challenge: GateClient.Challenge, _ settings: ChallengeSettings
  ) throws(ChallengeError) {
    let allowed =
      challenge.kind == .work ? settings.workLevelMax : settings.memoryWorkLevelMax
    guard challenge.level <= allowed else {
      throw .tooHard(level: challenge.level, allowed: allowed)
    }
    do throws(ProofError) {
      solver = try WorkSolver(
        challenge.id, puzzleLevelMax: settings.workLevelMax,
        pairingLevelMax: settings.memoryWorkLevelMax)
    } catch {
      throw .malformed(reason: "\(error)")
    }
    // One birthday problem at a time bounds the memory to 32 MiB.
    threadCount = challenge.kind == .work ? min(max(settings.threadCount, 1), 16) : 1
  }

  /// Solves the challenge. The calling thread is one of the threads.
  ///
  /// - Parameter stop: Asked after each step of some milliseconds.
  /// - Returns: The solution in base64url.
  /// - Throws: The error that `stop` gave, or ``ChallengeError/outOfMemory``.
  func solve(_ stop: @escaping Stop) throws(GateError) -> String {
    let state = CoreLock(State(running: threadCount))
    let ended = Handover<Bool>()
    let solver = solver
    let run: @Sendable () -> Void = {
      Self.work(solver, state, stop)
      let isLast = state.withLock { state in
        state.running -= 1
        return state.running == 0
      }
      if isLast { ended.give(true) }
    }
    for _ in 1..<threadCount { CorePool.puzzles.run(run) }
    run()
    _ = ended.wait()
    let (parts, error) = state.withLock { ($0.parts, $0.error) }
    if let error { throw error }
    let solution = (0..<solver.count).flatMap { parts[$0] ?? [] }
    return Base64.encode(solution, .url)
  }

  private static func work(_ solver: WorkSolver, _ state: CoreLock<State>, _ stop: Stop) {
    while let index = next(solver, state) {
      var problem = solver.problem(index)
      var isSolved = false
      while !isSolved {
        if let error = stop() { return fail(error, state) }
        if state.withLock({ $0.error != nil }) { return }
        switch problem.step(50_000) {
        case .more: continue
        case .outOfMemory: return fail(.challenge(.outOfMemory), state)
        case .solved(let part):
          state.withLock { $0.parts[index] = part }
          isSolved = true
        }
      }
    }
  }

  private static func next(_ solver: WorkSolver, _ state: CoreLock<State>) -> UInt8? {
    state.withLock { state in
      guard state.error == nil, state.next < solver.count else { return nil }
      defer { state.next += 1 }
      return state.next
    }
  }

  private static func fail(_ error: GateError, _ state: CoreLock<State>) {
    state.withLock { if $0.error == nil { $0.error = error } }
  }
}

// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// Runs an async call and blocks this thread until it ends. For command-line tools and old code.
///
/// Traps inside a task, because a blocked task can stop every other one. The call must not need this
/// thread, such as the main actor's.
///
///     let token = try blocking { try await attestor.token(for: "api.example.com") }
///
/// - Parameter body: The call.
/// - Returns: The result of the call.
/// - Throws: The error of the call.
public func blocking<R: Sendable, E: Error>(
  _ body: @escaping @Sendable () async throws(E) -> R
) throws(E) -> R {
  precondition(!CoreTask.isHere, "blocking { } was called inside a task. Use await.")
  let answer = Handover<Result<R, E>>()
  Task.detached(executorPreference: CoreExecutor.shared) {
    do throws(E) {
      answer.give(.success(try await body()))
    } catch {
      answer.give(.failure(error))
    }
  }
  return try answer.wait().get()
}

// SPDX-License-Identifier: Apache-2.0

/// Something to be timed.
package struct Candidate {
  package let name: String
  /// How many times it is done in one round.
  package let count: Int
  /// Does it that often, and says how long it took. What must not be timed stays outside the clock.
  package let run: (_ count: Int) throws -> Duration

  package init(
    name: String, count: Int, run: @escaping (_ count: Int) throws -> Duration
  ) {
    self.name = name
    self.count = count
    self.run = run
  }

  /// A candidate that is timed as a whole.
  package static func whole(
    _ name: String, count: Int = 1, _ body: @escaping (_ count: Int) throws -> Void
  ) -> Candidate {
    Candidate(name: name, count: count) { count in
      let start = ContinuousClock.now
      try body(count)
      return ContinuousClock.now - start
    }
  }
}

/// How much a group may cost: rounds end when there are enough of them, or when the time is over.
package struct Budget: Sendable {
  /// As many rounds even if the time is over.
  package static let roundsMin = 3

  package let rounds: Int
  package let time: Duration

  package init(rounds: Int, time: Duration) {
    self.rounds = rounds
    self.time = time
  }
}

/// A candidate did not do what it is there for.
package struct CandidateFailure: Error, CustomStringConvertible {
  package let description: String
}

/// Candidates that are timed side by side: each round does all of them, so that whatever else the
/// machine does meets all of them alike.
package struct Group {
  package let name: String
  package let candidates: [Candidate]
  /// Pairs of candidates, by name, of which the ratio matters.
  package let ratios: [(over: String, under: String)]

  package init(
    name: String, candidates: [Candidate], ratios: [(over: String, under: String)] = []
  ) {
    let names = Set(candidates.map(\.name))
    precondition(names.count == candidates.count, "\(name): two candidates have one name")
    precondition(
      ratios.allSatisfy { names.contains($0.over) && names.contains($0.under) },
      "\(name): a ratio is of candidates that are there")
    self.name = name
    self.candidates = candidates
    self.ratios = ratios
  }

  /// Does rounds until the budget is used up.
  ///
  /// - Parameters:
  ///   - budget: How many rounds at most, and for how long.
  ///   - now: The time, for tests.
  ///   - progress: Called before each round with its number.
  /// - Returns: What each candidate took.
  /// - Throws: The first candidate that failed.
  package func run(
    _ budget: Budget, now: () -> ContinuousClock.Instant = { .now },
    progress: (_ round: Int) -> Void = { _ in }
  ) throws(CandidateFailure) -> Timing {
    var samples = [[Double]](repeating: [], count: candidates.count)
    let start = now()
    // The first round warms up, and as many more as make up a tenth of the rounds or of the time.
    let warmUps = max(1, min(budget.rounds / 10, 30))
    var round = -warmUps
    while round < budget.rounds {
      let elapsed = now() - start
      if round >= Budget.roundsMin, elapsed >= budget.time { break }
      if round < 0, round > -warmUps, elapsed >= budget.time / 10 { round = 0 }
      progress(round)
      for step in candidates.indices {
        // Another one begins each round, so that none is always first.
        let index = (step + max(round, 0)) % candidates.count
        let took = try time(candidates[index])
        if round >= 0 { samples[index].append(took) }
      }
      round += 1
    }
    let series = zip(candidates, samples).map { Series(name: $0.name, rounds: $1) }
    let ratios = ratios.map { pair in
      Ratio(
        series.first { $0.name == pair.over }!, over: series.first { $0.name == pair.under }!)
    }
    return Timing(group: name, series: series, ratios: ratios)
  }

  private func time(_ candidate: Candidate) throws(CandidateFailure) -> Double {
    do {
      return try candidate.run(candidate.count).nanoseconds / Double(candidate.count)
    } catch {
      throw CandidateFailure(description: "\(name), \(candidate.name): \(error)")
    }
  }
}

extension Duration {
  package var nanoseconds: Double {
    Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9
  }
}

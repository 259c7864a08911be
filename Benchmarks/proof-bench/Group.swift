/// Something to be timed.
struct Candidate {
  let name: String
  /// How many times it is done in one round.
  let count: Int
  /// Does it that often, and says how long it took. What must not be timed stays outside the clock.
  let run: (_ count: Int) throws -> Duration
}

extension Candidate {
  /// A candidate that is timed as a whole.
  static func whole(
    _ name: String, count: Int, _ body: @escaping (_ count: Int) throws -> Void
  ) -> Candidate {
    Candidate(name: name, count: count) { count in
      let start = ContinuousClock.now
      try body(count)
      return ContinuousClock.now - start
    }
  }
}

/// Candidates that are timed side by side: each round does all of them, so that whatever else the
/// machine does meets all of them alike.
struct Group {
  let name: String
  let candidates: [Candidate]
  /// Pairs of candidates, by name, of which the ratio matters.
  let ratios: [(over: String, under: String)]

  func run(rounds: Int) -> Timing {
    var samples = [[Double]](repeating: [], count: candidates.count)
    for round in -rounds / 10..<rounds {
      for step in candidates.indices {
        // Another one begins each round; nobody is always first.
        let index = (step + max(round, 0)) % candidates.count
        let candidate = candidates[index]
        let duration: Duration
        do {
          duration = try candidate.run(candidate.count)
        } catch {
          fatalError("\(name), \(candidate.name): \(error)")
        }
        // The rounds below zero warm up.
        if round >= 0 { samples[index].append(duration.nanoseconds / Double(candidate.count)) }
      }
    }
    let series = zip(candidates, samples).map { Series(name: $0.name, rounds: $1) }
    let ratios = ratios.map { pair in
      let over = series.first { $0.name == pair.over }!
      let under = series.first { $0.name == pair.under }!
      return Ratio(over: over, under: under)
    }
    return Timing(group: name, series: series, ratios: ratios)
  }
}

extension Duration {
  var nanoseconds: Double {
    Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9
  }
}

/// What one candidate took, in nanoseconds for one time, round by round.
struct Series {
  let name: String
  let rounds: [Double]

  var minimum: Double { quantile(0) }
  var median: Double { quantile(0.5) }
  var p99: Double { quantile(0.99) }

  private func quantile(_ q: Double) -> Double {
    let sorted = rounds.sorted()
    return sorted[Int((Double(sorted.count - 1) * q).rounded())]
  }
}

/// Two candidates against each other, round by round; the median of these pairs.
struct Ratio {
  let name: String
  let value: Double

  init(over: Series, under: Series) {
    name = "\(over.name)/\(under.name)"
    let pairs = zip(over.rounds, under.rounds).map { $0 / $1 }.sorted()
    value = pairs[pairs.count / 2]
  }
}

/// What a group took.
struct Timing {
  let group: String
  let series: [Series]
  let ratios: [Ratio]
}

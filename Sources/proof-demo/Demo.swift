import Console

/// Runs the demonstration: sets it up, runs the story, and cleans up.
struct Demo {
  private let options: DemoOptions

  init(_ options: DemoOptions) { self.options = options }

  /// Runs it. Ends the process with 0 if every line ended as it must.
  func run() -> Never {
    let narrator = Narrator(options)
    let cast: Cast
    do {
      cast = try Cast(keeping: options.prepared)
    } catch {
      Terminal.complain("proof-demo: \(error)")
      Terminal.end(2)
    }
    narrator.isInterrupted = { cast.interruption.signal != nil }
    var failure: (any Error)?
    do {
      let story = Story(
        try World(cast, hardware: options.hardware), narrator, seed: options.seed)
      if options.prepared == nil { try story.play() } else { try story.prepare() }
    } catch {
      failure = error
    }
    let isWell = narrator.isWell && failure == nil && !narrator.isInterrupted()
    cast.end(keepingFolder: options.prepared != nil && isWell)
    if let signal = cast.interruption.signal { Terminal.end(128 + signal) }
    if options.prepared == nil || options.json || !isWell {
      narrator.end(seed: options.seed, after: failure)
    }
    if let failure { Terminal.complain("proof-demo: \(failure)") }
    Terminal.end(isWell ? 0 : 1)
  }
}

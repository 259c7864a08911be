import Console

/// The director: sets the stage, has the story played, and clears everything away.
struct Demo {
  private let options: DemoOptions

  init(_ options: DemoOptions) { self.options = options }

  /// Ends with 0 if every line ended as it must.
  func run() -> Never {
    let narrator = Narrator(options)
    let cast: Cast
    do {
      cast = try Cast(keeping: options.prepared)
    } catch {
      Terminal.complain("proof-demo: \(error)")
      Terminal.end(2)
    }
    var failure: (any Error)?
    do {
      let story = Story(
        try World(cast, hardware: options.hardware), narrator, seed: options.seed)
      if options.prepared == nil { try story.play() } else { try story.prepare() }
    } catch {
      failure = error
    }
    cast.end()
    if cast.interruption.signal == nil, options.prepared == nil || !narrator.isWell {
      narrator.end(seed: options.seed)
    }
    if let signal = cast.interruption.signal { Terminal.end(128 + signal) }
    if let failure { Terminal.complain("proof-demo: \(failure)") }
    Terminal.end(narrator.isWell && failure == nil ? 0 : 1)
  }
}

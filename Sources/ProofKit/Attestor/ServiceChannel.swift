import ProofModel

/// The connection to an account's service during one fetch, with the newest configuration and the
/// time left.
struct ServiceChannel {
  typealias Failure = AttestationExchange.Failure

  /// The service's answer to a request for a configuration: a newer one, or nothing new.
  struct Update: Sendable { let configuration: AccountConfiguration? }

  let transport: any Transport
  let initial: InitialConfiguration
  let cancellation: Cancellation
  let clock: AttestorClock
  /// The newest configuration.
  private(set) var configuration: AccountConfiguration?
  /// The newest configuration, if it is newer than the one at the beginning.
  private(set) var newConfiguration: AccountConfiguration?
  private var timeLeft: Duration

  init(
    _ transport: any Transport, _ initial: InitialConfiguration, held: AccountConfiguration?,
    timeLeft: Duration, clock: AttestorClock, cancellation: Cancellation
  ) {
    self.transport = transport
    self.initial = initial
    configuration = held
    self.timeLeft = timeLeft
    self.clock = clock
    self.cancellation = cancellation
  }

  /// Sends a message and returns an answer with status 200.
  mutating func post(_ path: String, _ body: [UInt8]) throws(Failure) -> TransportResponse {
    let response = try send("/v1/" + path, body)
    guard response.status == 200 else { throw Self.failure(response) }
    return response
  }

  /// Asks for a configuration newer than the one held, if there is one.
  mutating func updateConfiguration() throws(Failure) {
    let serial = configuration?.serial ?? 0
    let response = try send("/v1/config/\(initial.account)?serial=\(serial)", nil)
    if response.status == 204, configuration != nil { return }
    guard response.status == 200 else { throw Self.failure(response) }
    guard let text = String(validating: response.body, as: UTF8.self) else {
      throw Failure(.noService, "what answers is no configuration", .configuration)
    }
    do throws(AttestorError) {
      let update = try initial.update(text, held: configuration)
      if let configuration, update.serial == configuration.serial { return }
      configuration = update
      newConfiguration = update
    } catch {
      throw Failure(.noService, "the service's configuration was refused. \(error)", .configuration)
    }
  }

  private mutating func send(
    _ path: String, _ body: [UInt8]?
  ) throws(Failure) -> TransportResponse {
    guard timeLeft > .zero else { throw Failure(.poorNetwork, "the time for a fetch is over") }
    let request = TransportRequest(
      url: (configuration?.serviceURL ?? initial.serviceURL) + path, body: body,
      pins: configuration?.servicePins ?? [], timeout: timeLeft, cancellation: cancellation)
    let start = clock.uptime()
    defer { timeLeft -= clock.uptime() - start }
    do throws(TransportError) {
      return try transport.send(request)
    } catch {
      throw Failure(error)
    }
  }

  private static func failure(_ response: TransportResponse) -> Failure {
    var text = String(decoding: response.body.prefix(200), as: UTF8.self)[...]
    // Remove the line end that the service's text has.
    while text.last?.isWhitespace == true { text.removeLast() }
    let words = Observation.line(String(text))
    let reason = "the service answers with status \(response.status): \(words)"
    // Statuses by which the service refuses the request: a defect or a wrong set-up of this side.
    let isOurs = [400, 404, 405, 413].contains(response.status)
    return Failure(isOurs ? .internalError : .noService, reason, .status)
  }
}

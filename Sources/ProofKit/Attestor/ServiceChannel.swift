// SPDX-License-Identifier: Apache-2.0

import ProofModel

/// The connection to an account's service during one fetch, with the newest configuration and the
/// time left.
struct ServiceChannel {
  typealias Failure = AttestationExchange.Failure

  /// The service's answer to a request for a configuration: a newer one, or nothing new.
  struct Update: Sendable { let configuration: AccountConfiguration? }

  let way: Way
  let initial: InitialConfiguration
  let cancellation: Cancellation
  let clock: AttestorClock
  /// The newest configuration.
  private(set) var configuration: AccountConfiguration?
  /// The newest configuration, if it is newer than the one at the beginning.
  private(set) var newConfiguration: AccountConfiguration?
  private var timeLeft: Duration
  /// The address in use.
  private var place: ServicePlace
  /// Whether a request may take all of the time left: no other address comes after this one, or this
  /// one has answered.
  private var mayTakeAll = true
  /// Whether a round that lost its connection or its salt may begin anew: once in a fetch.
  private var mayRepeat = true
  /// Whether a report whose connection broke may be sent again as it is: once in a fetch.
  private var maySendAgain = true

  /// The way to the service.
  struct Way: Sendable {
    let transport: any Transport
    let route: ServiceRoute
    let places = ServicePlaces()
  }

  init(
    _ way: Way, _ initial: InitialConfiguration, held: AccountConfiguration?,
    timeLeft: Duration, clock: AttestorClock, cancellation: Cancellation
  ) {
    self.way = way
    self.initial = initial
    configuration = held
    self.timeLeft = timeLeft
    self.clock = clock
    self.cancellation = cancellation
    place = ServicePlace(initial.serviceURL)
  }

  // MARK: Addresses

  /// Runs a body with a configuration that lists the way's addresses, at one address after the other
  /// until one of them answers.
  ///
  /// A body that fails at an address begins anew at the next one, because each address may belong to
  /// a service with salts of its own.
  mutating func reach<Value>(
    _ body: (inout ServiceChannel) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    if configuration == nil || !isRegionKnown { try reachConfiguration() }
    guard isRegionKnown else { throw unknownRegion }
    if case .endpoint = way.route.destination, configuration?.servicePins.isEmpty != false {
      throw Failure(
        .internalError,
        "the account pins no key of its service, so none can be recognised at an "
          + "endpoint of the app's own: set them with `proofctl pin service`", .route)
    }
    return try reach(places, body)
  }

  /// Asks for a newer configuration, at one address after the other.
  mutating func reachConfiguration() throws(Failure) {
    try reach(places) { channel throws(Failure) in try channel.updateConfiguration() }
  }

  /// The addresses of the way. In a region that is not known yet they are those of home.
  private var places: [ServicePlace] {
    switch way.route.destination {
    case .endpoint(let endpoint):
      return [ServicePlace(endpoint.url, connectHost: endpoint.connectHost)]
    case .region(let region):
      let addresses = configuration.map { $0.addresses(in: region) ?? $0.serviceAddresses }
      return (addresses?.all ?? [initial.serviceURL]).map { ServicePlace($0) }
    }
  }

  private var isRegionKnown: Bool {
    guard case .region(let region) = way.route.destination else { return true }
    return region == .home || configuration?.addresses(in: region) != nil
  }

  private var unknownRegion: Failure {
    guard case .region(let region) = way.route.destination else {
      return Failure(.internalError, "no region", .route)
    }
    let known = [ServiceRegion.home.name] + (configuration?.regions.keys.sorted() ?? [])
    return Failure(
      .internalError,
      "the account has no region \(region), it has \(known.joined(separator: ", ")): use one of "
        + "these, or add the region with `proofctl config region`", .route)
  }

  private mutating func reach<Value>(
    _ places: [ServicePlace], _ body: (inout ServiceChannel) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    var places = way.places.ordered(places, at: clock.uptime())
    var failures: [(place: ServicePlace, failure: Failure)] = []
    while let next = places.first {
      place = next
      mayTakeAll = places.count == 1
      do throws(Failure) {
        let value = try body(&self)
        way.places.note(next, hasAnswered: true, at: clock.uptime())
        return value
      } catch {
        if error.isWorthAnotherRound, mayRepeat {
          // Begin anew once after a lost connection or a used salt, because the first salt is spent.
          mayRepeat = false
          continue
        }
        guard error.isOfAddress, !cancellation.isCancelled else { throw error }
        way.places.note(next, hasAnswered: false, at: clock.uptime())
        failures.append((next, error))
        places.removeFirst()
      }
    }
    throw Failure.all(failures)
  }

  /// Sends a message and returns an answer with status 200.
  mutating func post(_ path: String, _ body: [UInt8]) throws(Failure) -> TransportResponse {
    let response = try send("/v1/" + path, body)
    guard response.status == 200 else { throw Self.failure(response) }
    return response
  }

  /// Sends a report. If the connection breaks, the service may have judged it: the same bytes then get the same answer,
  /// and the salt is not lost.
  mutating func send(report: [UInt8]) throws(Failure) -> TransportResponse {
    do throws(Failure) {
      return try post("report", report)
    } catch {
      guard error.isWorthAnotherRound, maySendAgain else { throw error }
      maySendAgain = false
      return try post("report", report)
    }
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
    do throws(SetupError) {
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
    var request = TransportRequest(
      url: place.url + path, body: body, pins: configuration?.servicePins ?? [],
      timeout: mayTakeAll ? timeLeft : timeLeft / 2, cancellation: cancellation)
    request.connectHost = place.connectHost
    request.addressFamily = way.route.addressFamily
    let start = clock.uptime()
    defer { timeLeft -= clock.uptime() - start }
    do throws(TransportError) {
      let response = try way.transport.send(request)
      mayTakeAll = true
      return response
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
    // A service that limits this app's rate is at work: another address must not get around that.
    return Failure(
      isOurs ? .internalError : .noService, reason, .status, isFinal: response.status == 429)
  }
}

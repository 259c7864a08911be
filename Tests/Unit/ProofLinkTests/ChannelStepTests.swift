// SPDX-License-Identifier: Apache-2.0

import LinkBench
import LinkSimulation
import ProofModel
import Testing

@testable import ProofLink

extension BenchTests {
  /// Exchanges that begin with the channel of the call before.
  @Suite("A channel, step by step")
  struct ChannelStepTests {
    private let bench: Bench
    private let token: MeasurementToken
    private let channel: CommandChannel

    /// Sends one sealed command, after which the hardware has opened a channel.
    init() throws {
      let bench = try Bench(seed: 36)
      bench.seal()
      bench.keepChannels()
      let token = try bench.token(permitsChannel: true)
      let secrets = bench.secrets
      let (instance, hardware, digest) = (bench.instance, bench.identity.id, token.digest)
      let app = LinkApp(
        prove: { _ throws(LinkError) in throw .notMeasured(.storageFailed) },
        proveSealed: { challenge throws(LinkError) in
          do throws(ProofError) {
            return try ProvedCommand(
              Command("open", class: 0), proving: .integrity, from: instance, to: hardware,
              answering: challenge, of: digest, with: secrets)
          } catch { throw .notMeasured(error) }
        },
        receipt: { answer throws(ProofError) in try token.receipt(of: answer, with: secrets) })
      var model = LinkModel(bench, faults: LinkFaults(), seed: 1)
      var exchange = LinkExchange(
        LinkRequest(.command(after: nil), token: token, isHeld: false, seals: true))
      _ = try model.play(&exchange, of: app).get()
      let opened = exchange.channel
      channel = try #require(opened)
      (self.bench, self.token) = (bench, token)
    }

    private func exchange(_ task: LinkTask) -> LinkExchange {
      LinkExchange(
        LinkRequest(
          task, token: token, isHeld: true, link: OpenLink(mtu: 185, table: LinkPair.table),
          seals: true, sealHandle: 25, channel: channel))
    }

    @Test("serves the next command at once, and no other one")
    func next() throws {
      var exchange = exchange(.command(after: nil))
      let begun = exchange.start()
      guard case .sealNext(let used)? = begun.last, begun.count == 1 else {
        Issue.record("\(begun)")
        return
      }
      let (isInChannel, isOver) = (exchange.isInChannel, exchange.channel == nil)
      #expect(used.counter == channel.counter && isInChannel && isOver)
    }

    @Test("ends with the question about an open command, after which a challenge is read")
    func recalled() throws {
      let open = ProvedCommand(
        Command("open", class: 0), proving: .integrity, from: bench.instance,
        to: bench.identity.id,
        answering: try Challenge(counter: 7, bytes: [UInt8](repeating: 3, count: 32)),
        with: bench.secrets)
      var exchange = exchange(.command(after: open.recall))
      let asked = LinkPair.sent(exchange.start())
      #expect(!asked.isEmpty && asked.allSatisfy { $0.starts(with: [0x52, 17, 0]) })
      let isOver = exchange.channel == nil
      #expect(isOver)
      let answer = Answer(.notExecuted, counter: 7, to: open.nonce, with: bench.secrets)
      let packet = try answer.message.packets(of: 182)[0]
      let read = LinkPair.sent(exchange.handle(.received([0x1B, 10, 0] + packet)))
      #expect(read == [[0x0A, 25, 0]])
    }

    @Test("is left alone by what reads, and ends with a token or an order")
    func others() throws {
      let order = try Order(.epoch(bench.identity.id), issued: 1_720_000_000)
        .signed(by: bench.issuer)
      for (task, isKept) in [
        (LinkTask.connect, true), (.status, true), (.reply, true), (.present, false),
        (.order(order), false),
      ] {
        var exchange = exchange(task)
        _ = exchange.start()
        let isLeft = exchange.channel != nil
        #expect(isLeft == isKept, "\(task)")
      }
      var lost = exchange(.status)
      _ = lost.start()
      _ = lost.handle(.disconnected)
      let isOver = lost.channel == nil
      #expect(isOver)
    }
  }
}

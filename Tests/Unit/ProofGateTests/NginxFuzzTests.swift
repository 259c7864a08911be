// SPDX-License-Identifier: Apache-2.0

import SeededRandom
import Testing

@testable import ProofGate

/// The reader and the check of nginx configurations, with mutated input: they never trap, and end.
@Suite struct NginxFuzzTests {
  private static let text = """
    http { proxy_cache off; add_header A b always; large_client_header_buffers 4 8k;
      server { listen 443 ssl; location / { auth_request /gate; satisfy all;
          auth_request_set $v $upstream_http_proof_verdict; add_header Proof-Time $t always;
          proxy_pass http://unix:/run/api:/x; proxy_set_header Proof-Verdict "$v"; if ($a = 'b') { return 1; }
          location /open { auth_request off; rewrite ^ /x; } }
        location = /gate { internal; proxy_pass http://gate/judge; proxy_pass_request_body off;
          proxy_set_header X-Original-URI $request_uri; proxy_buffer_size 2k; }
        location ~ "^/a{2}$" { content_by_lua_block { x = { "}" } --[[ } ]] } grpc_pass grpc://b; } } }
    """

  @Test("Configurations of any form are read or refused, and judged")
  func configurations() {
    let main = Array(Self.text.utf8)
    let bases = [main, Array("include a*; location / { auth_request /; } ${{\\".utf8)]
    var mutator = Mutator("nginx")
    var read = 0
    for round in 0..<Mutator.rounds {
      // The first configuration is as it is, so that one is read in any case.
      let parts =
        round == 0 ? bases : [mutator.mutant(of: bases), mutator.mutant(of: bases)]
      var next = 0
      let files = try? NginxFiles("nginx.conf") { path throws(NginxSyntaxError) in
        next += 1
        return [NginxFiles.Part(name: path, bytes: parts[min(next, 2) - 1])]
      }
      guard let files else { continue }
      read += 1
      for finding in NginxCheck.findings(in: files) {
        #expect(!finding.description.utf8.contains { $0 < 0x20 })
      }
    }
    #expect(read > 0, "some of the inputs can be read")
  }
}

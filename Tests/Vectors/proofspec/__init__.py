# SPDX-License-Identifier: Apache-2.0

"""The protocol of docs/SPEC.md, written a second time, from that page alone.

Read it in the order in which the page goes:

    basics       section 1, 2    integers, labels, KDF
    curves       section 8, 9    X25519, sealed box, Ed25519
    keys         section 3       MPK, DPK, issuers, diversified secrets
    evidence     section 4       records
    config       section 5       the configuration's bytes
    baseline     section 5       leaves, wrapping, making a configuration
    measurement  section 6       IM, DPK, DM
    proof        section 7       proof, nonce, receipt, recall tag
    token        section 8
    order        section 9
    message      section 10      messages
    hardware     section 10      what the hardware does
    frame        section 11
    stored       section 12
    gate         section 15      keys, accounts, beacons, base64url
    gate_token   section 15
    request      section 15      the digest of a request
    compact      section 15      the token of requests and events
    refusals     section 15      their numbers

It is a model to compare with: clear, slow, and not constant-time except where secrets are compared.
"""

// SPDX-License-Identifier: Apache-2.0

// Does for other programs what ProofJOSE does, by its public interface alone: one JSON object comes in
// on each line, one goes out.

serve()

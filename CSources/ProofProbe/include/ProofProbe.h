/// ProofProbe: evidence of a live Linux app and its device, for ProofCore to fold. In the order of the data.

#ifndef PROOFPROBE_H
#define PROOFPROBE_H

#include "probe_result.h"
#include "hash.h"
#include "files.h"
#include "sources.h"
#include "storage.h"
#include "probe.h"
#include "diagnosis.h"

#endif

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Takes out the core's defences one by one and sees to it that a test notices each time.
exec python3 "$(dirname "$0")/run.py" "$@"

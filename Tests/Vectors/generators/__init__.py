# SPDX-License-Identifier: Apache-2.0

"""Files that generate.py writes, a module per group of files."""

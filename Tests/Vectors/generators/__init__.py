"""Files that generate.py writes, a module per group of files."""

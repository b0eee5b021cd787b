"""The sections of the report, a file each, in the order of reading."""

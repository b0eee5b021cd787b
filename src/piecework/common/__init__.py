"""What every package uses: exact fractions, files and storage, messages about mistakes, shared terms."""

"""A study from its documents to its results: stages in order, each done only where its inputs have changed."""

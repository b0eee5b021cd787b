"""A study from documents to results: stages in order, each run only if its inputs have changed."""

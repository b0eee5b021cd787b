"""Documents in: which files, in what format, and the text that they hold."""

from piecework.corpus.inputs import InputFile, Slice, find_files
from piecework.corpus.readers import Batch, Documents, open_batches
from piecework.corpus.skipped import Reason, Skipped

__all__ = ["Batch", "Documents", "InputFile", "Reason", "Skipped", "Slice", "find_files", "open_batches"]

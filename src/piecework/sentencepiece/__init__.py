"""A drop-in for the Python package `sentencepiece`, for BPE: change the import, and results stay the same.

    from piecework.sentencepiece import SentencePieceTrainer, SentencePieceProcessor

Sampling, n-best lists and models other than BPE are not here; what is not here raises NotImplementedError. Of the
package's other names, such as `SentencePieceNormalizer`, none is here.
"""

from piecework.sentencepiece.processor import SentencePieceProcessor
from piecework.sentencepiece.trainer import SentencePieceTrainer, TrainedModel, train_model

__all__ = ["SentencePieceProcessor", "SentencePieceTrainer", "TrainedModel", "train_model"]

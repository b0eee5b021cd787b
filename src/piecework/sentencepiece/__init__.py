"""A drop-in for the Python package `sentencepiece`, for BPE: change the import, and results stay the same.

    from piecework.sentencepiece import SentencePieceTrainer, SentencePieceProcessor

Sampling, n-best lists and models other than BPE are not supported, and raise NotImplementedError. The package's other
names, such as `SentencePieceNormalizer`, do not exist here.
"""

from piecework.sentencepiece.processor import SentencePieceProcessor
from piecework.sentencepiece.trainer import SentencePieceTrainer, TrainedModel, train_model

__all__ = ["SentencePieceProcessor", "SentencePieceTrainer", "TrainedModel", "train_model"]

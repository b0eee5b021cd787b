"""What `encode` puts around the tokens of a text: start, end, reversed order, a piece for unknown text."""

from __future__ import annotations

from piecework.sentencepiece.loaded_model import LoadedModel

__all__ = ["EncodeOptions"]


class EncodeOptions:
    """The options of one call."""

    def __init__(self, *, add_bos: bool, add_eos: bool, reverse: bool, emit_unk_piece: bool) -> None:
        for option in (add_bos, add_eos, reverse, emit_unk_piece):
            if not hasattr(type(option), "__bool__"):  # as of `encode(text, str)`, where the type is meant
                raise TypeError(f"{option!r} is neither true nor false; name the type: out_type={option!r}")
        self._add_bos, self._add_eos, self._reverse, self._emit_unk_piece = add_bos, add_eos, reverse, emit_unk_piece

    @property
    def any(self) -> bool:
        """Whether any option is set."""
        return self._add_bos or self._add_eos or self._reverse or self._emit_unk_piece

    def around(self, ids: list[int], processor: LoadedModel) -> list[int]:
        """The ids with those of the start and the end."""
        before = [self._id(processor.bos_id(), "start")] if self._add_bos else []
        after = [self._id(processor.eos_id(), "end")] if self._add_eos else []
        return [*before, *(reversed(ids) if self._reverse else ids), *after]

    def around_pieces(self, pieces: list[str], processor: LoadedModel) -> list[str]:
        """The same with pieces, where the unknown piece can stand for unknown text."""
        if self._emit_unk_piece:
            unknown = processor.unk_id()
            text = processor.id_to_piece(unknown)
            pieces = [text if processor.piece_to_id(piece) == unknown else piece for piece in pieces]
        before, after = (self._id_pieces(processor, each) for each in ("start", "end"))
        return [*before, *(reversed(pieces) if self._reverse else pieces), *after]

    def _id_pieces(self, processor: LoadedModel, which: str) -> list[str]:
        is_wanted = self._add_bos if which == "start" else self._add_eos
        number = processor.bos_id() if which == "start" else processor.eos_id()
        return [processor.id_to_piece(self._id(number, which))] if is_wanted else []

    def _id(self, number: int, which: str) -> int:
        if number < 0:
            raise ValueError(f"the model has no control piece for the {which} of a sentence")
        return number

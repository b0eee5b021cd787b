"""The requests that the page may send, with their limits, and the function that reads one."""

from __future__ import annotations

import asyncio
from typing import TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import ClientDisconnect, Request

__all__ = [
    "MAX_CHARACTERS",
    "MAX_LANES",
    "CutsRequest",
    "EncodeRequest",
    "EstimatesRequest",
    "MergesRequest",
    "RequestError",
    "VocabularyRequest",
    "read_request",
]

from piecework.playground.vocabulary import Search

MAX_CHARACTERS = 100_000
MAX_LANES = 4
# 100,000 characters usually take a few hundred thousand bytes; in JSON a control character takes six.
MAX_BYTES = 1_000_000
# A body that is too large is read and dropped up to this size: a browser that is still sending shows no answer.
MAX_BYTES_DROPPED = 64_000_000
READING_S = 15.0

Name = Field(min_length=1, max_length=200)


class RequestError(Exception):
    """A refused request: the status and a message for the person."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class LaneChoice(_Request):
    """A tokenizer, at its full size or a smaller one."""

    tokenizer: str = Name
    vocab_size: int | None = Field(default=None, ge=1)


class EncodeRequest(_Request):
    """Encode a text in some lanes."""

    text: str
    lanes: list[LaneChoice] = Field(max_length=MAX_LANES)


class CutsRequest(_Request):
    """The token boundaries of a text at every size."""

    text: str
    tokenizer: str = Name


class MergesRequest(_Request):
    """The merges of the word at an offset, in UTF-16 units."""

    text: str
    tokenizer: str = Name
    at: int = Field(ge=0)


class EstimatesRequest(_Request):
    """The estimates on the evaluation set at a size, with curves on request."""

    tokenizer: str = Name
    metric: str = Name
    vocab_size: int = Field(ge=1)
    curves: bool = False


class VocabularyRequest(_Request):
    """A page of search results in a vocabulary."""

    tokenizer: str = Name
    search: Search = Search()


Kind = TypeVar("Kind", bound=BaseModel)


async def read_request(request: Request, kind: type[Kind]) -> Kind:
    """The request's JSON, or a RequestError that says what is wrong with it."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestError(415, "the request must be of type application/json")
    try:
        async with asyncio.timeout(READING_S):
            body = await _read(request)
    except TimeoutError:
        raise RequestError(408, f"the request did not arrive within {READING_S:.0f} seconds") from None
    except ClientDisconnect:
        raise RequestError(400, "the request was cut short") from None
    try:
        content = orjson.loads(body)
        found = kind.model_validate(content)
    except orjson.JSONDecodeError as error:
        raise RequestError(400, f"the request is not valid JSON: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the request"
        raise RequestError(400, f"{where}: {first['msg']}") from None
    text = getattr(found, "text", "")
    if len(text) > MAX_CHARACTERS:
        raise RequestError(413, f"a text of {len(text):,} characters; the playground takes up to {MAX_CHARACTERS:,}")
    return found


async def _read(request: Request) -> bytes:
    body = bytearray()
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size <= MAX_BYTES:
            body += chunk
        elif size > MAX_BYTES_DROPPED:
            break
        else:
            body.clear()
    if size > MAX_BYTES:
        raise RequestError(
            413, f"a request of more than {MAX_BYTES:,} bytes; a text may have {MAX_CHARACTERS:,} characters"
        )
    return bytes(body)

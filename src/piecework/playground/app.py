"""The web application: serves the page and answers its requests."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
import orjson
from anyio import CapacityLimiter, to_thread
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

import piecework
from piecework.errors import InputError, PieceworkError
from piecework.playground import requests
from piecework.playground.catalogue import Catalogue, LaneTokenizer, NativeTokenizer
from piecework.playground.estimates import EstimateStore
from piecework.playground.guard import Access, Guard
from piecework.playground.lanes import Utf16Offsets, cut_columns, lane
from piecework.playground.merges import word_merges
from piecework.playground.requests import RequestError, read_request
from piecework.playground.samples import samples
from piecework.playground.vocabulary import VocabularyBrowser

__all__ = ["PAGE_FILES", "make_app"]

logger = logging.getLogger(__name__)

TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
ANSWERING_S = 120.0
KEPT_VOCABULARIES = 6


def _page_files() -> dict[str, tuple[bytes, str]]:
    """Every file of the page, read once: a request is looked up by name and never opens a file."""
    folder = resources.files("piecework.playground") / "page"
    files = {file.name: file for file in folder.iterdir()}
    return {
        name: (file.read_bytes(), TYPES[name.rpartition(".")[2]])
        for name, file in sorted(files.items())
        if name.rpartition(".")[2] in TYPES
    }


PAGE_FILES = _page_files()


def make_app(catalogue: Catalogue, access: Access) -> ASGIApp:
    """The application for these tokenizers; `access` decides who may use it."""
    answers = Answers(catalogue)
    # Each encoding thread keeps a cache of 8 MB per tokenizer, so threads are few. Evaluations of a whole study have
    # threads of their own: typing never waits for them.
    quick, slow = CapacityLimiter(3), CapacityLimiter(2)
    starlette = Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Route("/page/{name}", _page, methods=["GET"]),
            Route("/api/about", _answered(None, lambda _: answers.about(), quick), methods=["GET"]),
            Route("/api/encode", _answered(requests.EncodeRequest, answers.encode, quick), methods=["POST"]),
            Route("/api/cuts", _answered(requests.CutsRequest, answers.cuts, quick), methods=["POST"]),
            Route("/api/merges", _answered(requests.MergesRequest, answers.merges, quick), methods=["POST"]),
            Route("/api/estimates", _answered(requests.EstimatesRequest, answers.estimates, slow), methods=["POST"]),
            Route("/api/vocabulary", _answered(requests.VocabularyRequest, answers.vocabulary, slow), methods=["POST"]),
        ],
        exception_handlers={404: _not_found, 405: _not_found},
    )
    return Guard(starlette, access)


async def _page(request: Request) -> Response:
    found = PAGE_FILES.get(request.path_params.get("name", "index.html"))
    if found is None:
        return await _not_found(request, None)
    content, media_type = found
    return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})


async def _not_found(_: Request, __: Exception | None) -> Response:
    return _json({"error": "not found; the playground is at /"}, status=404)


def _answered(
    kind: type[BaseModel] | None, answer: Callable[[Any], Mapping[str, Any]], limiter: CapacityLimiter
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint: reads the request, computes in a thread, and returns errors as messages for a person."""

    async def endpoint(request: Request) -> Response:
        try:
            asked = await read_request(request, kind) if kind else None
            async with asyncio.timeout(ANSWERING_S):
                return _json(await to_thread.run_sync(answer, asked, limiter=limiter))
        except RequestError as error:
            refused = _json({"error": str(error)}, status=error.status)
            if error.status in (408, 413):
                refused.headers["Connection"] = "close"  # or the rest of the body would be read for ever
            return refused
        except PieceworkError as error:
            return _json({"error": str(error)}, status=400)
        except TimeoutError:
            return _json({"error": f"no answer within {ANSWERING_S:.0f} seconds"}, status=503)
        except Exception:
            logger.exception("%s %s", request.method, request.url.path)
            return _json({"error": "the playground failed; start it with -v to see where"}, status=500)

    return endpoint


def _json(content: Mapping[str, Any], *, status: int = 200) -> Response:
    data = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
    return Response(data, status_code=status, media_type="application/json")


class Answers:
    """The answers to the requests of the page, for one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._estimates = EstimateStore(catalogue)
        self._vocabularies: OrderedDict[str, VocabularyBrowser] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def _about(self) -> dict[str, Any]:
        study = self._catalogue.study
        return {
            "version": piecework.__version__,
            "study": study.name if study is not None else None,
            "tokenizers": self._catalogue.names,
            "paths": {name: self._catalogue.path(name) for name in self._catalogue.names},
            "with_estimates": [name for name in self._catalogue.names if self._estimates.available(name)],
            "known": self._catalogue.known,
            "samples": samples(study) if study is not None else [],
            "metrics": [
                {"name": each.name, "title": each.title, "formula": each.formula, "direction": each.direction}
                for each in self._estimates.metrics
            ],
            "max_characters": requests.MAX_CHARACTERS,
            "max_lanes": requests.MAX_LANES,
        }

    def about(self) -> Mapping[str, Any]:
        """The tokenizers, metrics and limits."""
        return self._about

    def encode(self, asked: requests.EncodeRequest) -> Mapping[str, Any]:
        """The tokens of a text in each lane; a lane that fails has an error, the others are not affected."""
        offsets = Utf16Offsets(asked.text)
        return {"lanes": [self._lane(choice, asked.text, offsets) for choice in asked.lanes]}

    def _lane(self, choice: requests.LaneChoice, text: str, offsets: Utf16Offsets) -> Mapping[str, Any]:
        try:
            tokenizer = self._catalogue[choice.tokenizer]
            smallest = tokenizer.smallest if isinstance(tokenizer, NativeTokenizer) else None
            details = {
                "tokenizer": choice.tokenizer,
                "full_size": tokenizer.vocab_size,
                "smallest": smallest,
                "has_merges": isinstance(tokenizer, NativeTokenizer),
            }
            if choice.vocab_size is not None:
                tokenizer = self._catalogue.native(choice.tokenizer).resized(choice.vocab_size)
            return {**details, **lane(tokenizer, text, offsets)}
        except PieceworkError as error:
            return {"tokenizer": choice.tokenizer, "error": str(error)}

    def cuts(self, asked: requests.CutsRequest) -> Mapping[str, Any]:
        """The token boundaries of a text at every size."""
        sized = self._catalogue.native(asked.tokenizer).sized()
        return cut_columns(sized, asked.text, Utf16Offsets(asked.text))

    def merges(self, asked: requests.MergesRequest) -> Mapping[str, Any]:
        """The merges of the word at an offset."""
        tokenizer = self._catalogue.native(asked.tokenizer)
        offsets = Utf16Offsets(asked.text).convert(np.arange(len(asked.text)))
        at = int(np.searchsorted(offsets, asked.at, side="right")) - 1
        word = word_merges(tokenizer, asked.text, at=at, frequencies=self._catalogue.frequencies(asked.tokenizer))
        return asdict(word)

    def estimates(self, asked: requests.EstimatesRequest) -> Mapping[str, Any]:
        """The estimates on the evaluation set at one size."""
        found = self._estimates.get(asked.tokenizer)
        if asked.metric not in {metric.name for metric in self._estimates.metrics}:
            raise InputError(f'no metric "{asked.metric}" with an estimate at every size')
        if not found.curves:
            raise InputError(f'"{asked.tokenizer}" has no smaller sizes')
        answer: dict[str, Any] = {
            "estimates": found.at(asked.metric, asked.vocab_size),
            "without_spaces": found.left_out(asked.metric),
        }
        if asked.curves:
            answer["curves"] = found.curve_points(asked.metric)
        return answer

    def vocabulary(self, asked: requests.VocabularyRequest) -> Mapping[str, Any]:
        """A page of the vocabulary."""
        browser = self._browser(asked.tokenizer)
        return {**browser.search(asked.search), "groups": browser.groups, "languages": browser.languages}

    def _browser(self, name: str) -> VocabularyBrowser:
        with self._lock:
            found = self._vocabularies.get(name)
        if found is None:
            tokenizer = self._catalogue[name]
            found = self._browser_with_use(name, tokenizer) or VocabularyBrowser(tokenizer)
        with self._lock:
            self._vocabularies[name] = found
            self._vocabularies.move_to_end(name)
            while len(self._vocabularies) > KEPT_VOCABULARIES:
                self._vocabularies.popitem(last=False)
        return found

    def _browser_with_use(self, name: str, tokenizer: LaneTokenizer) -> VocabularyBrowser | None:
        """With the use of each piece, if the counts are of the kind that the tokenizer takes."""
        if not isinstance(tokenizer, NativeTokenizer) or not self._estimates.available(name):
            return None
        try:
            estimates = self._estimates.get(name)
        except InputError:
            return None
        return VocabularyBrowser(tokenizer, use=estimates.use, languages=estimates.languages)

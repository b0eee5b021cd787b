"""The application: the page and its files, and the answers to what it asks."""

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
from piecework.playground.catalogue import Catalogue, NativeTokenizer
from piecework.playground.figures import FiguresOfAll
from piecework.playground.guard import Access, Guard
from piecework.playground.lanes import Utf16Places, cut_columns, lane
from piecework.playground.merges import word_merges
from piecework.playground.requests import RequestError, read_request
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
    """Every file of the page, read once: what a client asks for is looked up here and never opened."""
    folder = resources.files("piecework.playground") / "page"
    files = {file.name: file for file in folder.iterdir()}
    return {
        name: (file.read_bytes(), TYPES[name.rpartition(".")[2]])
        for name, file in sorted(files.items())
        if name.rpartition(".")[2] in TYPES
    }


PAGE_FILES = _page_files()


def make_app(catalogue: Catalogue, access: Access) -> ASGIApp:
    """The application for these tokenizers, open to those whom `access` lets in."""
    answers = Answers(catalogue)
    # Each thread that encodes keeps a cache of 8 MB for each tokenizer. What may evaluate a whole study waits apart, so
    # that nobody's typing waits for it.
    quick, slow = CapacityLimiter(3), CapacityLimiter(2)
    starlette = Starlette(
        routes=[
            Route("/", _page, methods=["GET"]),
            Route("/page/{name}", _page, methods=["GET"]),
            Route("/api/about", _answered(None, lambda _: answers.about(), quick), methods=["GET"]),
            Route("/api/encode", _answered(requests.EncodeRequest, answers.encode, quick), methods=["POST"]),
            Route("/api/cuts", _answered(requests.CutsRequest, answers.cuts, quick), methods=["POST"]),
            Route("/api/merges", _answered(requests.MergesRequest, answers.merges, quick), methods=["POST"]),
            Route("/api/figures", _answered(requests.FiguresRequest, answers.figures, slow), methods=["POST"]),
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
    return _json({"error": "there is nothing here; the playground is at /"}, status=404)


def _answered(
    kind: type[BaseModel] | None, answer: Callable[[Any], Mapping[str, Any]], limiter: CapacityLimiter
) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint: reads the request, computes in a thread, and tells the page plainly what went wrong."""

    async def endpoint(request: Request) -> Response:
        try:
            asked = await read_request(request, kind) if kind else None
            async with asyncio.timeout(ANSWERING_S):
                return _json(await to_thread.run_sync(answer, asked, limiter=limiter))
        except RequestError as error:
            refused = _json({"error": str(error)}, status=error.status)
            if error.status in (408, 413):
                refused.headers["Connection"] = "close"  # or what is still being sent would be read for ever
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
    """What the page can ask, and the answers, for one catalogue."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._figures = FiguresOfAll(catalogue)
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
            "with_figures": [name for name in self._catalogue.names if self._figures.available(name)],
            "metrics": [
                {"name": each.name, "title": each.title, "formula": each.formula, "direction": each.direction}
                for each in self._figures.metrics
            ],
            "most_characters": requests.MOST_CHARACTERS,
            "most_lanes": requests.MOST_LANES,
        }

    def about(self) -> Mapping[str, Any]:
        """What there is to choose from."""
        return self._about

    def encode(self, asked: requests.EncodeRequest) -> Mapping[str, Any]:
        """The tokens of a text in each lane; a lane that fails says why, and the others are there."""
        places = Utf16Places(asked.text)
        return {"lanes": [self._lane(choice, asked.text, places) for choice in asked.lanes]}

    def _lane(self, choice: requests.LaneChoice, text: str, places: Utf16Places) -> Mapping[str, Any]:
        try:
            shown = self._catalogue[choice.tokenizer]
            smallest = shown.smallest if isinstance(shown, NativeTokenizer) else None
            details = {
                "tokenizer": choice.tokenizer,
                "full_size": shown.vocab_size,
                "smallest": smallest,
                "has_merges": isinstance(shown, NativeTokenizer),
            }
            if choice.vocab_size is not None:
                shown = self._catalogue.native(choice.tokenizer).resized(choice.vocab_size)
            return {**details, **lane(shown, text, places)}
        except PieceworkError as error:
            return {"tokenizer": choice.tokenizer, "error": str(error)}

    def cuts(self, asked: requests.CutsRequest) -> Mapping[str, Any]:
        """Where a text is cut at every size."""
        sized = self._catalogue.native(asked.tokenizer).sized()
        return cut_columns(sized, asked.text, Utf16Places(asked.text))

    def merges(self, asked: requests.MergesRequest) -> Mapping[str, Any]:
        """How the word at a place came about."""
        shown = self._catalogue.native(asked.tokenizer)
        places = Utf16Places(asked.text).of(np.arange(len(asked.text)))
        at = int(np.searchsorted(places, asked.at, side="right")) - 1
        word = word_merges(shown, asked.text, at=at, frequencies=self._catalogue.frequencies(asked.tokenizer))
        return asdict(word)

    def figures(self, asked: requests.FiguresRequest) -> Mapping[str, Any]:
        """The figures of the evaluation set at one size."""
        found = self._figures.of(asked.tokenizer)
        if asked.metric not in {metric.name for metric in self._figures.metrics}:
            raise InputError(f'no metric "{asked.metric}" with a figure at every size')
        if not found.curves:
            raise InputError(f'"{asked.tokenizer}" has no smaller sizes')
        answer: dict[str, Any] = {"figures": found.at(asked.metric, asked.vocab_size)}
        if asked.curves:
            answer["curves"] = found.drawn(asked.metric)
        return answer

    def vocabulary(self, asked: requests.VocabularyRequest) -> Mapping[str, Any]:
        """A page of the vocabulary."""
        browser = self._browser(asked.tokenizer)
        return {**browser.search(asked.search), "groups": browser.groups, "languages": browser.languages}

    def _browser(self, name: str) -> VocabularyBrowser:
        with self._lock:
            found = self._vocabularies.get(name)
        if found is None:
            shown = self._catalogue[name]
            if isinstance(shown, NativeTokenizer) and self._figures.available(name):
                figures = self._figures.of(name)
                found = VocabularyBrowser(shown, use=figures.use, languages=figures.languages)
            else:
                found = VocabularyBrowser(shown)
        with self._lock:
            self._vocabularies[name] = found
            self._vocabularies.move_to_end(name)
            while len(self._vocabularies) > KEPT_VOCABULARIES:
                self._vocabularies.popitem(last=False)
        return found

"""Trains with the SentencePiece that this process imports.

Each line of stdin is a request, and each line of stdout is its answer.
"""

import base64
import io
import json
import sys

import sentencepiece


def answer(request: dict[str, object]) -> dict[str, str]:
    model = io.BytesIO()
    arguments = dict(request["arguments"])  # type: ignore[call-overload]
    if (lines := request["lines"]) is not None:
        arguments["sentence_iterator"] = iter([base64.b64decode(line) for line in lines])  # type: ignore[attr-defined]
    try:
        sentencepiece.SentencePieceTrainer.train(model_writer=model, minloglevel=2, **arguments)
    except (RuntimeError, ValueError, OSError) as error:
        return {"error": str(error)}
    return {"model": base64.b64encode(model.getvalue()).decode()}


if __name__ == "__main__":
    print(sentencepiece.__version__, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)

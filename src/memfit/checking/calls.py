"""One training call of a script, and its check against the budget."""

from __future__ import annotations

import linecache
import sys
from dataclasses import dataclass
from typing import Any

from memfit.checking.data import Feed, describe
from memfit.checking.outlook import Outlook
from memfit.device.worker import of_the_user
from memfit.errors import BadInput
from memfit.estimation.result import Estimate
from memfit.estimation.run import double, trace_built
from memfit.remedies import Situation


@dataclass(frozen=True)
class Call:
    """Where the script calls for training."""

    method: str
    file: str
    line: int
    code: str


def called_from(method: str) -> Call:
    """The innermost line of the user's own code on the stack."""
    frame = sys._getframe(1)
    while frame.f_back is not None and not of_the_user(frame.f_code.co_filename):
        frame = frame.f_back
    file, line = frame.f_code.co_filename, frame.f_lineno
    return Call(method, file, line, _statement(file, line))


def outlook_of_fit(model: Any, arguments: dict[str, Any], call: Call, budget: int, tensors: int) -> Outlook:
    """What `model.fit(**arguments)` would take."""
    if not model.compiled:
        raise BadInput("fit was called on a model that is not compiled: call model.compile(optimizer, loss) first")
    feed = describe(arguments.get("x"), arguments.get("y"), arguments.get("batch_size"))
    check = _evaluation_feed(arguments, feed)
    with double(model) as twin:
        training = trace_built(twin, feed.batch, feed.x, feed.y, original=model).estimate(feed.batch)
        evaluation = None if check is None else _evaluation(twin, check, model)
    validated = check is not None and arguments.get("validation_data") is not None
    held = feed.held + (check.held if check is not None and validated else 0)
    return _outlook(model, call, budget, feed, held, tensors, training, evaluation)


def outlook_of_evaluation(model: Any, arguments: dict[str, Any], call: Call, budget: int, tensors: int) -> Outlook:
    """What `model.evaluate(**arguments)` would take."""
    feed = describe(arguments.get("x"), arguments.get("y"), arguments.get("batch_size"))
    with double(model) as twin:
        evaluation = _evaluation(twin, feed, model)
    return _outlook(model, call, budget, feed, feed.held, tensors, None, evaluation)


def _evaluation(twin: Any, feed: Feed, model: Any) -> Estimate:
    return trace_built(twin, feed.batch, feed.x, feed.y, "test_step", original=model).estimate(feed.batch)


def _outlook(
    model: Any,
    call: Call,
    budget: int,
    feed: Feed,
    held: int,
    tensors: int,
    training: Estimate | None,
    evaluation: Estimate | None,
) -> Outlook:
    shape, size = _largest_weight(model)
    situation = Situation(
        causes=(),
        call=call.code,
        batch=feed.batch,
        budget=budget,
        held=held + tensors,
        data=feed.data,
        shape=shape,
        bytes=size,
        dtype=feed.data.dtype,
        estimate=training,
        evaluation=evaluation,
    )
    return Outlook(
        situation,
        at_start=max(feed.at_start, held) + tensors,
        wide_model=any(str(variable.dtype) == "float64" for variable in model.trainable_variables),
        largest_embedding=_largest_embedding(model),
    )


def _evaluation_feed(arguments: dict[str, Any], feed: Feed) -> Feed | None:
    """What `fit` evaluates on after each epoch, if it does."""
    batch = arguments.get("validation_batch_size") or arguments.get("batch_size")
    given = arguments.get("validation_data")
    if given is not None:
        x, y = (given[0], given[1] if len(given) > 1 else None) if isinstance(given, tuple | list) else (given, None)
        return describe(x, y, batch)
    split = arguments.get("validation_split") or 0.0
    if not split or feed.samples is None:
        return None
    count = max(int(feed.samples * split), 1)
    return Feed(feed.x, feed.y, min(batch or feed.batch, count), feed.data, 0, 0, count)


def _largest_embedding(model: Any) -> int:
    tables = [layer for layer in model._flatten_layers() if type(layer).__name__ == "Embedding"]
    return max((sum(_bytes(weight) for weight in layer.weights) for layer in tables), default=0)


def _largest_weight(model: Any) -> tuple[tuple[int, ...] | None, int | None]:
    largest = max(model.weights, key=_bytes, default=None)
    return (None, None) if largest is None else (tuple(largest.shape), _bytes(largest))


def _bytes(weight: Any) -> int:
    import numpy as np

    return int(np.prod(weight.shape)) * int(np.dtype(str(weight.dtype).replace("bfloat16", "float16")).itemsize)


def _statement(file: str, line: int) -> str:
    """The source of the statement that begins at `line`, to its closing parenthesis."""
    text = ""
    for number in range(line, line + 40):
        text += linecache.getline(file, number)
        if text.count("(") <= text.count(")"):
            break
    return " ".join(text.split())

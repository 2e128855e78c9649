"""The verdict on a script: will it fit, what it takes, why not, and the lines that make it fit."""

from __future__ import annotations

from typing import Any

from memfit.show.diagnosis import EXACTNESS, TITLES
from memfit.sizes import format_size


def as_text(values: dict[str, Any]) -> str:
    lines = [headline(values), *_rows(values)]
    if values["causes"]:
        lines.append("")
        pairs = zip(values["causes"], values["evidence"], strict=True)
        lines += [f"  - {name}: {TITLES[name]}; {evidence}" for name, evidence in pairs]
        lines += _plan_lines(values["plan"])
    return "\n".join([*lines, *(f"note: {note}" for note in values["notes"])])


def headline(values: dict[str, Any]) -> str:
    call, budget = values["fit_call"], format_size(values["budget_bytes"])
    verdict = "fits in" if values["fits"] else "does not fit in"
    batch = "" if call["batch_size"] is None else f" with batch {call['batch_size']}"
    return f"{call['file']}, line {call['line']}: {call['method']}{batch} {verdict} {budget}"


def _rows(values: dict[str, Any]) -> list[str]:
    data = values["data"]
    rows = [("training", _step(values["estimate"])), ("evaluation", _step(values["evaluation"]))]
    if data is not None and data["bytes"]:
        times = {0: "not held by TensorFlow", 1: "held once", 2: "held twice at the start"}[min(data["copies"], 2)]
        rows.append(("data", f"{format_size(data['bytes'])} of {data['dtype']}, {times}"))
    elif data is not None:
        rows.append(("data", "comes batch by batch"))
    return [f"  {name:<10} {text}" for name, text in rows if text]


def _step(estimate: dict[str, Any] | None) -> str:
    if estimate is None:
        return ""
    peak, upper, needs = (format_size(estimate[f"{key}_bytes"]) for key in ("peak", "upper", "needs"))
    return f"about {peak}, under {upper}; needs {needs}, data not counted"


def _plan_lines(plan: dict[str, Any]) -> list[str]:
    lines = ["", "with these changes it fits:" if plan["fits"] else "what would help, though it may not be enough:"]
    for number, step in enumerate(plan["steps"], start=1):
        saves = "" if step["saves"] is None else f"saves {format_size(step['saves'])}; "
        lines += [f"{number}. {step['remedy']} ({saves}{EXACTNESS[step['exactness']]})", f"   {step['why']}"]
        lines += [f"     {line}" for line in step["code"].splitlines()]
    if plan["largest_batch"]:
        lines.append(f"largest batch that fits as it is: {plan['largest_batch']}")
    return lines

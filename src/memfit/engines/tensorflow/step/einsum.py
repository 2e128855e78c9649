"""Einsum transposes its operands and its product when their labels are not in the order that a matrix product wants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memfit.engines.tensorflow.step.shapes import Shape

BATCH, FREE, CONTRACT, REDUCE = 1, 2, 3, 4
SWAPPED = {BATCH: BATCH, FREE: CONTRACT, CONTRACT: FREE, REDUCE: REDUCE}


@dataclass
class Equation:
    operands: list[str]
    result: str

    @classmethod
    def parse(cls, text: str) -> Equation:
        left, _, right = text.replace(" ", "").partition("->")
        return cls(left.split(","), right)

    def order(self) -> dict[str, int]:
        return {label: k for k, label in enumerate(dict.fromkeys("".join(self.operands)))}

    def role(self, label: str) -> int:
        alone = sum(label in operand for operand in self.operands) == 1
        if label in self.result:
            return FREE if alone else BATCH
        return REDUCE if alone else CONTRACT

    def arranged(self, operand: str) -> str:
        """The operand's labels as the product wants them: its own order if that will do."""
        order = self.order()
        keys = [(SWAPPED[self.role(c)], order[c]) for c in operand]
        return operand if keys == sorted(keys) else "".join(sorted(operand, key=lambda c: (self.role(c), order[c])))

    def product(self) -> str:
        order = self.order()
        shared = sorted({c for o in self.operands for c in o if self.role(c) == BATCH}, key=lambda c: order[c])
        return "".join(shared) + "".join(c for o in self.operands for c in self.arranged(o) if self.role(c) == FREE)


def copied(text: str, inputs: list[Shape], output: Shape) -> list[Shape]:
    """What is transposed."""
    if "." in text:
        return []
    equation = Equation.parse(text)
    found = [
        shape
        for operand, shape in zip(equation.operands, inputs, strict=False)
        if equation.arranged(operand) != operand
    ]
    if len(inputs) == 2 and equation.product() != equation.result:
        found.append(output)
    return found


def temporaries(text: str, inputs: list[Shape], output: Shape) -> Callable[[int], list[int]] | None:
    shapes = copied(text, inputs, output)
    return (lambda batch: [shape.count(batch) * shape.width for shape in shapes]) if shapes else None


def multiplications(text: str, inputs: list[Shape]) -> tuple[int, ...]:
    """The dimensions whose product is the number of multiplications."""
    if "." in text:
        return ()
    dims = {
        label: d
        for operand, shape in zip(Equation.parse(text).operands, inputs, strict=False)
        for label, d in zip(operand, shape.dims, strict=False)
    }
    return tuple(dims.values())

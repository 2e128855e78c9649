"""float32 where float64 came in unasked."""

from __future__ import annotations

from memfit.remedies.calls import array_names
from memfit.remedies.remedy import Exactness, Remedy, Situation


class Float32(Remedy):
    name = "float32"
    exactness: Exactness = "numeric"
    against = ("wide_dtype",)

    def why(self, situation: Situation) -> str | None:
        wide = situation.data.dtype if situation.data is not None else situation.dtype
        return f"{wide or 'float64'} takes twice the memory of float32, which Keras computes in by default"

    def saves(self, situation: Situation) -> int | None:
        size = situation.data.held if situation.data is not None else situation.bytes
        return None if size is None else size // 2

    def code(self, situation: Situation) -> str:
        x, _ = array_names(situation.call)
        if situation.phase in ("forward", "backward", "building", "optimizer update", "evaluation"):
            return 'keras.config.set_floatx("float32")  # before the model is built'
        return f'{x} = {x}.astype("float32")  # or make it so: np.asarray(..., dtype="float32")'

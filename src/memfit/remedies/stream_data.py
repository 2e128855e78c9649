"""Hand the data over batch by batch instead of whole."""

from __future__ import annotations

from dataclasses import replace

from memfit.remedies.calls import about, array_names
from memfit.remedies.remedy import Exactness, Remedy, Situation

_CODE = """\
class Batches(keras.utils.PyDataset):
    def __init__(self, x, y, batch_size):
        super().__init__()
        self.x, self.y, self.batch_size = x, y, batch_size
        self.order = np.random.permutation(len(x))  # as random as Keras's own order, but another

    def __len__(self):
        return -(-len(self.x) // self.batch_size)

    def __getitem__(self, index):
        rows = self.order[index * self.batch_size : (index + 1) * self.batch_size]
        return self.x[rows], self.y[rows]

    def on_epoch_end(self):
        np.random.shuffle(self.order)


{model}.fit(Batches({x}, {y}, batch_size={batch}), shuffle=False)  # with the other arguments of fit"""


class StreamData(Remedy):
    name = "stream_data"
    exactness: Exactness = "exact"
    against = ("dataset_in_one_tensor",)

    def why(self, situation: Situation) -> str | None:
        if situation.data is not None and situation.data.copies == 0:
            return None
        held = about(self.saves(situation))
        return f"TensorFlow would hold the whole data set, {held}; fed batch by batch it holds one batch at a time"

    def saves(self, situation: Situation) -> int | None:
        return situation.bytes if situation.data is None else situation.data.held

    def applied(self, situation: Situation) -> Situation:
        data = situation.data
        return situation if data is None else replace(situation, held=0, data=replace(data, copies=0))

    def code(self, situation: Situation) -> str:
        x, y = array_names(situation.call)
        return _CODE.format(model=situation.model, x=x, y=y, batch=situation.batch or 32)

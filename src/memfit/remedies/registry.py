"""All remedies, and the choice of those that help in a situation."""

from __future__ import annotations

from memfit.remedies.defragment import Defragment
from memfit.remedies.factorised_dense import FactorisedDense
from memfit.remedies.factorised_embedding import FactorisedEmbedding
from memfit.remedies.float32 import Float32
from memfit.remedies.free_device import FreeDevice
from memfit.remedies.leaner_optimizer import LeanerOptimizer
from memfit.remedies.memory_map import MemoryMap
from memfit.remedies.micro_batches import MicroBatches
from memfit.remedies.mixed_precision import MixedPrecision
from memfit.remedies.numbers_not_tensors import NumbersNotTensors
from memfit.remedies.own_process import OwnProcess
from memfit.remedies.remedy import Fix, Remedy, Situation
from memfit.remedies.small_integers import SmallIntegers
from memfit.remedies.smaller_batch import SmallerBatch
from memfit.remedies.smaller_evaluation_batch import SmallerEvaluationBatch
from memfit.remedies.smaller_input import SmallerInput
from memfit.remedies.stream_data import StreamData

MOST = 4

REMEDIES: tuple[Remedy, ...] = (
    StreamData(),
    MemoryMap(),
    SmallerEvaluationBatch(),
    FreeDevice(),
    Defragment(),
    OwnProcess(),
    NumbersNotTensors(),
    MicroBatches(),
    Float32(),
    SmallIntegers(),
    MixedPrecision(),
    SmallerBatch(),
    LeanerOptimizer(),
    FactorisedEmbedding(),
    FactorisedDense(),
    SmallerInput(),
)
_ORDER = ("exact", "numeric", "model")


def fixes(situation: Situation) -> list[Fix]:
    """At most four: those against the surest cause first, and of those the ones that keep the training as it is."""
    found = [(remedy, fix) for remedy in REMEDIES for fix in [remedy.fix(situation)] if fix is not None]
    found.sort(key=lambda one: (_rank(one[0], situation), _ORDER.index(one[1].exactness), -(one[1].saves or 0)))
    return [fix for _, fix in found[:MOST]]


def _rank(remedy: Remedy, situation: Situation) -> int:
    return min(situation.causes.index(cause) for cause in remedy.against if cause in situation.causes)

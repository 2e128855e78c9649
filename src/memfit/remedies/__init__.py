"""What helps: one remedy is one file. `fixes` finds those that help here, best first."""

from memfit.remedies.registry import REMEDIES, fixes
from memfit.remedies.remedy import Data, Fix, Remedy, Situation

__all__ = ["REMEDIES", "Data", "Fix", "Remedy", "Situation", "fixes"]

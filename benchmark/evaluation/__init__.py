"""How good an embedding is: retrieval metrics, re-ranking (contextual, DIML) and the health of the embedding space.

The last step of a run: the trainer hands embeddings and labels to `retrieval_metrics`; nothing here knows about training.
Alone, on embeddings made elsewhere: `python -m benchmark evaluate embeddings.npz`.
"""

from benchmark.evaluation.diml import Maps
from benchmark.evaluation.distractors import recall_among_distractors
from benchmark.evaluation.health import distance_histograms, health
from benchmark.evaluation.neighbours import neighbours
from benchmark.evaluation.retrieval import recall_at_1, retrieval_metrics

__all__ = [
    "Maps",
    "distance_histograms",
    "health",
    "neighbours",
    "recall_among_distractors",
    "recall_at_1",
    "retrieval_metrics",
]

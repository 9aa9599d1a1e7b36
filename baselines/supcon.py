"""Makes all positives of an anchor likely in a softmax over the whole batch, as cross entropy averaged over them.

For an anchor i with positives P(i) and A(i) = everything but itself,
    L_i = −1/|P(i)| Σ_{p∈P(i)} log( exp(s_ip / τ) / Σ_{a∈A(i)} exp(s_ia / τ) ),
the form with the mean outside the logarithm (L_out of the publication), averaged over the anchors that have a positive. Unlike
in `ntxent.py`, the other positives stand in the denominator. The publication trains it on a projection of two augmented views
and puts a linear classifier on top; here it sees one view, and the embedding that is judged.
"""

from pytorch_metric_learning.losses import SupConLoss
from torch import nn

TITLE = "SupCon"
SOURCE = "Khosla et al. 2020"
GROUP = "since"
YEAR = 2020
SAMPLER = "balanced"
PARAMS = {
    "temperature": 0.1  # τ, publication, section 4.1
}
SEARCH = {"temperature": {"low": 0.05, "high": 0.2, "log": True}}


def build(*, num_classes: int, embedding_dim: int, temperature: float) -> nn.Module:
    return SupConLoss(temperature=temperature)

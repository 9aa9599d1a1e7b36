"""Speed and memory of the losses: forward and backward of one batch, 512 dimensions, four samples per class.

The contextual loss against its oracle (the definition in dense matrices, with autograd) and against the floor, which any loss on
similarities pays: one n × n product, its top k, and the two products of its backward. Smooth-AP and Roadmap against their
textbook forms where those fit in memory, and a step of every method against that of contrastive, in time and in the memory that
it takes beyond what was there before. Run by `make bench`, about ten minutes on two cores.

Each measurement is a process of its own, so that its peak memory is its own (PyTorch's included), and forms take turns.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn import functional as F

import baselines
from baselines._loss import Seen
from benchmark.bench import Row, best, row
from benchmark.running.process import peak_mb
from benchmark.seeds import torch_generator

DIMENSIONS, PER_CLASS, EPS = 512, 4, 0.05
CLASSES = 100  # that proxies stand for, as on CUB; more where the batch has more
NEIGHBOURS = 10  # mean size of the neighbourhoods that the embeddings are made for
SIZES = (128, 512, 1024, 2048, 4096, 6400)
CROWDED = 2048  # where neighbourhoods of half the batch are tried
STEPS = (128, 1024)  # where a step of every method is measured
TEXTBOOK = (128, 512)  # all n³ differences and their gradients: 3 GB at 512, 25 GB at 1024
TEXTBOOKS = ("smooth_ap", "roadmap")

Measured = tuple[float, float, float]  # seconds; MB: peak of the process, what the step added to it


def run() -> Iterator[Row]:
    for n in SIZES:
        forms = ["floor", "contextual", "oracle", *TEXTBOOKS]
        forms += [f"{name}, textbook" for name in TEXTBOOKS if n in TEXTBOOK]
        found = turns(n, *forms)
        yield compared("floor", n, found["floor"], found["floor"], "itself")
        for name in ("contextual", *TEXTBOOKS):
            yield compared(name, n, found[name], found["floor"], "floor")
        yield compared("contextual, oracle", n, found["oracle"], found["contextual"], "contextual")
        for form in forms[5:]:
            yield compared(form, n, found[form], found[form.partition(",")[0]], form.partition(",")[0])
    found = turns(CROWDED, "contextual", "oracle", crowded=True)
    name = "contextual, oracle, neighbourhoods of half the batch"
    yield compared(name, CROWDED, found["oracle"], found["contextual"], "contextual on the same")
    for n in STEPS:
        steps = turns(n, *baselines.names())
        for name, step in steps.items():
            yield compared(f"step of {name}", n, step, steps["contrastive"], "contrastive")


def compared(name: str, n: int, measured: Measured, other: Measured, to: str) -> Row:
    seconds, peak, added = measured
    return row(name, n, seconds, seconds / other[0], to, peak, added / max(other[2], 1.0))


def turns(n: int, *forms: str, crowded: bool = False) -> dict[str, Measured]:
    """Best time and highest memory of each form; they take turns, so that a slow minute hits all of them."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "torch", "pytorch_metric_learning.losses"])
    measured: dict[str, list[Measured]] = {form: [] for form in forms}
    for turn in range(3):
        for form in forms:
            if turn and form == "oracle" and n >= 4096:
                continue  # a minute each, and nothing beside it is as long
            with context.Pool(1) as pool:
                measured[form].append(pool.apply(measure, (form, n, crowded)))
    found = {}
    for form, of in measured.items():
        seconds, peaks, added = zip(*of, strict=True)
        found[form] = (min(seconds), max(peaks), max(added))
    return found


def measure(form: str, n: int, crowded: bool) -> Measured:
    """Seconds of the fastest step within half a second, and the memory of this process."""
    embeddings, labels = batch(n, crowded)
    step = step_of(form, classes=max(CLASSES, n // PER_CLASS))
    before, start = peak_mb(card=False), time.perf_counter()
    times: list[float] = []
    while not times or time.perf_counter() - start < 0.5:
        times.append(best(lambda: step(embeddings, labels), 1))
    return min(times), peak_mb(card=False), peak_mb(card=False) - before


def step_of(form: str, classes: int = CLASSES) -> Callable:
    """step(embeddings, labels): forward and backward of a form."""
    if form == "floor":
        return floor
    if form in baselines.names():
        params: dict[str, Any] = {"eps": EPS} if form == "contextual" else {}
        params |= {"num_classes": classes, "embedding_dim": DIMENSIONS, "feature_dim": DIMENSIONS}
        loss = baselines.build(form, **params)

        def step(embeddings, labels):
            seen = Seen(embeddings, F.normalize, torch.stack([labels, labels // PER_CLASS], dim=1))
            return torch.autograd.grad(loss(embeddings, labels, seen), embeddings)

        return step
    if form == "oracle":
        loss = baselines.build("contextual", num_classes=classes, embedding_dim=DIMENSIONS, eps=EPS)
        base: Any = loss.base
        base.forward = lambda f, labels: base.ablated(f, labels)[0]
        return lambda embeddings, labels: torch.autograd.grad(loss(embeddings, labels), embeddings)
    params = baselines.card(form.partition(",")[0]).params
    return lambda embeddings, labels: torch.autograd.grad(textbook(embeddings, labels, params), embeddings)


def textbook(embeddings, labels, params: dict[str, Any]):
    """1 − AP with all n³ differences at once: Smooth-AP, or Roadmap's SupAP if it has the constants of a bound."""
    f = F.normalize(embeddings)
    s, same = f @ f.T, labels[:, None] == labels[None, :]  # (n, n)
    x = s[:, None, :] - s[:, :, None]  # (query, p, j): by how much j is above p
    H = torch.sigmoid(x / params["tau"])
    if "rho" in params:
        far = x > params["delta"]
        bound = torch.where(far, params["rho"] * x + params["offset"], H + 0.5 * (x > 0))
        H = torch.where(same[:, None, :], (x >= 0).to(s.dtype), bound)
    H = H * (1 - torch.eye(len(s)))
    rank, rank_pos = 1 + H.sum(dim=2), 1 + (H * same[:, None, :]).sum(dim=2)  # (query, p)
    return 1 - ((rank_pos / rank * same).sum(dim=1) / same.sum(dim=1)).mean()


def floor(embeddings, labels) -> None:
    """One product, its top k, and the two products of its backward."""
    f = embeddings.detach()
    s = f @ f.T  # (n, n)
    s.topk(PER_CLASS)
    s @ f + s.T @ f


def batch(n: int, crowded: bool):
    """Embeddings (n, 512) whose neighbourhoods hold about ten samples, or half the batch, and their labels."""
    generator = torch_generator("bench", "losses", n)
    labels = torch.randperm(n, generator=generator) // PER_CLASS
    centres = torch.randn(n // PER_CLASS, DIMENSIONS, generator=generator)
    noise = torch.randn(n, DIMENSIONS, generator=generator)
    low, high = 0.1, 30.0
    for _ in range(12):
        share = (low * high) ** 0.5
        points = F.normalize(centres[labels] + share * noise)
        if crowded:
            points = F.normalize(points + share)
        D = 2 - 2 * points[:256] @ points.T  # (256, n)
        bound = D.topk(PER_CLASS, largest=False).values[:, -1:] + EPS  # (256, 1)
        inside = (bound >= D).sum(dim=1).float().mean()
        wanted = n / 2 if crowded else NEIGHBOURS
        low, high = (share, high) if inside < wanted else (low, share)
    return points.requires_grad_(), labels

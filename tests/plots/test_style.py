"""One look: a method is recognised in every figure, also by colour-blind readers and in black and white."""

import itertools

import numpy as np
from matplotlib.colors import to_rgb

import baselines
from plots import style
from plots.figures._drawing import Drawing, figure, percent_axis, save

# Machado et al. 2009, severity 1: what a colour looks like to each kind of colour-blind reader (linear RGB).
BLIND = {
    "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
}
LINES = ("contrastive", "triplet", "multi_similarity_miner", "proxy_anchor", "proxy_nca", "roadmap", "contextual")


def seen(colour, matrix):
    linear = np.array(to_rgb(colour)) ** 2.2
    return np.clip(np.array(matrix) @ linear, 0, 1) ** (1 / 2.2)


def test_no_two_methods_look_alike_and_the_papers_differ_in_black_and_white():
    assert len({look.marker for look in style.LOOKS.values()}) == len(style.LOOKS)
    looks = [style.look(name) for name in baselines.names()]
    assert len({(look.colour, look.marker) for look in looks}) == len(looks)


def test_the_papers_methods_differ_to_colour_blind_readers():
    for matrix in BLIND.values():
        for a, b in itertools.combinations(LINES, 2):
            apart = np.linalg.norm(seen(style.look(a).colour, matrix) - seen(style.look(b).colour, matrix))
            assert apart > 0.12, (a, b)


def test_a_method_of_the_user_keeps_its_look_whatever_else_there_is():
    assert style.look("my_loss") == style.look("my_loss")
    assert style.look("my_loss").marker not in {look.marker for look in style.LOOKS.values()}


def test_rows_and_legends_put_the_untrained_first_and_the_papers_method_last():
    order = style.ordered(["contextual", "zebra", "triplet", "aardvark", "untrained"])
    assert order == ["untrained", "triplet", "aardvark", "zebra", "contextual"]


def test_a_saved_figure_has_no_date_in_it(tmp_path):
    for folder in ("a", "b"):
        made, axes = figure()
        axes[0, 0].plot([0, 1], [0.2, 0.4], label="x")
        percent_axis(axes[0, 0].yaxis)
        save(Drawing(made, "Caption."), "name", tmp_path / folder)
    for kind in ("png", "pdf", "txt"):
        assert (tmp_path / "a" / f"name.{kind}").read_bytes() == (tmp_path / "b" / f"name.{kind}").read_bytes()
    assert b"CreationDate" not in (tmp_path / "a" / "name.pdf").read_bytes()

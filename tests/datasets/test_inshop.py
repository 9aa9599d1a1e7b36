"""In-Shop: the only data set of the paper with a gallery, which must never be mixed with the queries."""

from trees import inshop

from benchmark.datasets import inshop as module


def test_query_and_gallery_are_apart_and_share_their_items(open_tree):
    dataset = open_tree("inshop")
    assert (len(dataset.train), len(dataset.query), len(dataset.gallery)) == (12, 6, 6)
    assert not set(dataset.query) & set(dataset.gallery)
    fine = dataset.labels[:, 0]
    assert set(fine[dataset.query]) == set(fine[dataset.gallery])


def test_item_category_and_gender_are_a_hierarchy(open_tree):
    dataset = open_tree("inshop")
    assert dataset.levels == ("item", "category", "gender")
    assert dataset.names[1] == ("Men Shorts", "Women Dresses", "Women Shorts")  # shorts of men are not of women
    assert dataset.names[2] == ("Men", "Women")
    assert dataset.levels[dataset.super_level] == "category"


def test_images_below_Img_and_lists_below_Eval_are_found(tmp_path):
    folder = inshop(tmp_path) / "inshop"
    for name, new in (("img", "Img/img"), ("list_eval_partition.txt", "Eval/list_eval_partition.txt")):
        (folder / new).parent.mkdir()
        (folder / name).rename(folder / new)
    assert module.open(tmp_path, expect=None).source.read(0).shape == (30, 40, 3)


def test_the_papers_counts_are_enforced():
    assert list(module.COUNTS.values()) == [25_882, 14_218, 12_612, 3_997, 3_985]

"""Image files as they come: every kind is read upright and as RGB, and a broken one is named."""

import numpy as np
import pytest
from PIL import Image
from trees import photo

from benchmark.datasets._dataset import decode
from benchmark.errors import UserError


@pytest.mark.parametrize(
    ("mode", "suffix"),
    [("RGB", "jpg"), ("L", "jpg"), ("CMYK", "jpg"), ("P", "png"), ("1", "png"), ("RGBA", "png"), ("LA", "png")],
)
def test_every_mode_comes_out_as_rgb(mode, suffix, tmp_path):
    image = decode(photo(tmp_path / f"image.{suffix}", 3, mode=mode))
    assert image.shape == (30, 40, 3)
    assert image.dtype == np.uint8
    if mode in ("L", "1", "LA"):
        assert (image[..., 0] == image[..., 2]).all()
    else:
        assert (image[..., 0] != image[..., 2]).any()


def test_sixteen_bits_of_grey_are_not_clipped_to_white(tmp_path):
    grey = np.linspace(0, 65535, 256, dtype=np.uint16).reshape(16, 16)
    Image.fromarray(grey).save(tmp_path / "x.png")
    assert decode(tmp_path / "x.png")[..., 0].ravel().tolist() == list(range(256))


def test_what_is_transparent_is_white(tmp_path):
    Image.new("RGBA", (8, 8), (255, 0, 0, 0)).save(tmp_path / "x.png")
    assert (decode(tmp_path / "x.png") == 255).all()


def test_a_rotated_photo_stands_upright(tmp_path):
    pixels = np.zeros((8, 16, 3), dtype=np.uint8)
    pixels[:, :8] = 255  # left half white
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held sideways: turn by 90 degrees clockwise
    Image.fromarray(pixels).save(tmp_path / "x.png", exif=exif)
    image = decode(tmp_path / "x.png")
    assert image.shape == (16, 8, 3)
    assert image[:8].min() == 255  # the white half is now on top


def test_a_truncated_image_names_its_file(tmp_path):
    path = photo(tmp_path / "broken.jpg", 1, (200, 200))
    path.write_bytes(path.read_bytes()[:-500])
    with pytest.raises(UserError, match=r"broken\.jpg' cannot be decoded .*truncated"):
        decode(path)


def test_a_file_that_is_no_image_names_itself(tmp_path):
    (tmp_path / "page.jpg").write_text("<html>404</html>")
    with pytest.raises(UserError, match=r"page\.jpg' cannot be decoded"):
        decode(tmp_path / "page.jpg")
    with pytest.raises(UserError, match=r"gone\.jpg' is missing"):
        decode(tmp_path / "gone.jpg")

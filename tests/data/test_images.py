"""One rule for every image: modes, dtypes, layouts, alpha, orientation."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from robustlib.data.images import LazyImage, to_rgb
from robustlib.data.question import Question
from robustlib.errors import InvalidTypeError, InvalidValueError, RobustlibError

Array = npt.NDArray[Any]
SIDES = st.integers(1, 6)
RGB_ARRAYS = st.tuples(SIDES, SIDES, st.just(3)).flatmap(lambda shape: arrays(np.uint8, shape))
PIL_MODES = ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr", "I;16", "I", "La", "RGBa"]


def colours() -> Array:
    return np.array([[[0, 128, 255], [10, 20, 30]], [[255, 255, 255], [200, 100, 50]]], np.uint8)


@given(RGB_ARRAYS)
def test_uint8_rgb_is_returned_as_it_is_in_a_new_array(array: Array) -> None:
    result = to_rgb(array)
    assert np.array_equal(result, array)
    assert not np.shares_memory(result, array)
    assert result.dtype == np.uint8
    assert result.flags.c_contiguous
    assert result.flags.writeable


@given(RGB_ARRAYS, st.sampled_from([np.float16, np.float32, np.float64]))
def test_floats_of_a_255th_come_back_exactly(array: Array, dtype: type) -> None:
    assert np.array_equal(to_rgb((array / 255).astype(dtype)), array)


@given(RGB_ARRAYS, st.sampled_from(["<u2", ">u2"]))
def test_sixteen_bits_of_257_times_come_back_exactly(array: Array, dtype: str) -> None:
    assert np.array_equal(to_rgb((array.astype(np.uint16) * 257).astype(dtype)), array)


def test_sixteen_bits_are_rounded_and_not_truncated() -> None:
    assert to_rgb(np.array([[0, 128, 129, 65535]], np.uint16))[0, :, 0].tolist() == [0, 0, 1, 255]


@given(RGB_ARRAYS)
def test_layout_does_not_matter_and_the_input_stays(array: Array) -> None:
    wide = np.repeat(array, 2, axis=1)
    strided = wide[:, ::2]
    strided.flags.writeable = False
    before = wide.copy()
    assert np.array_equal(to_rgb(strided), array)
    assert np.array_equal(to_rgb(np.asfortranarray(array)), array)
    assert np.array_equal(wide, before)


@given(RGB_ARRAYS)
def test_pillow_and_array_agree(array: Array) -> None:
    assert np.array_equal(to_rgb(Image.fromarray(array)), to_rgb(array))


@given(st.tuples(SIDES, SIDES, st.just(4)).flatmap(lambda shape: arrays(np.uint8, shape)))
def test_alpha_is_laid_over_white(array: Array) -> None:
    colour, alpha = array[..., :3].astype(float), array[..., 3:] / 255
    expected = np.rint(colour * alpha + 255 * (1 - alpha))
    assert np.array_equal(to_rgb(array), expected)
    assert np.array_equal(to_rgb(Image.fromarray(array)), expected)


@pytest.mark.parametrize("channels", [(), (1,)])
def test_grey_is_repeated(channels: tuple[int, ...]) -> None:
    grey = np.array([[0, 100, 255]], np.uint8).reshape(1, 3, *channels)
    assert to_rgb(grey).tolist() == [[[0, 0, 0], [100, 100, 100], [255, 255, 255]]]


def test_grey_with_alpha() -> None:
    pixels = np.array([[[0, 255], [0, 0], [100, 51]]], np.uint8)
    assert to_rgb(pixels)[0, :, 0].tolist() == [0, 255, 224]
    assert np.array_equal(to_rgb(Image.fromarray(pixels)), to_rgb(pixels))


@pytest.mark.parametrize("mode", PIL_MODES)
@pytest.mark.parametrize("size", [(1, 1), (1, 5), (7, 2)])
def test_every_mode_and_size_becomes_rgb_and_stays_unchanged(mode: str, size: tuple[int, int]) -> None:
    image = Image.new(mode, size)
    before = (image.mode, image.size, image.tobytes(), dict(image.info))
    result = to_rgb(image)
    assert result.shape == (size[1], size[0], 3)
    assert result.dtype == np.uint8
    assert (image.mode, image.size, image.tobytes(), dict(image.info)) == before


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("1", 1, (255, 255, 255)),
        ("I;16", 65535, (255, 255, 255)),
        ("I", 257 * 7, (7, 7, 7)),
        ("F", 0.5, (128, 128, 128)),
        ("CMYK", (0, 255, 255, 0), (255, 0, 0)),
        ("LA", (0, 0), (255, 255, 255)),
        ("RGBA", (255, 0, 0, 51), (255, 204, 204)),
    ],
)
def test_known_colours(mode: str, colour: Any, expected: tuple[int, int, int]) -> None:
    assert to_rgb(Image.new(mode, (1, 1), colour)).tolist() == [[list(expected)]]


def test_palette_with_a_transparent_entry() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putdata([0, 1])
    assert to_rgb(image).tolist() == [[[255, 0, 0], [0, 0, 255]]]
    image.info["transparency"] = 1
    assert to_rgb(image).tolist() == [[[255, 0, 0], [255, 255, 255]]]


@pytest.mark.parametrize("suffix", ["PNG", "TIFF"])
def test_sixteen_bit_files(suffix: str) -> None:
    encoded = io.BytesIO()
    Image.fromarray(np.array([[0, 257, 65535]], np.uint16)).save(encoded, suffix)
    assert LazyImage(encoded.getvalue()).pixels()[0, :, 0].tolist() == [0, 1, 255]


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_made_upright(orientation: int) -> None:
    upright = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    # How a camera would have stored the upright picture under each tag (EXIF 2.32, tag 274).
    stored = {
        1: upright,
        2: upright[:, ::-1],
        3: upright[::-1, ::-1],
        4: upright[::-1],
        5: upright.transpose(1, 0, 2),
        6: upright.transpose(1, 0, 2)[::-1],
        7: upright[::-1, ::-1].transpose(1, 0, 2),
        8: upright.transpose(1, 0, 2)[:, ::-1],
    }[orientation]
    exif = Image.Exif()
    exif[274] = orientation
    encoded = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(stored)).save(encoded, "PNG", exif=exif)
    assert np.array_equal(LazyImage(encoded.getvalue()).pixels(), upright)


@pytest.mark.parametrize("dtype", [bool, np.int32, np.int64, np.uint32, complex, object])
def test_other_dtypes_are_a_type_error(dtype: type) -> None:
    with pytest.raises(InvalidTypeError, match="uint8, uint16 or floats"):
        to_rgb(np.zeros((2, 2, 3), dtype))


@pytest.mark.parametrize("thing", ["cat.png", None, [[0, 1]], 3])
def test_what_is_no_image_is_a_type_error(thing: Any) -> None:
    with pytest.raises(InvalidTypeError, match="PIL image or a NumPy array"):
        to_rgb(thing)


@pytest.mark.parametrize("value", [np.nan, np.inf, -0.01, 1.01])
def test_floats_outside_the_range_are_a_value_error(value: float) -> None:
    with pytest.raises(InvalidValueError, match=r"\[0, 1\]"):
        to_rgb(np.array([[0.5, value]]))
    with pytest.raises(InvalidValueError, match=r"\[0, 1\]"):
        to_rgb(Image.fromarray(np.array([[0.5, value]], np.float32)))


@pytest.mark.parametrize("value", [-1, 65536])
def test_pillow_integers_outside_sixteen_bits_are_a_value_error(value: int) -> None:
    with pytest.raises(InvalidValueError, match="65535"):
        to_rgb(Image.new("I", (1, 1), value))


@pytest.mark.parametrize("shape", [(3,), (2, 2, 5), (1, 2, 2, 3), ()])
def test_wrong_shapes_are_a_value_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValueError, match="H x W"):
        to_rgb(np.zeros(shape, np.uint8))


@pytest.mark.parametrize("image", [np.zeros((0, 4, 3), np.uint8), np.zeros((4, 0)), Image.new("RGB", (0, 3))])
def test_no_pixels_is_a_value_error(image: Any) -> None:
    with pytest.raises(InvalidValueError, match="at least one pixel"):
        to_rgb(image)


def encoded_png() -> bytes:
    encoded = io.BytesIO()
    Image.fromarray(colours()).save(encoded, "PNG")
    return encoded.getvalue()


def test_all_sources_give_the_same_read_only_pixels(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(encoded_png())
    for source in (path, str(path), path.read_bytes(), Image.open(path), colours()):
        pixels = LazyImage(source).pixels()
        assert np.array_equal(pixels, colours())
        assert not pixels.flags.writeable


def test_a_file_is_decoded_once(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(encoded_png())
    image = LazyImage(path)
    first = image.pixels()
    path.unlink()
    assert image.pixels() is first


def test_a_rewritten_file_is_read_anew_by_a_new_image(tmp_path: Path) -> None:
    path = tmp_path / "image.png"
    path.write_bytes(encoded_png())
    old = LazyImage(path)
    before = old.digest(), old.pixels()
    Image.fromarray(255 - colours()).save(path)
    new = LazyImage(path)
    assert np.array_equal(new.pixels(), 255 - before[1])
    assert new.digest() != before[0]


def test_an_array_may_change_after_it_was_given() -> None:
    array = colours()
    image = LazyImage(array)
    array[:] = 0
    assert np.array_equal(image.pixels(), colours())


def test_equal_sources_make_equal_images() -> None:
    assert LazyImage(colours()) == LazyImage(colours())
    assert LazyImage(colours()) != LazyImage(255 - colours())
    assert LazyImage("a.png") == LazyImage(Path("a.png"))
    assert len({LazyImage("a.png"), LazyImage("a.png"), LazyImage("b.png")}) == 2


def question_about(source: Any) -> Question:
    return Question(id="q-7", image=LazyImage(source), image_id="i-1", text="what is it?", kind="open")


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(RobustlibError, match=r"Question q-7: .*gone\.png.*No such file"):
        question_about(tmp_path / "gone.png").pixels()


@pytest.mark.parametrize("content", [b"", b"not an image", encoded_png()[:45]], ids=["empty", "text", "cut off"])
def test_an_unreadable_file_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(RobustlibError, match=r"Question q-7: Cannot decode the image .*broken\.png"):
        question_about(path).pixels()


def test_unreadable_bytes_and_folders_are_errors(tmp_path: Path) -> None:
    with pytest.raises(RobustlibError, match=r"in memory \(3 bytes\)"):
        question_about(b"abc").pixels()
    with pytest.raises(RobustlibError, match="Cannot read the image"):
        question_about(tmp_path).pixels()


def test_a_question_without_an_image_has_no_pixels() -> None:
    assert Question(id="q", image=None, image_id="", text="?", kind="open").pixels() is None


@pytest.mark.parametrize("label", [-2, 2])
def test_a_label_outside_the_options_is_an_error(label: int) -> None:
    with pytest.raises(InvalidValueError, match="q-1"):
        Question(id="q-1", image=None, image_id="", text="?", kind="choice", options=("a", "b"), label=label)


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(InvalidValueError, match="'closed'"):
        Question(id="q-1", image=None, image_id="", text="?", kind="closed")  # type: ignore[arg-type]  # the point

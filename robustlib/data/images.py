"""Images as questions carry them: decoded late, once, and always to upright 8-bit RGB.

`to_rgb` is the only place where a file's or an array's pixels become the pixels that everything downstream sees, so
the clean and the corrupted arm of an experiment can never differ in how they read an image.
"""

import hashlib
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from os import PathLike
from os.path import isfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from robustlib.errors import InvalidTypeError, InvalidValueError, RobustlibError


class StoredImage(ABC):
    """An encoded image that lies inside another file. Equal ones compare equal, and can be hashed and pickled."""

    @abstractmethod
    def read(self) -> bytes:
        """Return the encoded image.

        Raises:
            RobustlibError: it cannot be read; the message names the file.
        """


Pixels = npt.NDArray[np.uint8]
ImageLike = Image.Image | npt.NDArray[Any]
_Source = Path | bytes | StoredImage
ImageSource = str | PathLike[str] | bytes | StoredImage | ImageLike

_SIXTEEN_BIT_MODES = ("I", "I;16", "I;16L", "I;16B", "I;16N")
_DECODED_IMAGES_KEPT = 4096  # about 4 GB of 640 x 480 photographs
MOST_PIXELS = 89_478_485
"""An image with more is refused undecoded, as a file of some kilobytes can unfold to all memory: Pillow's own limit,
at which three bytes a pixel fill 256 MiB."""
_BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)  # the latter where warnings are errors


def to_rgb(image: ImageLike) -> Pixels:
    """Bring any image to upright 8-bit RGB by one rule.

    1. A PIL image is turned upright as its EXIF tag says. Palettes, bilevel, CMYK and YCbCr are expanded by Pillow.
    2. Each channel becomes 8 bits: uint8 stays, 16 bits are divided by 257, floats in [0, 1] are multiplied by 255;
       both are rounded to the nearest integer. Pillow's modes "I" and "I;16" count as 16 bits, mode "F" as floats.
    3. Transparency is laid over white. Grey is repeated in the three channels.

    Args:
        image: a PIL image, or an array H x W, H x W x 1 (grey), x 2 (grey, alpha), x 3 (RGB) or x 4 (RGBA) of uint8,
            uint16 or floats in [0, 1].

    Returns:
        A new C-contiguous uint8 array H x W x 3. The input is neither changed nor shared.

    Raises:
        InvalidTypeError: not an image, or an array of bool or of another integer type.
        InvalidValueError: no pixels, a wrong shape, a NaN, or a value outside its range.
    """
    if isinstance(image, Image.Image):
        return _flatten(_to_8_bit(_unpack(image)))
    if isinstance(image, np.ndarray):
        return _flatten(_to_8_bit(image))
    raise InvalidTypeError(f"An image must be a PIL image or a NumPy array, got {type(image).__name__}.")


def _unpack(image: Image.Image) -> npt.NDArray[Any]:
    """Return the array of a PIL image, upright: grey, RGB or RGBA."""
    if 0 in image.size:
        raise InvalidValueError(f"An image needs at least one pixel, got {image.width} x {image.height}.")
    upright = ImageOps.exif_transpose(image)
    if upright.mode in _SIXTEEN_BIT_MODES:
        return _sixteen_bit(np.asarray(upright))
    if upright.mode == "F":
        return np.asarray(upright)
    if upright.mode in ("La", "LA", "PA"):
        upright = upright.convert("LA").convert("RGBA")
    return np.asarray(upright.convert("RGBA" if upright.has_transparency_data else "RGB"))


def _sixteen_bit(values: npt.NDArray[Any]) -> npt.NDArray[np.uint16]:
    if values.min() < 0 or values.max() > 65535:
        raise InvalidValueError(
            f"A PIL image of mode 'I' must hold 0 .. 65535, got {int(values.min())} .. {int(values.max())}."
        )
    return values.astype(np.uint16)


def _to_8_bit(values: npt.NDArray[Any]) -> Pixels:
    """Return a new uint8 array of the same shape."""
    if values.size == 0:
        raise InvalidValueError(f"An image needs at least one pixel, got an array of shape {values.shape}.")
    if values.dtype == np.uint8:
        return np.array(values, np.uint8)
    if values.dtype.kind == "u" and values.dtype.itemsize == 2:
        return np.rint(values / 257).astype(np.uint8)
    if values.dtype.kind != "f":
        raise InvalidTypeError(f"Pixels must be uint8, uint16 or floats in [0, 1], got {values.dtype}.")
    if not (values.min() >= 0 and values.max() <= 1):
        raise InvalidValueError(f"Float pixels must lie in [0, 1], got {values.min()} .. {values.max()}.")
    return np.rint(values.astype(np.float64) * 255).astype(np.uint8)


def _flatten(pixels: Pixels) -> Pixels:
    """Lay alpha over white and repeat grey: any H x W x channels to H x W x 3."""
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 2, 3, 4):
        raise InvalidValueError(f"An image must be H x W or H x W x 1, 2, 3 or 4, got the shape {pixels.shape}.")
    if pixels.shape[2] in (2, 4):
        darkness = (255 - pixels[..., :-1]).astype(np.uint16) * pixels[..., -1:]
        pixels = (255 - (darkness + 127) // 255).astype(np.uint8)
    return np.ascontiguousarray(pixels if pixels.shape[2] == 3 else np.repeat(pixels, 3, axis=2))


class LazyImage:
    """An image that is read when first asked for. Equal sources make equal images."""

    def __init__(self, source: ImageSource) -> None:
        """Take a file's path or bytes, an image inside a file, or one in memory (copied at once, so safe to change)."""
        self._source: _Source = _storable(source)
        self._identity = object()  # a file may change between two data sets, so the cache is per object
        self._digest = ""

    def pixels(self) -> Pixels:
        """Return the read-only uint8 array H x W x 3 of `to_rgb`, the same object while it is in use.

        Raises:
            RobustlibError: the file is missing, is no image, or is not what `expect` asks for; the message names it.
        """
        return _keep_decoded(self._identity, self._source, self._digest)

    def decode(self) -> Pixels:
        """Return a new array as `pixels` does, and keep nothing: for images that are needed once.

        Raises:
            RobustlibError: as for `pixels`.
        """
        return _decode(self._source, self._digest)

    def expect(self, digest: str) -> None:
        """Decode these bytes and no others from now on, so that no answer is about a file that changed meanwhile."""
        self._digest = digest

    def check(self) -> None:
        """See that the image is there, has a known format and is not too large, without decoding it.

        Raises:
            RobustlibError: it is not; the message names it.
        """
        with _open(self._source):
            pass

    def size(self) -> tuple[int, int]:
        """Return width and height in pixels as they are stored, without decoding the image.

        Raises:
            RobustlibError: as for `check`.
        """
        with _open(self._source) as image:
            return image.size

    def digest(self) -> str:
        """Return the SHA-256 of the encoded image, in hexadecimal.

        Raises:
            RobustlibError: the file cannot be read; the message names it.
        """
        return _hash(_read(self._source))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyImage) and self._source == other._source

    def __hash__(self) -> int:
        return hash(self._source)

    def __repr__(self) -> str:
        return f"LazyImage({_describe(self._source)})"


def _storable(source: ImageSource) -> _Source:
    if isinstance(source, bytes | StoredImage):
        return source
    if isinstance(source, str | PathLike):
        return Path(source)
    encoded = io.BytesIO()
    Image.fromarray(to_rgb(source)).save(encoded, "PNG", compress_level=1)
    return encoded.getvalue()


def _read(source: _Source) -> bytes:
    if isinstance(source, bytes):
        return source
    if isinstance(source, StoredImage):
        return source.read()
    try:
        return source.read_bytes()
    except OSError as error:
        raise RobustlibError(f"Cannot read the image {source}: {error.strerror or error}.") from error


@lru_cache(maxsize=_DECODED_IMAGES_KEPT)
def _keep_decoded(_identity: object, source: _Source, digest: str) -> Pixels:
    pixels = _decode(source, digest)
    pixels.flags.writeable = False
    return pixels


def _decode(source: _Source, digest: str) -> Pixels:
    with _open(source, digest) as image:
        return to_rgb(image)


@contextmanager
def _open(source: _Source, digest: str = "") -> Iterator[Image.Image]:
    """Open an image, its pixels not yet decoded; what goes wrong with it, here or in the block, names it."""
    if isinstance(source, Path) and isfile(source) and not digest:
        whole: Path | io.BytesIO = source
    else:
        content = _read(source)
        if digest not in ("", _hash(content)):
            raise RobustlibError(f"The image {_describe(source)} has changed since its data set was loaded.")
        whole = io.BytesIO(content)
    try:
        with Image.open(whole) as image:
            if image.width * image.height > MOST_PIXELS:
                raise ValueError(f"{image.width} x {image.height} pixels are more than {MOST_PIXELS:,}")
            yield image
    except UnidentifiedImageError as error:  # its own message holds an address in memory
        raise RobustlibError(f"Cannot decode the image {_describe(source)}: its format is unknown.") from error
    except (OSError, ValueError, SyntaxError, *_BOMBS) as error:
        raise RobustlibError(f"Cannot decode the image {_describe(source)}: {error}") from error


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _describe(source: _Source) -> str:
    return f"in memory ({len(source)} bytes)" if isinstance(source, bytes) else str(source)

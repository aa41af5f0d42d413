"""The question: the one record that data sets make, perturbations rewrite and models answer."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from robustlib.data.images import LazyImage, Pixels
from robustlib.errors import InvalidValueError, RobustlibError

Kind = Literal["open", "choice", "yesno"]
YES_NO = ("no", "yes")
"""The options of questions that are answered by yes or no."""


@dataclass(frozen=True)
class Question:
    """One question about one image (or about none), with its reference answers."""

    id: str
    """Unique in its data set and split, and stable between runs."""
    image: LazyImage | None
    """None where the question stands alone."""
    image_id: str
    """Shared by the questions that share an image: the cluster of every interval."""
    text: str
    """The question as asked, without options or instructions."""
    kind: Kind
    """How it is scored: free text, one of the options, or yes/no."""
    options: tuple[str, ...] = ()
    """Answer options in label order; empty for open questions."""
    label: int = -1
    """Index of the right option, -1 where there are no options."""
    answers: tuple[str, ...] = ()
    """Reference answers, one per annotator."""
    category: str = ""
    """The group under which the data set reports it."""
    dataset: str = ""
    """Name of the data set it comes from."""
    meta: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Anything else worth keeping, as JSON values."""
    more_images: tuple[LazyImage, ...] = ()
    """Images beyond the first, in the order in which the text and the options name them."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InvalidValueError(f"Question {self.id}: kind must be one of {get_args(Kind)}, got {self.kind!r}.")
        if not -1 <= self.label < len(self.options):
            raise InvalidValueError(
                f"Question {self.id}: label must be -1 or an index into {len(self.options)} options, got {self.label}."
            )

    @property
    def images(self) -> tuple[LazyImage, ...]:
        """All images, in order; empty where the question stands alone."""
        return () if self.image is None else (self.image, *self.more_images)

    def pixels(self) -> Pixels | None:
        """Return the first image as read-only uint8 H x W x 3, or None where there is none.

        Raises:
            RobustlibError: the image is missing or unreadable; the message names the question and the file.
        """
        if self.image is None:
            return None
        try:
            return self.image.pixels()
        except RobustlibError as error:
            raise RobustlibError(f"Question {self.id}: {error}") from error


class FieldError(InvalidValueError):
    """A field of a data file's row that is not as it should be."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"field {field!r}: {reason}")
        self.field = field
        self.reason = reason


def label_of(letter: str, letters: Iterable[str], question_id: str) -> int:
    """Return the place of the right option's letter among the letters that the options have.

    Raises:
        FieldError: it is none of them; the message names the question.
    """
    places = list(letters)
    if letter not in places:
        raise FieldError("answer", f"Question {question_id}: the answer must be one of {places}, got {letter!r}.")
    return places.index(letter)

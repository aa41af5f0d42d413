"""easy-VQA (Victor Zhou, 2019; MIT licence): coloured shapes on 64 x 64 images, carried by its PyPI package.

4,000 training and 1,000 test images, 38,575 and 9,673 questions, 13 answers (the package's data/README.md).
"""

import easy_vqa

from robustlib.data.images import LazyImage
from robustlib.data.question import Question
from robustlib.errors import UnknownNameError

ANNOTATORS = 10  # the one true answer stands for ten annotators who agree, so VQA accuracy is 0 or 1 in either form
SHAPES = ("circle", "rectangle", "triangle")
COLOURS = ("black", "blue", "brown", "gray", "green", "red", "teal", "yellow")
_SPLITS = {
    "train": (easy_vqa.get_train_questions, easy_vqa.get_train_image_paths),
    "test": (easy_vqa.get_test_questions, easy_vqa.get_test_image_paths),
}


def load(split: str) -> tuple[Question, ...]:
    """Return the questions of the split "train" or "test" in the package's order.

    Raises:
        UnknownNameError: another split.
    """
    if split not in _SPLITS:
        raise UnknownNameError("split of easy_vqa", split, _SPLITS)
    read_questions, find_images = _SPLITS[split]
    images = {number: LazyImage(path) for number, path in find_images().items()}
    return tuple(
        Question(
            id=f"{split}-{index:06d}",
            image=images[number],
            image_id=f"{split}-{number}",
            text=text,
            kind="yesno" if answer in ("yes", "no") else "open",
            answers=(answer,) * ANNOTATORS,
            category=_category(answer),
            dataset="easy_vqa",
        )
        for index, (text, answer, number) in enumerate(zip(*read_questions(), strict=True))
    )


def _category(answer: str) -> str:
    if answer in ("yes", "no"):
        return "presence"
    return "shape" if answer in SHAPES else "colour"

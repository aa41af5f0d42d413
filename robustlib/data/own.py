"""Questions of your own: what the fields of a row mean. `robustlib.data.own_files` reads the files.

Each line of a ``.jsonl`` file is an object, each row of a ``.csv`` or ``.tsv`` file a record, with these fields:

========== ======== =======================================================================================
id         required a text, different in every row
question   required a text
image               path of the image, relative to the file's folder and below it; empty: the question has none
images              instead of ``image``: a list of paths
options             a list of at least 2 different texts, in label order
label               place of the right option, from 0; required with options
answers             a list of reference answers, one per annotator; required without options
kind                "open", "choice" or "yesno"; "choice" where there are options, else "open"
category            a text; tables report by it, and samples keep its shares
image_id            questions that share it share an image: the cluster of intervals; else the path of the image
split               rows of other splits than the one asked for are left out; a file without it is of any split
meta                an object with anything else
========== ======== =======================================================================================

In a CSV or TSV file lists and objects are written as JSON, such as ``["None", "007"]``, and an empty cell is a field
that is not there. Cells are read as text, so "None", "N/A", "007" and "1.0" stay what they are. Any other field is an
error.
"""

from collections.abc import Mapping
from typing import Any, cast, get_args

from robustlib.data.fields import ImageFolder, answers_of, label_in, options_of, text_of, text_or_empty
from robustlib.data.images import LazyImage
from robustlib.data.question import FieldError, Kind, Question

REQUIRED = ("id", "question")
OPTIONAL = ("image", "images", "options", "label", "answers", "kind", "category", "image_id", "split", "meta")
AS_JSON = ("images", "options", "label", "answers", "meta")
"""The fields whose cells in a table are JSON."""


def own_question(row: Mapping[str, Any], folder: ImageFolder, dataset: str) -> Question:
    """Return the question of a row whose fields are all known.

    Raises:
        FieldError: a field is missing or has a wrong value.
    """
    options = () if row.get("options") is None and row.get("label") is None else options_of(row, "options")
    label, answers = label_in(row, "label", options), answers_of(row, "answers")
    if label < 0 if options else not answers:
        raise FieldError("label" if options else "answers", "is missing, so no answer could be scored.")
    names, images = _images(row, folder)
    name = text_of(row, "id")
    return Question(
        id=name,
        image=images[0] if images else None,
        image_id=text_or_empty(row, "image_id") or "+".join(names) or name,
        text=text_of(row, "question"),
        kind=_kind(row, options),
        options=options,
        label=label,
        answers=answers or (options[label],),
        category=text_or_empty(row, "category"),
        dataset=dataset,
        meta=_meta(row),
        more_images=tuple(images[1:]),
    )


def _images(row: Mapping[str, Any], folder: ImageFolder) -> tuple[list[str], list[LazyImage]]:
    field = "image" if row.get("images") is None else "images"
    one = text_or_empty(row, "image")
    names = row["images"] if field == "images" else [one] * bool(one)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FieldError(field, f"must be a list of paths, got {names!r}.")
    if one and field == "images":
        raise FieldError(field, "give either image or images, not both.")
    return names, [folder.image(name, field) for name in names]


def _kind(row: Mapping[str, Any], options: tuple[str, ...]) -> Kind:
    kind = text_or_empty(row, "kind") or ("choice" if options else "open")
    if kind not in get_args(Kind) or (kind == "choice" and not options):
        raise FieldError("kind", f"must be one of {get_args(Kind)}, and choice needs options, got {kind!r}.")
    return cast(Kind, kind)


def _meta(row: Mapping[str, Any]) -> dict[str, Any]:
    meta = row.get("meta")
    if meta is None:
        return {}
    if not isinstance(meta, dict):
        raise FieldError("meta", f"must be an object, got {meta!r}.")
    return meta

"""easy-VQA as multiple choice: the questions and pictures of `easy_vqa`, each with answers to choose from.

Questions about shape or colour have four options: the right answer, then answers of the same category drawn at random,
and where those run out, as after three shapes, answers of the other one. So every option is an answer of the data set,
which any model trained on it knows. Questions about presence are answered by yes or no.
"""

from dataclasses import replace

from robustlib.data import easy_vqa
from robustlib.data.question import YES_NO, Question
from robustlib.seeding import generator

OPTIONS = 4
_ANSWERS = {"shape": easy_vqa.SHAPES, "colour": easy_vqa.COLOURS}


def load(split: str) -> tuple[Question, ...]:
    """Return the questions of the split "train" or "test", in the order of `easy_vqa`.

    A question's options depend on its id alone, so a sample of the questions has the options that all of them have.

    Raises:
        UnknownNameError: another split.
    """
    return tuple(_with_options(question) for question in easy_vqa.load(split))


def _with_options(question: Question) -> Question:
    right = question.answers[0]
    options = _draw(right, question) if question.kind == "open" else YES_NO
    kind = "choice" if question.kind == "open" else question.kind
    return replace(question, kind=kind, options=options, label=options.index(right), dataset="easy_vqa_choice")


def _draw(right: str, question: Question) -> tuple[str, ...]:
    """Return the right answer and random wrong ones, in random order."""
    random = generator("easy_vqa_choice", question.id)
    alike = _ANSWERS[question.category]
    unlike = [answer for answers in _ANSWERS.values() if answers != alike for answer in answers]
    wrong = [answer for group in (alike, unlike) for answer in random.permutation(group).tolist() if answer != right]
    return tuple(random.permutation([right, *wrong[: OPTIONS - 1]]).tolist())

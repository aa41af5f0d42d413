r"""What a model wrote, without the dress: thinking left out, markup and typography made plain."""

import re
import unicodedata

_TAG = r"(?:think|thinking|thought|reasoning)[>▷]"
_THINKING_OPENS = re.compile(rf"[<◁]{_TAG}", re.IGNORECASE)
_THINKING_ENDS = re.compile(rf"[<◁]/{_TAG}", re.IGNORECASE)

_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("\u2018\u2019\u02bc", "'")  # single quotation marks
    | dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb\u300c\u300d\u300e\u300f", '"')  # double ones, also East Asian
    | dict.fromkeys("\u2013\u2014", " - ")  # dashes
    | {"\u2212": "-", "\u3010": "[", "\u3011": "]", "\u3001": ",", "\u3002": "."}  # minus, brackets, comma, full stop
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufe0f\ufeff")  # invisible
)
_BRACED = r"((?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})*)"
_PLAIN: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.MULTILINE), plain)
    for pattern, plain in (
        (r"\r\n?|[\v\f\u0085\u2028\u2029]", "\n"),
        (rf"\\+boxed *\{{{_BRACED}\}}", r"\nAnswer: \1\n"),
        (r"<\|begin_of_box\|>(.*?)<\|end_of_box\|>|<answer>\s*([^<]*?)\s*</answer>", r"\nAnswer: \1\2\n"),
        (r"<\|\w+\|>|</?(?:s|eos|pad|end_of_turn|end_of_utterance)>", " "),  # special tokens
        (rf"\\(?:text|mathrm)\w*\{{{_BRACED}\}}", r"\1"),
        (r"\\[()\[\]]", " "),
        (r"(?-i:</?(?:b|strong)>)", "**"),
        (r"(?<!\w)[\"']([a-z])[\"'](?!\w)", r" \1 "),
        (r"(?<![\w*])\*{1,3}\(?([a-z])\)?[.:]?\*{1,3}(?![\w*])", r"(\1)"),
        (r"(?<![\w*])\*\*\(?([a-z])[).:]+ +(?=[^*\n]*\*\*)", r"(\1) "),
        (r"(?<!\w)(?:[\[{]([a-z])[\]}]|<((?-i:[A-Z]))>)", r"(\1\2)"),
        (r"\*\*|__|`", ""),
        (r"^[ \t]*(?:#{1,6} |[*•] |- (?=[a-z(]))", ""),
        (r"[^\S\n]+", " "),
        (r" +(?=[.,;:!?](?:\s|$))", ""),
        (r" ?\n ?", "\n"),
    )
)


def without_thinking(response: str) -> str | None:
    """Return what a response says outside its thinking; None where thinking never ends.

    A closing tag without an opening one, as chat templates that open the thinking themselves leave it, ends thinking
    that began with the response.
    """
    *closed, rest = _THINKING_ENDS.split(response)
    if _THINKING_OPENS.search(rest):
        return None
    return "\n".join([*(_THINKING_OPENS.split(part)[0] for part in closed if _THINKING_OPENS.search(part)), rest])


def tidy(text: str) -> str:
    r"""Make markup and typography plain.

    Full-width and circled letters become ordinary ones (NFKC), ``\boxed{...}`` and its like a line "Answer: ...", a
    letter in bold or in any brackets "(X)". Other markup, special tokens and doubled blanks go.
    """
    plain = unicodedata.normalize("NFKC", text).translate(_TYPOGRAPHY)
    for pattern, replacement in _PLAIN:
        plain = pattern.sub(replacement, plain)
    return plain.strip()

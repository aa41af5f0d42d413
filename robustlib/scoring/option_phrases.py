"""The words by which people and models commit to an option, or turn one down.

Patterns for text that `tidy` has cleaned. The rows of a group are languages, or kinds of phrase: to add a language, add
its words.
"""

import re


def _any_of(*rows: str) -> str:
    return f"(?:{'|'.join(rows)})"


WORD = r"(?-i:[0-9A-Za-z\u00c0-\u1fff])"
"""A letter or digit of an alphabet whose words stand apart. Chinese, Japanese and Korean are not among them: they may
touch a "B" without making it part of a word."""
_START = rf"(?<!{WORD})"
_END = rf"(?!{WORD}|['-]{WORD})"

_ANSWER = _any_of(
    r"answers?(?: (?:choice|option|letter))?|ans|choice|option|letter|selection|solution|conclusion",
    r"response|guess|pick|(?:final|correct)(?=:)",
    r"antwort(?:möglichkeit)?|lösung|buchstabe",
    r"r[ée]ponse|choix|lettre",
    r"respuesta|opci[óo]n|letra",
    r"risposta|opzione|scelta|lettera",
    r"resposta|op[çc][ãa]o|alternativa|escolha",
    r"antwoord|svar(?:et)?|odpowied[źz]|cevap|jawaban|đáp án",
    r"ответ|вариант|буква|відповідь",
    r"答案|选项|選項|正解|答え|回答|정답|답",
    r"الإجابة|الجواب|उत्तर",
)
_CORRECT = r"(?:correct[aeo]?|corrett?[ao]|finale?|exacte|juste|giusta|esatta|الصحيحة)"
_ABOUT = r"(?: (?:to|for|of|among|from|in|given|here)\b[^.:\n]{0,60}?|, [^,.:\n]{1,30},)?"
_IS = _any_of(
    r"(?:would|should|must|will|could|might|may) be|(?:seems|appears) to be|is",
    r"ist|lautet|wäre|est|serait|es|sería|è|sarebbe|é|seria|är|er|adalah|là|это|هي|هو",
)
_IS_UNSPACED = "(?:应该是|應該是|应为|是|为|為|は|が|은|는)"

ANSWER_CUE = re.compile(
    rf"{_START}{_ANSWER}(?: {_CORRECT})?[\"')\]]*"
    rf"{_ABOUT}(?: {_IS}(?!{WORD}|') ?:?|{_IS_UNSPACED} ?:?|(?P<heading> ?(?::|=+>?|→|->)| -+>? |\n))",
    re.IGNORECASE,
)
"""What announces an answer: "the answer is", "Final answer:", "Respuesta correcta:". A heading, which has a mark or a
line break in place of the verb, promises that the answer follows: what stood before it no longer counts."""

CHOICE_CUE = re.compile(
    _START
    + _any_of(
        r"choose|pick|select|opt for|vote for|settle (?:on|for)|go(?:ing)? with",
        r"ich (?:wähle|nehme)|je choisi(?:s|rais)|elijo|escojo|scelgo|escolho|выбираю",
        "选择|選擇|选|選",
    )
    + ":?",
    re.IGNORECASE,
)
"""A verb of choosing."""

CONCLUSION_CUE = re.compile(
    _START
    + _any_of(
        r"so|therefore|thus|hence|leav(?:es|ing)|i mean|(?:no|wait|actually|correction)(?=[,:])",
        r"daher|donc|por lo tanto|quindi|portanto|поэтому|因此|所以|よって|따라서",
    )
    + "[,:]?",
    re.IGNORECASE,
)
"""A word of conclusion, or of a change of mind."""

_FITTING = r"(?:likely|appropriate|accurate|plausible|suitable|logical|fitting)"
VERDICT = re.compile(
    rf"{_START}(?<![-'])\(?(?P<letter>[A-Z])\)?"
    + _any_of(
        r" (?:is|ist|est|es|è|é|está|это|seems|looks|must be|would be)"
        rf"(?: (?:the|la|le|die|most|only|clearly|{_FITTING}))* ",
        " ?(?:选项|選項)? ?[是が가이为]? ?",
    )
    + _any_of(
        rf"(?:{_CORRECT}|richtig|верн\w+|правильн\w+)\b|(?:more|most) {_FITTING}\b",
        r"(?:right|best|better)(?= ?(?:[.,;!\n)]|$)| (?:answer|choice|option|one|fit|match|because|since|and)\b)",
        r"(?:answer|choice|antwort|réponse|respuesta|risposta|resposta)\b",
        "正确|正確|正しい|正解|对的|맞|정답",
    )
    + r"(?! ?\?)"
)
"""An option declared right: "(B) is correct", "B est juste", "Bが正解"."""

FILLER = re.compile(
    rf"(?:[\W_]|{_START}"
    + _any_of(
        _ANSWER,
        r"(?:the|la|le|el|il|die|das|der|(?-i:an?))(?= \S)",
        r"(?:most )?(?:likely|probably|definitely|clearly|certainly|indeed|simply|therefore|thus)|maybe|perhaps",
        r"i(?:'d| would)? (?:think|believe|say|guess|answer)(?: that)?|(?:it|this|that)(?:'s| is)|that|to be",
        r"either|both|clear|obvious|as follows|without (?:a )?doubt|not \(?[A-Z]\)?,? but",
        r"c'est|es ist|das ist|это|选择|選擇|选|選",
    )
    + rf"{_END}){{0,24}}",
    re.IGNORECASE,
)
"""What may stand between the announcement and the answer."""

REASON = _any_of(
    r"because|since|due|as|but|not|which|rather|instead",
    r"weil|denn|car|parce|puisque|porque|perch[ée]|pois|omdat|потому|так как",
)
"""Words by which a sentence goes on after the answer."""

AND = r"(?: (?:and|or|und|oder|et|ou|y|o|e|и|или)\b|和|或|及)"
JOINED = rf"(?:[,;/&+|]|{AND})"
"""What joins the options of an answer that names several."""

MENTION = re.compile(
    r"\((?P<bracketed>[A-Za-hj-z])\)"
    rf"|^(?P<listed>[A-Z])[).:](?!{WORD})"
    rf"|{_START}(?i:{_ANSWER}) ?(?P<named>[A-Z]|[a-z](?=[.,;!?\n)]|$)){_END}"
    rf"|(?:{_START}(?i:is|be|like|match(?:es)?|fits?|corresponds? to|probably|likely|maybe|perhaps|definitely"
    r"|say|think|guess|answer)|'s) (?P<said>[A-Z](?=[.;!?\n]|$)|[A-HJ-Z](?=,))",
    re.MULTILINE,
)
"""A letter that can be no word: in brackets, as the mark of a line, after "option", at the end of "it must be B."."""

DOUBT_BEFORE_CUE = re.compile(
    _any_of(
        r"\b(?:if|whether|unless|doubt|no|not|never|cannot|which|what|at first|first|initially|tempt\w+)|n't",
        r"\b(?:instead of|rather than)",
        r"\b(?:one|you|some|many|people|others) (?:(?:might|may|could|would) )?(?:think|say|assume|guess|choose|pick)",
    )
    + r"(?: |\b(?:i|we|you|it|is|be|that|to|the|an?|true|sure|think|thought|believe|say|correct|right|best|final"
    r"|enough|information|reason|way|able|possible)\b)*$",
    re.IGNORECASE,
)
"""What takes the commitment out of the announcement that follows: "if the answer is", "I do not choose"."""

CLAUSE_END = re.compile(
    _any_of(
        r"[.!?;:\n]|,(?= (?:it|this|that|there|they|the|an?|i|we|you|so)\b)",
        r"\b(?:but|however|so|therefore|thus|hence|then|yet|(?:instead|rather)(?! (?:of|than)))\b",
    ),
    re.IGNORECASE,
)
REJECTED_BEFORE = re.compile(
    _any_of(
        r"\b(?:not|never|cannot|no|neither|nor|without|unless|whether|if|unsure|unclear|unable|sorry)\b|n't\b",
        r"\b(?:instead of|rather than|other than|than|unlike|except|versus|vs)\b",
        r"\b(?:consider|exclud|eliminat|reject|discard|compar|examin|rul(?:e|ed|ing) out)[^,]*$",
        r"\b(?:start(?:ing)? with|look(?:ing)? at|(?:which|what) (?:option|answer|letter))\b[^,]*$",
        r"\b(?:is|are|could|can|does) (?:it|this|that|there)\b[^,]*$",
        r"\b(?:nicht|keine?|pas|jamais|nunca|não|не|нет)\b|不|没|沒|無",
    ),
    re.IGNORECASE,
)
"""What turns down, or only weighs or asks for, an option that follows in the same clause."""

_BE = r"(?:is|are|was|were|seems|looks|would|could|can|might|may|must|should|has|does|do|did|be|been|to|wo)"
REJECTED_AFTER = re.compile(
    r"\)?(?: ?[,:]| ?-|[.!]?(?= (?:wait|no|hmm|actually|but|that|this|incorrect|wrong)\b))? ?"
    r"(?:(?:but|which|that|it|this|wait|no|hmm|actually|however|though)[ ,]+)*"
    + _any_of(
        rf"(?:{_BE}\b ?|{_BE}(?=n't))+(?:(?:clearly|also|definitely|obviously|likely|simply|just|therefore|thus) )*"
        r"(?:not\b|n't\b|incorrect|wrong|false|invalid|out\b|eliminated|excluded|ruled|unlikely|rejected|impossible)",
        r"(?:(?:it|that|this)'s )?(?:not (?:right|correct)|incorrect|wrong|false)\b|cannot\b",
        r"\? no\b|ist (?:falsch|nicht)|n'est pas|no es|non è|não é|неверн|不对|不是|错|✗|❌|✘",
    ),
    re.IGNORECASE,
)
"""What turns down the option before it: "is wrong", ", but it is incorrect", ". Wait, that is not right"."""

FUNCTION_WORDS = frozenset(
    ("a", "all", "an", "and", "i", "in", "is", "it", "no", "none", "not", "of", "on", "the", "to")
)
"""Options that are too common as words to be read inside a sentence."""

REFUSAL = re.compile(
    r"\W*(?:(?:i(?:'m| am) )?(?:very |so )?(?:sorry|unfortunately|apologies)[,.]?(?: but)? ?)?"
    + _any_of(
        r"i (?:can't|cannot|could not|couldn't|do not know|don't know|don't see|do not see)\b",
        r"i(?:'m| am) (?:unable|not able|not sure|unsure|an ai)\b|as an? (?:ai|language model)\b",
        r"(?:it is |it's )?(?:impossible|not possible) to\b|cannot (?:be )?(?:determine|answer|tell|see)",
        r"(?:the|this) (?:image|picture|photo) is (?:blank|missing|not|too|unclear)",
    )
    + r"(?!.*\b(?:but|however|though|still|best guess)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""How a response begins that declines to answer, and does not think better of it."""

SERVICE_ERROR = re.compile(
    r"\W*"
    + _any_of(
        r"(?:\w+\.)*\w*(?:error|exception)(?: code)?[\"']? ?(?:[:({]|\d)",
        r"(?:\w+ ){1,2}error(?: code)?[\"']? ?(?:[:({]|\d)|(?:\w+ ){1,3}error (?:has )?occurred|traceback \(most",
        r"(?:http )?[45]\d\d[ :-]+\w+ \w+|internal server error|service unavailable|bad gateway|gateway time-?out",
        r"(?:\w+ )?rate limit|too many requests|(?:the )?request timed out|connection (?:error|refused|reset|timed)",
        r"failed to obtain answer|cuda out of memory",
    ),
    re.IGNORECASE,
)
"""How a response begins that is a service's message and no answer."""

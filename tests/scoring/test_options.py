from itertools import permutations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from robustlib.errors import InvalidTypeError, InvalidValueError
from robustlib.scoring.options import RULES, extract_option, read_option

ANIMALS = ("cat", "dog", "cow", "hen")
TEN = ("ant", "bee", "cod", "doe", "elk", "fox", "gnu", "hen", "ibis", "jay")

# Each block: the options, then (response, the letter that a careful reader takes from it or "", the rule that decides).
READ = {
    "a letter and no more": (
        ANIMALS,
        [
            ("B", "B", "last line"),
            ("b", "B", "last line"),
            (" B.\n", "B", "last line"),
            ("B)", "B", "last line"),
            ("(b)", "B", "last line"),
            ("[B]", "B", "last line"),
            ("{B}", "B", "last line"),
            ("**B**", "B", "last line"),
            ("`B`", "B", "last line"),
            ('"B"', "B", "last line"),
            ("$B$", "B", "last line"),
            ("<b>B</b>", "B", "last line"),
            ("<B>", "B", "last line"),
            ("\uff22\u3002", "B", "last line"),  # full-width B and full stop
            ("\uff08\uff22\uff09", "B", "last line"),
            ("\u24b7", "B", "last line"),  # circled B
            ("\u3010B\u3011", "B", "last line"),
            ("\ufeffB\u200b", "B", "last line"),
            ("\u2705 B", "B", "last line"),
            ("B<|im_end|>", "B", "last line"),
            ("B</s>", "B", "last line"),
            ("Option B", "B", "last line"),
            ("option b", "B", "last line"),
            ("B. B. B.", "B", "opening"),
        ],
    ),
    "a letter and words": (
        ANIMALS,
        [
            ("B. dog", "B", "last line"),
            ("B.dog", "B", "last line"),
            ("B dog", "B", "last line"),
            ("(B) - dog", "B", "last line"),
            ("**B) dog**", "B", "last line"),
            ("B because it barks", "B", "opening"),
            ("b, because it barks", "B", "opening"),
            ("B (it barks)", "B", "opening"),
            ("B. It shows a dog, not a cat.", "B", "opening"),
            ("B\n\nThe ears are floppy, unlike option A.", "B", "opening"),
            ("Option B because A is wrong", "B", "opening"),
            ("D. A, B, and C are all incorrect.", "D", "opening"),
            ("It barks.\n\nB", "B", "last line"),
            ("It barks, so what?\n**B. dog**", "B", "last line"),
            ("B\nThe ears are floppy.", "B", "opening"),
        ],
    ),
    "an announced answer": (
        ANIMALS,
        [
            ("Answer: B", "B", "statement"),
            ("answer: b", "B", "statement"),
            ("**Answer:** (B) dog", "B", "statement"),
            ("Answer: $B", "B", "statement"),
            ("### Final Answer\n\n**B**", "B", "statement"),
            ("Answer => B", "B", "statement"),
            ("Final answer: B\n\nConfidence: 80%", "B", "statement"),
            ('{"answer": "B", "reason": "it is not A"}', "B", "statement"),
            ("{'answer': 'b'}", "B", "statement"),
            ("<answer>\nB\n</answer>", "B", "statement"),
            ("<|begin_of_box|>B<|end_of_box|>", "B", "statement"),
            ("The answer is b.", "B", "statement"),
            ("The correct answer is:\n\n**B) dog**\n\nDogs bark, while a cat meows.", "B", "statement"),
            ("The best choice among these would be (B).", "B", "statement"),
            ("The answer, therefore, is B.", "B", "statement"),
            ("The answer is most likely option B", "B", "statement"),
            ("The answer is A because it purrs", "A", "statement"),
            ("The answer is B because A is wrong", "B", "statement"),
            ("As it is not red the answer is B", "B", "statement"),
            ("the answer is dog because the cat is absent", "B", "statement"),
            ("The answer is the small dog on the left.", "B", "statement"),
            ("\\boxed{B}", "B", "statement"),
            ("So $\\boxed{\\text{(B) dog}}$.", "B", "statement"),
            ("I'd go with B rather than A.", "B", "statement"),
            ("I choose the dog.", "B", "statement"),
            ("Therefore: B", "B", "statement"),
            ("I rule out A, B, and C, leaving D.", "D", "statement"),
            ("Option B is correct because it barks.", "B", "statement"),
            ("Between (A) and (B), (A) is better.", "A", "statement"),
            ("While option A seems plausible, option B is more accurate.", "B", "statement"),
            ("Therefore C is the most appropriate answer.", "C", "statement"),
            ("Answer: D. A, B and C are wrong.", "D", "statement"),
            ("Answer: B, not A", "B", "statement"),
            ("Answer: B. dog\n\nA. cat: too small\nC. cow: too large", "B", "statement"),
            ("Answer to the question: B", "B", "statement"),
            ("A. cat\nB. dog\nC. cow\nD. hen\n\nAnswer: B", "B", "statement"),
        ],
    ),
    "the last committed answer": (
        ANIMALS,
        [
            ("I considered (A), but it is incorrect. Final answer: D.", "D", "statement"),
            ("Answer: A ... actually, ANSWER: B", "B", "statement"),
            ("The answer is A. Wait, no, the answer is B.", "B", "statement"),
            ("\\boxed{A}\n\nLet me check.\n\n\\boxed{C}", "C", "statement"),
            ("A. No, B.", "B", "statement"),
            ("Answer: A? No, B.", "B", "statement"),
            ("Answer: A\n\nHmm.\n\nAnswer: cannot be determined", "", "statement"),
            ("The answer is B. One might think the answer is A.", "B", "statement"),
            ("Answer: B\n\nMany would say the answer is A, but that's wrong.", "B", "statement"),
            ("If the answer is A, it purrs. The answer is B.", "B", "statement"),
            ("I don't think the answer is A. I choose C.", "C", "statement"),
            ("The answer is B. Don't choose A.", "B", "statement"),
            ("Antwort:\n\nAntwort: C", "C", "statement"),
        ],
    ),
    "thinking": (
        ANIMALS,
        [
            ("<think>Maybe A.</think>B", "B", "last line"),
            ("<think>Answer: A</think>\n\nAnswer: B", "B", "statement"),
            ("Maybe A. Answer: A</think>B", "B", "last line"),
            ("B<think>was that right?</think>", "B", "last line"),
            ("<THINKING>A</THINKING>The answer is C", "C", "statement"),
            ("<think>a<think>b</think>c</think>D", "D", "last line"),
            ("<think>A</think>", "", ""),
        ],
    ),
    "mentioned letters": (
        ANIMALS,
        [
            ("The picture fits (B).", "B", "letter"),
            ("Looking at it, **B** fits.", "B", "letter"),
            ("The animal corresponds to option B.", "B", "letter"),
            ("It's not A, it's B.", "B", "letter"),
            ("The answer is not A. It is B.", "B", "letter"),
            ("A. Incorrect\nB. Correct\nC. Incorrect\nD. Incorrect", "B", "letter"),
            ("Hmm, A... or B? I'd say A.", "A", "letter"),
            ("A? B? C?", "", "opening"),
            ("It's between (A) and (B).", "", "letter"),
            ("Option A shows a cat. Option B shows a dog.", "", "letter"),
            ("Let me consider option A first.", "", ""),
            ("Which option is A?", "", ""),
            ("Is the answer B? No.", "", ""),
        ],
    ),
    "option texts": (
        ANIMALS,
        [
            ("dog", "B", "last line"),
            ("Dog.", "B", "last line"),
            ("the dog!", "B", "last line"),
            ("It barks.\n\ndog", "B", "last line"),
            ("Dog. A cat would meow.", "B", "opening"),
            ("The image shows a dog.", "B", "text"),
            ("A dog", "B", "text"),
            ("The animal is a dog, not a cat.", "B", "text"),
            ("It is not a cat, it is a dog.", "B", "text"),
            ("There is no cat; there is a dog.", "B", "text"),
            ("Unlike a cat, it is a dog", "B", "text"),
            ("The animal isn't a cat, dog or hen. It is a cow.", "C", "text"),
            ("Is it a cat?", "", ""),
            ("The cat chases the dog.", "", ""),
            ("dog or cat", "", "opening"),
            ("Answer: dog or cat", "", "statement"),
            ("There isn't a dog", "", ""),
            ("dogs", "", ""),
            ("bulldog", "", ""),
            ("dog-like", "", ""),
        ],
    ),
    "no single option": (
        ANIMALS,
        [
            ("A or B", "", "opening"),
            ("A, B", "", "opening"),
            ("A/B", "", "opening"),
            ("AB", "", ""),
            ("A B", "", ""),
            ("A\nB", "", "last line"),
            ("ANSWER: AB", "", "statement"),
            ("Answer: (A) cat or (B) dog", "", "statement"),
            ("The answer is either A or B.", "", "statement"),
            ("The answer is A, or maybe B", "", "statement"),
            ("\\boxed{A, B}", "", "statement"),
            ("Both A and B are correct.", "", "opening"),
            ("Neither A nor B", "", ""),
            ("A. cat\nB. dog\nC. cow\nD. hen", "", "last line"),
            ("(A) cat (B) dog (C) cow (D) hen", "", "opening"),
            ("Not A.", "", ""),
            ("B is wrong.", "", ""),
            ("The answer isn't B", "", ""),
            ("Answer: E", "", "statement"),
            ("E", "", "last line"),
            ("Answer: $LETTER", "", "statement"),
            ("Answer:", "", "statement"),
            ("None of the above", "", ""),
            ("", "", ""),
            ("...", "", ""),
        ],
    ),
    "refusals": (
        ANIMALS,
        [
            ("I'm sorry, I can't help with that.", "", "refusal"),
            ("I cannot tell whether it is a dog.", "", "refusal"),
            ("I\u2019m unable to see the image. Please describe the dog.", "", "refusal"),
            ("As an AI language model, I cannot view images (A).", "", "refusal"),
            ("I'm not sure, but I would go with B.", "B", "statement"),
            ("I can't see well, but it looks like a dog.", "B", "text"),
        ],
    ),
    "letters that are something else": (
        ANIMALS,
        [
            ("Based on the image", "", ""),
            ("C++ is a language", "", ""),
            ("Vitamin C", "", ""),
            ("H2O", "", ""),
            ("25 \u00b0C", "", ""),
            ("A = 5", "", ""),
            ("C'est la vie", "", ""),
            ("D'oh", "", ""),
            ("A-level", "", ""),
            ("triangle ABC", "", ""),
            ("B is right of A.", "", ""),
            ("A through D", "", ""),
        ],
    ),
    "A and I as words": (
        TEN,
        [
            ("I am not sure.", "", "refusal"),
            ("I, as an AI model, cannot see", "", ""),
            ("A picture of I. Newton", "", ""),
            ("I", "I", "last line"),
            ("I ibis", "I", "last line"),
            ("I choose I", "I", "statement"),
            ("Answer: I", "I", "statement"),
            ("Answer: I think it is B", "B", "statement"),
            ("Answer: A fox is seen", "F", "statement"),
            ("I think B", "B", "last line"),
            ("I see A.", "", ""),
            ("B. I am sure", "B", "opening"),
            ("Answer: B. DNA", "B", "statement"),
            ("So I pick.\nAnswer: B. Ant", "B", "statement"),
            ("i.e. the fox", "F", "text"),
            ("<i>Hm</i>, (i) fur, (ii) ears", "", ""),
            ("J'ai dit", "", ""),
            ("I can't decide between A and I.", "", "refusal"),
        ],
    ),
    "an option that begins with A": (
        ("a dog", "a cat"),
        [
            ("A cat", "B", "last line"),
            ("A cat.", "B", "last line"),
            ("Answer: A cat", "B", "statement"),
            ("A", "A", "last line"),
            ("Answer: a", "A", "statement"),
            ("A banana split", "", ""),
            ("B. A pretty girl", "B", "opening"),
        ],
    ),
    "options that look like missing values": (
        ("None", "N/A", "007", "1.0"),
        [
            ("None", "A", "last line"),
            ("N/A", "B", "last line"),
            ("The answer is 007.", "C", "statement"),
            ("It is 1.0", "D", "last line"),
            ("1", "", ""),
            ("Answer: 7", "", "statement"),
            ("none of these options", "", ""),
        ],
    ),
    "numbers": (
        ("1", "10", "100", "-1"),
        [
            ("10", "B", "last line"),
            ("-1", "D", "last line"),
            ("x = -1", "D", "text"),
            ("There are 10 dogs", "B", "text"),
            ("10.5", "", ""),
            ("1/2", "", ""),
            ("1000", "", ""),
        ],
    ),
    "yes and no": (
        ("yes", "no"),
        [
            ("No.", "B", "last line"),
            ("No, there is a dog", "B", "opening"),
            ("Yes, there is no doubt", "A", "opening"),
            ("The answer is no.", "B", "statement"),
            ("I have no idea", "", ""),
            ("There is no dog", "", ""),
            ("yes or no", "", "opening"),
        ],
    ),
    "options that are letters": (
        ("A", "B", "AB", "O"),
        [("AB", "C", "last line"), ("Answer: AB", "C", "statement"), ("O", "D", "last line"), ("B", "B", "last line")],
    ),
    "Roman numbers": (
        ("I", "II", "III", "IV"),
        [("III", "C", "last line"), ("I", "A", "last line"), ("I and III", "", "opening"), ("I, as an AI", "", "")],
    ),
    "options inside options": (
        ("red", "dark red", "blue", "red and blue"),
        [
            ("The car is dark red.", "B", "text"),
            ("red and blue", "D", "last line"),
            ("red", "A", "last line"),
            ("It is red, white and blue", "", "opening"),
        ],
    ),
    "case that tells options apart": (
        ("mW", "MW", "kW"),
        [("MW", "B", "last line"), ("mW", "A", "last line"), ("Mw", "", "last line"), ("KW", "C", "last line")],
    ),
    "long options": (
        ("It is raining.", "It is sunny.", "Not enough information.", "Both A and B"),
        [
            ("It is sunny", "B", "last line"),
            ("C. Not enough information", "C", "last line"),
            ("Answer: Both A and B", "D", "statement"),
            ("Answer: A and B", "", "statement"),
        ],
    ),
    "other languages": (
        ANIMALS,
        [
            ("Die richtige Antwort ist B.", "B", "statement"),
            ("Ich w\u00e4hle B.", "B", "statement"),
            ("La bonne r\u00e9ponse est (B)", "B", "statement"),
            ("C'est la r\u00e9ponse B.", "B", "last line"),
            ("La r\u00e9ponse n'est pas A.", "", ""),
            ("La respuesta correcta es B.", "B", "statement"),
            ("La risposta corretta \u00e8 la lettera B.", "B", "statement"),
            ("A resposta correta \u00e9 a letra B", "B", "statement"),
            ("Het juiste antwoord is B.", "B", "statement"),
            ("Odpowied\u017a: B", "B", "statement"),
            (
                "\u041f\u0440\u0430\u0432\u0438\u043b\u044c\u043d\u044b\u0439 \u043e\u0442\u0432\u0435\u0442: B",
                "B",
                "statement",
            ),
            ("\u7b54\u6848\u662fB\u3002", "B", "statement"),
            ("\u6b63\u786e\u7b54\u6848\u4e3a\uff1a**B**", "B", "statement"),
            ("\u6545\u9009\uff1aB", "B", "statement"),
            ("B\u662f\u6b63\u786e\u7684", "B", "statement"),
            ("\u7b54\u3048\u306f\u300cB\u300d\u3067\u3059\u3002", "B", "statement"),
            ("B\u304c\u6b63\u89e3\u3067\u3059\u3002", "B", "statement"),
            ("\uc815\ub2f5\uc740 B\uc785\ub2c8\ub2e4.", "B", "statement"),
            ("\u0627\u0644\u0625\u062c\u0627\u0628\u0629: B", "B", "statement"),
            ("\u0909\u0924\u094d\u0924\u0930: B", "B", "statement"),
        ],
    ),
}
ROWS = [
    pytest.param(response, options, letter, rule, id=f"{kind}: {response[:30]!a}")
    for kind, (options, rows) in READ.items()
    for response, letter, rule in rows
]


@pytest.mark.parametrize(("response", "options", "letter", "rule"), ROWS)
def test_a_careful_reader_agrees(response: str, options: tuple[str, ...], letter: str, rule: str) -> None:
    choice = ord(letter) - ord("A") if letter else None
    assert read_option(response, options) == (choice, "ok" if letter else "no_answer", rule)
    assert extract_option(response, options) == choice


@pytest.mark.parametrize("response", ["<think>Maybe A. Answer: A", "B<think>hm", "<think>x</think>B<think>"])
def test_thinking_that_never_ends_is_truncated(response: str) -> None:
    assert read_option(response, ANIMALS) == (None, "truncated", "thinking")


@pytest.mark.parametrize(
    "response",
    [
        "Failed to obtain answer via API.",
        "Error code: 429 - rate limit exceeded for option A",
        "openai.RateLimitError: Error code: 429 - {'error': {'message': 'B'}}",
        "Error: (A) cat not found",
        "HTTP 500 Internal Server Error (B)",
        "A server error occurred: (B)",
        '{"error": {"message": "dog not found"}}',
        "Request timed out. (B)",
    ],
)
def test_the_message_of_a_service_is_an_error(response: str) -> None:
    assert read_option(response, ANIMALS) == (None, "error", "service error")


def test_an_option_may_read_like_a_message() -> None:
    assert extract_option("404 Not Found", ("404 Not Found", "200 OK")) == 0


def test_letters_reach_as_far_as_the_options() -> None:
    options = [f"number {index}" for index in range(26)]
    assert [extract_option(f"Answer: {chr(65 + index)}", options) for index in range(26)] == list(range(26))


@pytest.mark.parametrize("unit", ["cat ", "the answer is ", "A or ", "so ", "**", "<think>x</think>", "(", "\u9009"])
def test_a_response_that_loops_is_read(unit: str) -> None:
    read_option(unit * 2000, ANIMALS)


def test_arguments_are_checked() -> None:
    with pytest.raises(InvalidTypeError, match="response must be text, got None"):
        read_option(None, ANIMALS)  # type: ignore[arg-type]  # the very mistake
    with pytest.raises(InvalidTypeError, match="sequence of texts, got 'cat'"):
        read_option("A", "cat")
    with pytest.raises(InvalidTypeError, match=r"sequence of texts, got \[1, 2\]"):
        read_option("A", [1, 2])  # type: ignore[list-item]  # the very mistake
    with pytest.raises(InvalidValueError, match="1 to 26 options, one a letter, got 0"):
        read_option("A", [])
    with pytest.raises(InvalidValueError, match="got 27"):
        read_option("A", ["x"] * 27)


def test_every_rule_decides_somewhere() -> None:
    decided = {rule for _, rows in READ.values() for *_, rule in rows} | {"service error"}
    assert {rule.name for rule in RULES} <= decided


PIECES = st.sampled_from(
    [
        "A",
        "B",
        "I",
        "J",
        "a",
        "(B)",
        "[C]",
        "**D**",
        "\\boxed{",
        "}",
        "answer",
        "Answer:",
        "the",
        "is",
        "not",
        "or",
        "and",
        ",",
        ".",
        ":",
        "?",
        "\n",
        "<think>",
        "</think>",
        "cat",
        "dog",
        "答案是",
    ]
)
WILD = st.one_of(st.text(), st.lists(PIECES).map(" ".join))
OPTIONS = st.lists(st.one_of(st.text(), st.sampled_from(ANIMALS)), min_size=1, max_size=10)


@given(WILD, OPTIONS)
def test_any_text_is_read_without_error(response: str, options: list[str]) -> None:
    choice, status, rule = read_option(response, options)
    assert (choice is None) == (status != "ok")
    assert choice is None or 0 <= choice < len(options)
    assert status == "no_answer" or rule


@given(WILD.filter(lambda text: "<think" not in text.lower()), OPTIONS, st.data())
@example("Answer: A", list(ANIMALS), None)
def test_a_final_answer_line_decides(text: str, options: list[str], data: st.DataObject | None) -> None:
    wanted = data.draw(st.integers(0, len(options) - 1)) if data else len(options) - 1
    read = read_option(f"{text}\nAnswer: {chr(65 + wanted)}", options)
    assert read == (wanted, "ok", "statement")


@given(st.lists(st.sampled_from(["It", "looks", "odd", "to", "me", "here", "1", "2", "\n", ".", "!"])), st.data())
def test_text_without_an_option_is_no_answer(words: list[str], data: st.DataObject) -> None:
    options = data.draw(st.permutations(ANIMALS))
    assert extract_option(" ".join(words), options) is None


@pytest.mark.parametrize("form", ["{}", "It is a {}.", "Answer: {}", "The answer is the {}.", "\\boxed{{{}}}", "A {}"])
def test_a_text_is_found_under_whatever_letter_it_stands(form: str) -> None:
    for order in permutations(ANIMALS):
        assert [order[extract_option(form.format(text), order) or 0] for text in order] == list(order)


@pytest.mark.parametrize(
    "form", ["{}", "({})", "{}.", "**{}**", "Answer: {}", "The answer is ({}).", "I choose {}", "It is {}."]
)
def test_a_letter_means_its_position(form: str) -> None:
    assert [extract_option(form.format(letter), TEN) for letter in "ABCDEFGHIJ"] == list(range(10))


@pytest.mark.parametrize(
    "form", ["{} or {}", "{} and {}", "{}, {}", "({}) or ({})", "Answer: {}/{}", "The answer is {} or {}."]
)
def test_two_letters_are_no_answer(form: str) -> None:
    pairs = list(permutations("ABCDEFGHIJ", 2))
    assert {extract_option(form.format(*pair), TEN) for pair in pairs} == {None}

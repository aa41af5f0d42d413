import pytest

from robustlib.errors import RobustlibError, UnknownNameError


def test_an_unknown_name_shows_near_misses_and_the_menu() -> None:
    message = str(UnknownNameError("model", "pocket/vlit", ["pocket/vilt", "pocket/blip"]))
    assert (
        message
        == "Unknown model 'pocket/vlit'. Did you mean 'pocket/vilt' or 'pocket/blip'? Known: pocket/blip, pocket/vilt."
    )


def test_a_long_menu_is_counted_and_an_empty_one_says_so() -> None:
    assert str(UnknownNameError("page", 7, map(str, range(100, 200)))).endswith("Known: 100 names from 100 to 199.")
    assert str(UnknownNameError("page", 7, [])) == "Unknown page 7. Known: none."


def test_it_is_both_a_lookup_error_and_one_of_ours() -> None:
    for kind in (LookupError, RobustlibError):
        with pytest.raises(kind, match="guassian"):
            raise UnknownNameError("corruption", "guassian", ["gaussian"])

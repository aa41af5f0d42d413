"""The page in a real browser: it opens, sorts, filters, prints, and shows hostile text as text."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from robustlib.report.page_text import figure_caption, inline, read_cells
from tests.report.page_site import HOSTILE, make_predictions, make_site

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
NONE = "\N{EN DASH}"
_FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    return make_site(folder, make_predictions(folder / "build" / "data"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no Chromium on PATH: the page is not opened in a browser")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, site: Path) -> Iterator[Page]:
    """The page, opened without a network; at the end nothing may have been asked of it, logged or thrown."""
    address, noise = (site / "index.html").as_uri(), []
    context = browser.new_context(viewport={"width": 1200, "height": 900}, offline=True)
    context.set_default_timeout(10_000)
    opened = context.new_page()
    opened.on("console", lambda message: noise.append(message.text))
    opened.on("pageerror", lambda error: noise.append(str(error)))
    opened.on("dialog", lambda dialog: noise.append(dialog.message))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    yield opened
    assert [url for url in asked if not url.startswith("data:")] == [address]
    assert noise == []
    context.close()


def column(page: Page, place: int) -> list[str]:
    cells = page.get_by_role("region", name="vqa_bench/toy, Table 1").locator(f"tbody tr > :nth-child({place})")
    return [text.strip() for text in cells.all_inner_texts()]


def test_it_shows_what_ran_and_every_table_and_figure(page: Page) -> None:
    expect(page).to_have_title("robustlib: tables and figures")
    expect(page.locator("#run")).to_contain_text("toy: 1 model, 8 questions")
    expect(page.locator("#run")).to_contain_text("numpy")
    assert page.locator(".entry h4").all_inner_texts() == ["Figure 2", "Table 1", "Long", "Noise"]
    entry = page.locator(".entry").first
    expect(entry.locator("figcaption code")).to_have_text("rises")
    links = entry.locator(".links a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert links == [f"vqa_bench/toy/figure2.{ending}" for ending in ("csv", "pdf", "png")]
    caption = page.get_by_role("region", name="Table 1").locator("caption")
    assert caption.inner_html() == "Shares &gt; 0 of <strong>all</strong>."
    assert page.get_by_role("button", name="rel").inner_html() == "A<sup>rel</sup><sub>v</sub>"
    decode = "images => Promise.all(images.map((image) => { image.loading = 'eager'; return image.decode(); }))"
    assert len(page.locator("img").evaluate_all(decode)) > 10


def test_hostile_text_is_shown_as_text(page: Page) -> None:
    assert page.locator("script").count() == 1
    assert HOSTILE in " ".join(column(page, 1))
    page.locator("#change").select_option("vlm_robustbench/invert")
    case = page.locator(".case:visible").first
    expect(case.locator("summary")).to_contain_text(HOSTILE)
    case.evaluate("details => { details.open = true; }")
    expect(case).to_contain_text(f"Options: very · rather · hardly {HOSTILE} · not")
    assert any(HOSTILE in text for text in page.locator("td.wrong").all_text_contents())


def test_headings_sort_numbers_as_numbers_and_what_is_none_last(page: Page) -> None:
    heading = page.get_by_role("region", name="Table 1").get_by_role("columnheader", name="rel")
    before = column(page, 2)
    assert before == ["10.00", NONE, "-2.50", "9.25"]
    for order, state in (
        (["-2.50", "9.25", "10.00", NONE], "ascending"),
        (["10.00", "9.25", "-2.50", NONE], "descending"),
        (before, "none"),
    ):
        heading.get_by_role("button").click()
        assert column(page, 2) == order
        expect(heading).to_have_attribute("aria-sort", state)
    page.get_by_role("region", name="Table 1").get_by_role("button", name="Model").press("Enter")
    assert column(page, 3) == ["2", "1", "3", "4"]
    expect(heading).to_have_attribute("aria-sort", "none")
    page.get_by_role("region", name="Table 1").get_by_role("button", name="Strength").click()
    assert column(page, 4) == ["0.08", "0.15, 1", "0.7", "none"]


def test_filters_hide_the_rest_and_say_how_much_is_left(page: Page) -> None:
    page.get_by_label("Filter tables and figures").fill("MANY rows")
    assert page.locator(".entry:visible h4").all_inner_texts() == ["Long"]
    expect(page.locator("#found")).to_have_text("1 of 4")
    page.locator(".entry:visible summary").click()
    page.get_by_label("Filter rows").fill("row-1")
    assert page.locator(".entry:visible tbody tr:visible").count() == 11
    page.get_by_label("Filter tables and figures").fill("nothing like it")
    expect(page.locator("#vqa_bench")).to_be_hidden()
    page.get_by_label("Filter tables and figures").fill("")
    expect(page.locator("#vqa_bench")).to_be_visible()
    changes = page.locator("[data-change]").evaluate_all("tables => tables.map((table) => table.dataset.change)")
    rarest = min(sorted(changes), key=changes.count)
    page.get_by_label("Change").select_option(rarest)
    expect(page.locator("#asked")).to_have_text(f"{changes.count(rarest)} of 4")
    assert page.locator(".case:visible").count() == changes.count(rarest) < 4
    page.get_by_label("Question or answer").fill("no model says this")
    expect(page.locator("#asked")).to_have_text("0 of 4")


def test_a_keyboard_reaches_everything(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the results")).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    scroll = page.locator(".scroll").evaluate_all("boxes => boxes.every(box => box.tabIndex === 0 && box.ariaLabel)")
    assert scroll
    unnamed = "fields => fields.filter(field => !field.labels.length).length"
    assert page.locator("input, select").evaluate_all(unnamed) == 0
    assert page.locator("img:not([alt])").count() == 0


def test_it_fits_a_phone_and_follows_the_dark(page: Page) -> None:
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.set_viewport_size({"width": 360, "height": 740})
    page.evaluate("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_page_in_the_build_folder_fits_a_phone_too(browser: Browser, site: Path) -> None:
    opened = browser.new_page(viewport={"width": 360, "height": 740})
    opened.goto((site.parent / "build" / "index.html").as_uri())
    expect(opened.get_by_role("region", name="seconds of each notebook")).to_be_visible()
    assert opened.evaluate("document.documentElement.scrollWidth") <= 360
    opened.close()


def test_print_opens_everything_and_leaves_out_controls(page: Page) -> None:
    cell = page.get_by_text("row-24")
    expect(cell).to_be_hidden()
    page.emulate_media(media="print")
    assert cell.evaluate("cell => cell.checkVisibility()")
    expect(page.get_by_label("Filter tables and figures")).to_be_hidden()
    printed = page.pdf(prefer_css_page_size=True)
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) > 1


def test_only_the_page_in_the_build_folder_tells_machine_and_seconds(site: Path) -> None:
    committed, built = ((folder / "index.html").read_text() for folder in (site, site.parent / "build"))
    assert "12.3</td>" in built
    assert "cores." in built
    assert 'href="../figures/vqa_bench/toy/table1.tex"' in built
    for secret in ("12.3</td>", "cores.", "2026-01-02", str(site.parent)):
        assert secret not in committed
    assert str(site.parent) not in built


def test_without_predictions_it_says_so(site: Path, tmp_path: Path) -> None:
    from robustlib.report.index import write_index

    copy = shutil.copytree(site, tmp_path / "figures")
    _, path = write_index(copy, tmp_path)
    assert "no predictions were at hand" in path.read_text()


def test_records_of_older_sweeps_and_odd_names_are_shown(site: Path, tmp_path: Path) -> None:
    from robustlib.report.index import write_index

    copy = shutil.copytree(site, tmp_path / "figures")
    place = (copy / "vqa_bench" / "toy").rename(copy / "javascript:50% #1")
    record = json.loads((place / "provenance.json").read_text())
    for field in ("corruptions", "treatments"):
        del record["source"]["profile"][field]
    (place / "provenance.json").write_text(json.dumps(record))
    readme, path = write_index(copy, tmp_path)
    page = path.read_text()
    assert 'href="javascript%3A50%25%20%231/table1.tex"' in page
    assert 'href="javascript%3A50%25%20%231/provenance.json"' in page
    assert "[CSV](javascript%3A50%25%20%231/table1.csv)" in readme.read_text()


def test_no_two_parts_have_one_id(page: Page) -> None:
    ids = page.locator("[id]").evaluate_all("parts => parts.map((part) => part.id)")
    assert len(ids) == len(set(ids)) > 10


def test_only_marks_of_our_own_become_elements() -> None:
    cell = inline('<u>1.5</u> <img src=x onerror="alert(1)"> $A_v^{rel}$')
    assert cell == "<u>1.5</u> &lt;img src=x onerror=&#34;alert(1)&#34;&gt; A<sub>v</sub><sup>rel</sup>"


def test_every_figure_of_the_notebooks_has_words_before_it() -> None:
    saving = re.compile(r"save_(\w+_)?figures?\(")
    checked = 0
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        cells = read_cells(path)
        for place, cell in enumerate(cells):
            if cell.cell_type == "code" and saving.search(cell.source):
                before = max((at for at in range(place) if cells[at].cell_type == "markdown"), default=0)
                assert figure_caption(cells[before : place + 1], "any"), f"{path.name}, cell {place}"
                checked += 1
    assert checked > 10

"""Is every text of a figure large enough to read, inside the figure, and clear of the others?"""

from itertools import combinations

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from robustlib.report.figures import COLUMN_WIDTH, NOTE_SIZE, PAGE_WIDTH


def read_figure(figure: Figure) -> str:
    """Assert that a figure can be read, and return its words."""
    assert figure.get_figwidth() in (COLUMN_WIDTH, PAGE_WIDTH)
    assert not figure.get_suptitle()
    shown = _drawn_texts(figure)
    canvas = figure.bbox.padded(1)
    for text, box in shown:
        assert float(text.get_fontsize()) >= NOTE_SIZE
        assert canvas.contains(box.x0, box.y0), f"{text.get_text()!r} leaves the figure"
        assert canvas.contains(box.x1, box.y1), f"{text.get_text()!r} leaves the figure"
    # The box of a slanted text is far larger than the text.
    level = [(text.get_text(), box.padded(-1)) for text, box in shown if text.get_rotation() in (0, 90)]
    for (one, box), (other, other_box) in combinations(level, 2):
        assert not box.overlaps(other_box), f"{one!r} overlaps {other!r}"
    return " ".join(text.get_text().replace("\n", " ") for text, _ in shown)


def _drawn_texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """Every text that is drawn, with its box in pixels; ticks outside their axis are never drawn."""
    figure.draw_without_rendering()
    hidden: set[Artist] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            outside = [tick for tick in axis.get_major_ticks() if not low <= tick.get_loc() <= high]
            hidden.update(label for tick in outside for label in (tick.label1, tick.label2))
    texts = [text for text in figure.findobj(Text) if isinstance(text, Text) and text not in hidden]
    return [(text, text.get_window_extent()) for text in texts if text.get_visible() and text.get_text().strip()]

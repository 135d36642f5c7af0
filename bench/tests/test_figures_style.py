"""The style of figures: the same bytes every time, names as they are, distinct methods, readable legends and axes."""

from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.patches import Patch
from slova_bench import labels
from slova_bench.experiments import experiments
from slova_bench.figures import ablation, critical, reliability, risk_coverage, save, style
from slova_bench.tables.ranks import shift_comparison


def test_saving_twice_gives_the_same_bytes_whatever_the_readers_settings(tmp_path, shift_rows):
    rows = shift_rows()
    first = save(ablation.plot(rows), tmp_path / "first")
    with matplotlib.rc_context({"font.size": 20, "svg.hashsalt": "other", "axes.facecolor": "pink"}):
        figure = ablation.plot(rows)
        second = save(figure, tmp_path / "second")
        third = save(figure, tmp_path / "third")
    for one, other, again in zip(first, second, third, strict=True):
        assert one.read_bytes() == other.read_bytes() == again.read_bytes()


def test_names_are_drawn_as_they_are(tmp_path, monkeypatch, shift_rows, histogram):
    monkeypatch.setitem(style.STYLE, "svg.fonttype", "none")  # letters instead of their outlines
    name = "<b>$x^1$&50%"
    drawn = {
        "boxes": ablation.plot(shift_rows(methods=(name, "slova"))),
        "ranks": critical.plot(shift_comparison(shift_rows(methods=(name, "slova")), ()).pooled),
        "panels": reliability.plot([histogram(name)]),
        "lines": risk_coverage.plot([histogram(name)]),
    }
    for what, figure in drawn.items():
        (svg,) = save(figure, tmp_path / what, kinds=["svg"])
        assert name in "".join(ElementTree.parse(svg).getroot().itertext()), what


def test_methods_that_are_drawn_together_look_different():
    looks = [labels.look(name) for name in (*experiments()["shift"].methods, "slova_mirror")]
    for look_of in (style.fill, lambda look: {**style.line(look), "label": None}):
        assert len({repr(sorted(look_of(look).items())) for look in looks}) == len(looks)


@pytest.mark.parametrize(("letters", "columns"), [(4, {5}), (30, {1, 2, 3}), (300, {1})])
def test_a_legend_has_as_many_columns_as_fit(letters, columns):
    @style.styled
    def drawn():
        figure, _ = style.canvas(1, 1, (9.6, 6.0))
        style.keys(figure, [Patch(label="n" * letters) for _ in range(17)], 5)
        FigureCanvasAgg(figure).draw()
        return figure

    figure = drawn()
    (legend,) = figure.legends
    assert legend._ncols in columns
    assert letters == 300 or legend.get_window_extent().width <= figure.bbox.width


@pytest.mark.parametrize(
    ("value", "text"), [(0.001, "0.001"), (0.02, "0.02"), (1, "1"), (10_000, "10000"), (1e-8, "10⁻⁸"), (1e12, "10¹²")]
)
def test_powers_are_written_without_formulas(value, text):
    assert style.power(value) == text

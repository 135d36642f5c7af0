"""Claims about clean and shifted data against one or two rivals (Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import OURS, before, listed, means, place, present
from slova_bench.exhibit import Exhibit
from slova_bench.frame import Frame, Name, mean_over, means_by, per_seed, quartiles, shift_groups, where
from slova_bench.tables import published
from slova_bench.tables.assembly import shown
from slova_bench.tables.quartiles import METRICS

__all__ = ["CLAIMS"]

STRONG = 4  # the smallest severity of a strong shift
AS_ACCURATE = 0.005  # half a point
COMPARABLE = 0.1  # of the rival's value
LOW = 3  # the best three


def strong_ensemble(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Per shift, at the two greatest severities; one part per metric. "Frequently" is read as at least half of the
    time."""
    wins = {metric: _duels(rows, metric, "ensemble", on) for metric in METRICS}
    words = [f"{labels.metric(metric).name} in {sum(own)} of {len(own)}" for metric, own in wins.items()]
    here = f"{', '.join(words)} pairs of shift and severity; required: half, by each"
    return Check("frequently", here, tuple(2 * sum(own) >= len(own) for own in wins.values()))


def strong_softmax(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Means over strong shifts, one part of the claim per metric and rival."""
    return _strong_means(rows, on, ("softmax", "temperature"), ("accuracy", *METRICS), "in terms of all metrics")


def strong_ova_dm(rows: Frame, paper: Frame, on: str) -> Check | None:
    if not _compared(paper, "ova_dm"):
        return None
    return _strong_means(rows, on, ("ova_dm",), ("accuracy", *METRICS), "OVA DM is lower")


def clean_ova_dm(rows: Frame, paper: Frame, on: str) -> Check | None:
    """OVA DM loses more than half a point of accuracy on clean data, SLOVA does not."""
    if not _compared(paper, "ova_dm"):
        return None
    found = _clean(rows, "accuracy", ["slova", "softmax", "ova_dm"], on)
    softmax = found["softmax", ""] - AS_ACCURATE
    holds = (found["ova_dm", ""] < softmax, found[OURS] > softmax)
    return Check("OVA DM drops, SLOVA does not", listed(found, "accuracy"), holds)


def calibrated(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per metric: on clean data SLOVA is not worse than softmax by more than a tenth."""
    found = {metric: _clean(rows, metric, ["slova", "softmax"], on) for metric in METRICS}
    words = [f"{labels.metric(metric).name}: {listed(values, metric)}" for metric, values in found.items()]
    holds = tuple(values[OURS] <= (1 + COMPARABLE) * values["softmax", ""] for values in found.values())
    return Check("comparable calibration scores", "; ".join(words), holds)


def low_brier(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per severity: SLOVA's mean over the shifts is among the best three of the methods of the paper."""
    names = published.counterparts(paper, "shift", rows["method"].unique())
    found = _by_severity(rows, "brier", ["slova", *names], on)
    words = [f"{shown('brier', values[OURS]).text} ({place(values, OURS, 'brier')})" for values in found]
    text = f"{', '.join(words)} at severities 1 to {len(words)}; required: among the best three"
    return Check("low across all intensities", text, tuple(len(before(one, OURS, "brier")) < LOW for one in found))


def high_accuracy(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per severity: SLOVA's mean over the shifts is that of softmax, to half a point."""
    found = _by_severity(rows, "accuracy", ["slova", "softmax"], on)
    words = [" and ".join(shown("accuracy", value).text for value in values.values()) for values in found]
    holds = tuple(values[OURS] > values["softmax", ""] - AS_ACCURATE for values in found)
    text = f"SLOVA and softmax: {', '.join(words)} at severities 1 to {len(words)}"
    return Check("high across all intensities", text, holds)


def noise(rows: Frame, paper: Frame, on: str, metric: str) -> Check | None:
    """SLOVA calibrated with and without noise, on clean data and by quartile over shifts."""
    clean = means(per_seed(where(rows, metric=metric, shift="")))
    by_share = quartiles(rows, metric, shift_groups(rows)[0])
    columns = {"clean": clean} | {f"{share} % quartile": means(values) for share, values in by_share.items()}
    present(clean, ["slova", "slova_clean"], "shift", on)
    words = [f"{where} {_with_and_without(found, metric)}" for where, found in columns.items() if OURS in found]
    return Check("", f"with noise and without: {'; '.join(words)}")


def _with_and_without(found: dict[Name, float], metric: str) -> str:
    one, other = found[OURS], found["slova_clean", ""]
    word = "better" if labels.is_better(metric, one, other) else "worse"
    return f"{shown(metric, one).text} and {shown(metric, other).text} ({word} with)"


def _compared(paper: Frame, method: str) -> bool:
    return not len(paper) or len(where(paper, experiment="shift", method=method)) > 0


def _clean(rows: Frame, metric: str, methods: Sequence[str], on: str) -> dict[Name, float]:
    found = mean_over(where(rows, metric=metric, shift=""), methods)
    present(found, methods, "shift", on)
    return found


def _strong_means(rows: Frame, on: str, rivals: Sequence[str], metrics: Sequence[str], said: str) -> Check:
    holds, words = list[bool](), list[str]()
    for metric in metrics:
        found = mean_over(_strong(rows, metric), ["slova", *rivals])
        present(found, ["slova", *rivals], "shift", on)
        holds += [labels.is_better(metric, found[OURS], found[rival, ""]) for rival in rivals]
        words.append(f"{labels.metric(metric).name}: {listed(found, metric)}")
    return Check(said, "; ".join(words), tuple(holds))


def _duels(rows: Frame, metric: str, rival: str, on: str) -> list[bool]:
    """For each strong shift and severity, whether SLOVA has the better mean over the seeds of both."""
    means = means_by(_strong(rows, metric), ["shift", "level"], ["slova", rival])
    duels = [labels.is_better(metric, found[OURS], found[rival, ""]) for found in means]
    present([rival] if duels else [], [rival], "shift", on)
    return duels


def _by_severity(rows: Frame, metric: str, methods: Sequence[str], on: str) -> list[dict[Name, float]]:
    """The means over the shifts of the paper and the common seeds, for each severity."""
    levels = where(rows, metric=metric, shift=shift_groups(rows)[0]).groupby("level")
    found = [mean_over(own, list(dict.fromkeys(methods))) for _, own in levels]
    present(found[0] if found else (), methods, "shift", on)
    return found


def _strong(rows: Frame, metric: str) -> Frame:
    """Rows at the two greatest severities, under the shifts of the paper."""
    return where(rows[rows["level"] >= STRONG], metric=metric, shift=shift_groups(rows)[0])


def _claims() -> Iterator[Exhibit]:
    part = "Sec. 4.1"
    yield claim("Clean data: SLOVA is as well calibrated as softmax, to a tenth", part, "shift", calibrated)
    yield claim("SLOVA has a low Brier score at every severity", "Fig. 5", "shift", low_brier)
    yield claim("SLOVA is as accurate as softmax at every severity, to half a point", "Fig. 5", "shift", high_accuracy)
    yield claim("Strong shift: SLOVA is better calibrated than the ensemble", part, "shift", strong_ensemble)
    text = "Strong shift: SLOVA is better than softmax and temperature scaling"
    yield claim(text, part, "shift", strong_softmax)
    yield claim("Clean data: OVA DM loses accuracy and SLOVA does not", part, "shift", clean_ova_dm)
    yield claim("Strong shift: SLOVA is better than OVA DM", part, "shift", strong_ova_dm)
    for metric in METRICS:
        text = f"Effect of noise in the calibration set on SLOVA's {labels.metric(metric).name}"
        yield claim(text, "Sec. 3.6", "shift", partial(noise, metric=metric))


CLAIMS = tuple(_claims())

"""Claims about clean and shifted data against one or two rivals (Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from slova_bench import labels
from slova_bench.claims.claim import Check, claim
from slova_bench.claims.numbers import OURS, before, listed, means, place, present, tied
from slova_bench.exhibit import Exhibit
from slova_bench.frame import Column, Frame, Name, per_seed, shift_groups, where
from slova_bench.results_folder import MissingRowsError
from slova_bench.tables import published
from slova_bench.tables.assembly import label, shown
from slova_bench.tables.quartiles import METRICS
from slova_bench.tables.seeds import at_common_seeds, better

__all__ = ["CLAIMS"]

STRONG = 4  # the smallest severity of a strong shift
AS_ACCURATE = 0.005  # half a point
COMPARABLE = 0.1  # of the rival's value
SEVERAL_PASSES = ("ensemble", "dropout", "svi")
LOW = 3  # the best three


def strong_ensemble(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Per shift, at the two greatest severities; one part per metric. "Frequently" is read as at least half of the
    time."""
    wins = {metric: _duels(rows, metric, "ensemble", on) for metric in METRICS}
    words = [f"{labels.metric(metric).name} in {sum(own)} of {len(own)}" for metric, own in wins.items()]
    here = f"{', '.join(words)} pairs of shift and severity; required: half, by each"
    return Check("frequently", here, tuple(2 * sum(own) >= len(own) for own in wins.values()))


def strong(rows: Frame, paper: Frame, on: str, rivals: Sequence[str], said: str) -> Check | None:
    """One part per metric and rival: SLOVA's mean over strong shifts is better, and the seeds distinguish them."""
    if not _compared(paper, rivals):
        return None
    holds, words = list[bool](), list[str]()
    for metric in ("accuracy", *METRICS):
        found = _values(_strong(rows, metric), metric, ["slova", *rivals], on)
        holds += [better(found, OURS, (rival, ""), metric) for rival in rivals]
        words.append(f"{labels.metric(metric).name}: {listed(means(found), metric)}{tied(found)}")
    return Check(said, "; ".join(words), tuple(holds))


def clean_ova_dm(rows: Frame, paper: Frame, on: str) -> Check | None:
    """OVA DM loses more than half a point of accuracy on clean data. That of SLOVA is judged by `high_accuracy`."""
    if not _compared(paper, ["ova_dm"]):
        return None
    found = means(_values(where(rows, shift=""), "accuracy", ["slova", "softmax", "ova_dm"], on))
    holds = (found["ova_dm", ""] < found["softmax", ""] - AS_ACCURATE,)
    return Check("OVA DM drops, SLOVA does not", listed(found, "accuracy"), holds)


def calibrated(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per metric: on clean data SLOVA is not worse than softmax by more than a tenth."""
    clean = where(rows, shift="")
    found = {metric: means(_values(clean, metric, ["slova", "softmax"], on)) for metric in METRICS}
    words = [f"{labels.metric(metric).name}: {listed(values, metric)}" for metric, values in found.items()]
    holds = tuple(values[OURS] <= (1 + COMPARABLE) * values["softmax", ""] for values in found.values())
    return Check("comparable calibration scores", "; ".join(words), holds)


def underestimated(rows: Frame, paper: Frame, on: str) -> Check | None:
    """Before calibration the mean confidence on clean data is lower than the accuracy."""
    clean, name = where(rows, shift=""), ("slova_raw", "")
    confidence, accuracy = (means(_values(clean, metric, name[:1], on))[name] for metric in ("mmc", "accuracy"))
    words = f"mean confidence {shown('mmc', confidence).text}, accuracy {shown('mmc', accuracy).text}"
    return Check("underestimation on in-distribution data", words, (confidence < accuracy,))


def as_complex(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per metric, rival and severity: SLOVA is not worse by more than a tenth."""
    if not _compared(paper, SEVERAL_PASSES):
        return None
    holds, words = list[bool](), list[str]()
    for metric in ("ece", "nll"):
        levels = _by_severity(rows, metric, ["slova", *SEVERAL_PASSES], on)
        for rival in SEVERAL_PASSES:
            near = [found[OURS] <= (1 + COMPARABLE) * found[rival, ""] for found in levels]
            words.append(f"{labels.metric(metric).name}, {label((rival, ''))}: {sum(near)} of {len(near)}")
            holds += near
    return Check("comparable", f"{'; '.join(words)} severities", tuple(holds))


def robust(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per metric: from the first severity to the last, SLOVA loses less than most methods of the paper."""
    names = published.counterparts(paper, "shift", rows["method"].unique())
    holds, words = list[bool](), list[str]()
    for metric in ("accuracy", *METRICS):
        first, *_, last = _by_severity(rows, metric, ["slova", *names], on)
        change = {name: last[name] - value for name, value in first.items()}
        holds.append(2 * len(before(change, OURS, metric)) < len(change) - 1)
        words.append(f"{labels.metric(metric).name} {shown(metric, change[OURS]).text} ({place(change, OURS, metric)})")
    text = f"{', '.join(words)} from severity 1 to 5; required: less than most"
    return Check("especially robust, others have larger drops in general", text, tuple(holds))


def low_brier(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per severity: SLOVA's mean over the shifts is among the best three of the methods of the paper."""
    names = published.counterparts(paper, "shift", rows["method"].unique())
    found = _by_severity(rows, "brier", ["slova", *names], on)
    words = [f"{shown('brier', values[OURS]).text} ({place(values, OURS, 'brier')})" for values in found]
    text = f"{', '.join(words)} at severities 1 to {len(words)}; required: among the best three"
    return Check("low across all intensities", text, tuple(len(before(one, OURS, "brier")) < LOW for one in found))


def high_accuracy(rows: Frame, paper: Frame, on: str) -> Check | None:
    """One part per severity, clean data among them: SLOVA's mean over the shifts is that of softmax, to half a
    point."""
    pair = ["slova", "softmax"]
    clean = means(_values(where(rows, shift=""), "accuracy", pair, on))
    found = [clean, *_by_severity(rows, "accuracy", pair, on)]
    words = [" and ".join(shown("accuracy", value).text for value in values.values()) for values in found]
    holds = tuple(values[OURS] > values["softmax", ""] - AS_ACCURATE for values in found)
    text = f"SLOVA and softmax: {', '.join(words)} at severities 0 (clean) to {len(words) - 1}"
    return Check("comparable on clean data, high across all intensities", text, holds)


def _compared(paper: Frame, methods: Sequence[str]) -> bool:
    return not len(paper) or {*methods} <= {*where(paper, experiment="shift")["method"]}


def _values(rows: Frame, metric: str, methods: Sequence[str], on: str) -> Column:
    """The means over these rows, at the common seeds that have every set."""
    found = at_common_seeds(per_seed(where(rows, metric=metric), whole=True), methods)
    present(found, methods, "shift", on)
    return found


def _duels(rows: Frame, metric: str, rival: str, on: str) -> list[bool]:
    """For each strong shift and severity, whether SLOVA has the better mean over the common seeds."""
    cells = _parts(_strong(rows, metric), ["shift", "level"], on)
    found = [means(_values(own, metric, ["slova", rival], on)) for own in cells]
    return [labels.is_better(metric, values[OURS], values[rival, ""]) for values in found]


def _by_severity(rows: Frame, metric: str, methods: Sequence[str], on: str) -> list[dict[Name, float]]:
    """The means over the shifts of the paper, for each severity."""
    levels = _parts(where(rows, metric=metric, shift=shift_groups(rows)[0]), ["level"], on)
    return [means(_values(own, metric, list(dict.fromkeys(methods)), on)) for own in levels]


def _parts(rows: Frame, by: list[str], on: str) -> list[Frame]:
    """The rows of each severity, or shift and severity; an interrupted run may have too few to judge by."""
    found = [own for _, own in rows.groupby(by)]
    if len(found) < 2:
        raise MissingRowsError(f"there are no rows of several severities: run slova bench run shift --on {on}")
    return found


def _strong(rows: Frame, metric: str) -> Frame:
    """Rows at the two greatest severities, under the shifts of the paper."""
    return where(rows[rows["level"] >= STRONG], metric=metric, shift=shift_groups(rows)[0])


def _claims() -> Iterator[Exhibit]:
    part = "Sec. 4.1"
    yield claim("Clean data: SLOVA is as well calibrated as softmax, to a tenth", part, "shift", calibrated)
    text = "Clean data: uncalibrated SLOVA is less confident than accurate"
    yield claim(text, "Fig. 4, Sec. 3.6", "shift", underestimated)
    yield claim("SLOVA has a low Brier score at every severity", "Fig. 5", "shift", low_brier)
    text = "SLOVA is as accurate as softmax at every severity, to half a point"
    yield claim(text, "Fig. 5, Table 1, Sec. 1, 4.1, 4.2", "shift", high_accuracy)
    text = "SLOVA's ECE and NLL are no worse than with several passes at every severity, to a tenth"
    yield claim(text, "Fig. 5", "shift", as_complex)
    yield claim("SLOVA loses less than most methods as shifts become stronger", "Fig. 5", "shift", robust)
    yield claim("Strong shift: SLOVA is better calibrated than the ensemble", part, "shift", strong_ensemble)
    text, rivals = "Strong shift: SLOVA is better than softmax and temperature scaling", ("softmax", "temperature")
    yield claim(text, part, "shift", partial(strong, rivals=rivals, said="notable, in terms of all metrics"))
    text = "Clean data: OVA DM is less accurate than softmax, by more than half a point"
    yield claim(text, part, "shift", clean_ova_dm, counted=False)
    check = partial(strong, rivals=("ova_dm",), said="OVA DM is lower")
    yield claim("Strong shift: SLOVA is better than OVA DM", part, "shift", check)


CLAIMS = tuple(_claims())

"""Judged claims about OOD data: wins, ranks and error on all training sets."""

from slova_bench.claims import Verdict
from slova_bench.results import Cell, Row

CELL = Cell("ood", "slova", "", "cifar10-train", "cifar10-test", "", 0.0, 0, 100)
LOW = {"softmax": 0.8, "ceda": 0.5, "acet_short": 0.4, "react": 0.7, "slova_raw": 0.1, "slova": 0.2}
HIGH = LOW | {"slova": 0.9, "slova_raw": 0.95}
SETS = ("cifar10", "cifar100", "svhn")


def ood_rows(mmc: dict[str, float], *, on: str, error: float = 0.08) -> list[Row]:
    """Each method as confident on every OOD set."""
    rows = []
    for place, (method, value) in enumerate(mmc.items()):
        cell = CELL._replace(method=method, train=f"{on}-train", test=f"{on}-test")
        rows += [Row.of(cell, "error", error + 0.001 * place), Row.of(cell, "mmc", 0.9)]
        others = [name for name in ("cifar10", "cifar100", "svhn") if name != on]
        rows += [Row.of(cell._replace(test=f"{name}-test"), "mmc", value) for name in others]
    return rows


def ood_files(mmc: dict[str, float]) -> dict[str, list[Row]]:
    return {f"ood_{on}": ood_rows(mmc, on=on) for on in SETS}


def test_wins_out_of_distribution_are_counted_on_the_pairs_of_both(tmp_path, found, verdict):
    one = found(tmp_path / "a", **ood_files(LOW))["SLOVA has the lowest MMC", ""]
    against = "against Softmax; CEDA; ACET, short attack; ReAct (seeds by pair: 1)"
    assert (one.paper, one.ours) == ("9 of 12, 4 of the 6 pairs there are rows of", f"6 of 6, {against}")
    assert one.verdict is Verdict.REPRODUCED
    assert verdict(tmp_path / "b", "SLOVA has the lowest MMC", "", **ood_files(HIGH)) is Verdict.NOT


def test_a_stand_in_replaces_a_method_that_was_run_on_one_training_set_only(tmp_path, found):
    whole = ood_files(LOW)
    some = {**whole, "ood_svhn": whole["ood_svhn"] + ood_rows({"acet": 0.01}, on="svhn")}
    before, after = found(tmp_path / "a", **whole), found(tmp_path / "b", **some)
    for claim in (
        "SLOVA has the lowest MMC",
        "Methods whose mean ranks of the MMC do not differ significantly from SLOVA's",
    ):
        assert after[claim, ""] == before[claim, ""]
    everywhere = {name: rows + ood_rows({"acet": 0.01}, on=name[4:]) for name, rows in whole.items()}
    last = found(tmp_path / "c", **everywhere)["SLOVA has the lowest MMC", ""].ours
    assert last == "0 of 6, against Softmax; CEDA; ACET; ReAct (seeds by pair: 1)"


def test_the_lowest_mmc_is_that_at_the_seeds_of_all_methods(tmp_path, found):
    """ACET has one more seed on one training set, at which its MMC is 0."""
    files = ood_files(LOW)
    files["ood_svhn"] += [row._replace(seed=1) for row in ood_rows({"acet_short": 0.0, "softmax": 0.8}, on="svhn")]
    lower = ood_rows({"acet_short": 0.0}, on="svhn")
    files["ood_svhn"] += [row._replace(seed=seed) for row in lower for seed in range(2, 9)]
    assert found(tmp_path, **files)["SLOVA has the lowest MMC", ""].ours.startswith("6 of 6, ")


def test_claims_of_the_paper_are_judged_on_its_pairs_of_sets_alone(tmp_path, found):
    """On Tiny-ImageNet, which the paper does not have, every method has the reverse order."""
    files, wrong = ood_files(LOW), {name: 1 - value for name, value in LOW.items()} | {"slova_clean": 0.0}
    for on in SETS:
        own = [row for row in ood_rows(wrong, on=on) if row.metric == "mmc" and row.test != f"{on}-test"]
        files[f"ood_{on}"] += [*ood_rows({"slova_clean": 0.9}, on=on)]
        files[f"ood_{on}"] += [row._replace(test="tinyimagenet-test") for row in own[::2]]
    one = found(tmp_path, **files)
    assert one["SLOVA has the lowest MMC", ""].ours.startswith("6 of 6, ")
    assert one["SLOVA's MMC is lower than softmax's", ""].ours == "lower on 6 of 6 pairs of real sets"
    assert "over 6 sets" in one["Methods whose mean ranks of the MMC do not differ significantly from SLOVA's", ""].ours
    noise = one["Noise in the calibration set keeps calibration from raising the MMC", ""]
    assert noise.ours.startswith("above the uncalibrated one on 6 of 6 pairs of real sets without noise")


def test_the_auroc_of_slova_is_measured_against_softmax_and_ova_on_all_real_sets(tmp_path, found):
    claim, files = "The AUROC of the uncalibrated SLOVA on real OOD sets", {}
    values = {"slova_raw": 0.9, "softmax": 0.8, "ova": 0.95}
    for on in SETS:
        rows = [row._replace(metric="auroc") for row in ood_rows(values, on=on) if row.test != f"{on}-test"]
        apart = {"cifar10": (0, 0.1, -0.1), "cifar100": (0, 0, 0), "svhn": (0, 0, 0)}[on]  # by seed: not distinguished
        files[f"ood_{on}"] = [
            row._replace(seed=seed, value=row.value + (3 * gap - 0.1 if row.method == "softmax" and any(apart) else 0))
            for row in rows
            for seed, gap in enumerate(apart)
        ]
    files["ood_svhn"] += [row._replace(test="uniform", value=0.0) for row in files["ood_svhn"]]
    one = found(tmp_path, claim, **files)[claim, ""]
    assert one.verdict is Verdict.MEASURED, "the paper has no AUROC"
    softmax, ova = one.ours.split("; against OVA ")
    assert softmax.startswith("against Softmax higher on 4 of 6 pairs of sets, lower on 0, not distinguished on 2 (")
    assert ova.startswith("higher on 0 of 6 pairs of sets, lower on 6, not distinguished on 0 (means 0.900 and 0.950;")


def test_the_readout_of_the_paper_is_judged_and_the_calibrated_one_measured(tmp_path, found):
    mixed = found(tmp_path, **ood_files(LOW | {"slova": 0.9}))
    assert mixed["SLOVA has the lowest MMC", ""].verdict is Verdict.REPRODUCED
    calibrated = mixed["The MMC of the calibrated SLOVA, which the paper does not use on OOD data", ""]
    assert calibrated.verdict is Verdict.MEASURED
    assert calibrated.ours.startswith("lowest in 0 of 6, against ")


def test_the_papers_own_table_contradicts_its_text_and_is_not_counted(tmp_path, found):
    claim = "Methods whose mean ranks do not differ significantly from SLOVA's in the paper's own Table 1"
    one = found(tmp_path)[claim, ""]
    assert one.verdict is Verdict.MEASURED
    assert one.ours.startswith("ACET (mean ranks SLOVA 1.42, ACET 2.46")


def test_react_must_be_between_softmax_and_slova_on_every_set(tmp_path, found):
    claim = "ReAct is between softmax and SLOVA, and less accurate on CIFAR-100"
    files = ood_files(LOW)
    one = found(tmp_path / "a", claim, **files)[claim, ""]
    assert one.verdict is Verdict.PARTLY, "its error is almost that of softmax"
    assert one.ours.startswith("ReAct below softmax on 6 of 6 pairs of real sets, SLOVA below ReAct on 6 of 6; error")
    files["ood_cifar100"] = [
        row._replace(value=0.2) if (row.method, row.metric) == ("react", "error") else row
        for row in files["ood_cifar100"]
    ]
    assert found(tmp_path / "b", claim, **files)[claim, ""].verdict is Verdict.REPRODUCED
    assert found(tmp_path / "c", **ood_files(HIGH))["SLOVA's MMC is lower than softmax's", ""].verdict is Verdict.NOT
    files["ood_svhn"] = [row for row in files["ood_svhn"] if row.method != "softmax"]
    fewer = found(tmp_path / "d", claim, **files)[claim, ""]
    assert fewer.verdict is Verdict.REPRODUCED
    assert "ReAct below softmax on 4 of 4 pairs of real sets, SLOVA below ReAct on 6 of 6" in fewer.ours


def test_acet_is_unstable_if_it_detects_one_set_and_not_the_other(tmp_path, found):
    claim, files = "ACET is unstable: little confidence on some OOD sets, that of softmax on another", ood_files(LOW)
    steady = found(tmp_path / "a", claim, **files)[claim, ""]
    assert (steady.verdict, steady.counted) == (Verdict.NOT, False)
    assert "(short attack; 1 seed); required: on SVHN and ImageNet below half of softmax's;" in steady.ours
    values = {"svhn-test": 0.1, "cifar100-test": 0.79}
    files["ood_cifar10"] = [
        row._replace(value=values[row.test]) if row.method == "acet_short" and row.test in values else row
        for row in files["ood_cifar10"]
    ]
    assert found(tmp_path / "b", claim, **files)[claim, ""].verdict is Verdict.REPRODUCED
    pictures = [row._replace(test="imagenet224-test") for row in files["ood_cifar10"] if row.test == "cifar100-test"]
    files["ood_cifar10"] += pictures
    confident = found(tmp_path / "c", claim, **files)[claim, ""]
    assert (confident.verdict, "ImageNet 224×224: ACET" in confident.ours) == (Verdict.PARTLY, True)


def test_accuracy_may_differ_by_half_a_point(tmp_path, found, verdict):
    """One claim with a part per training set."""
    claim, files = "SLOVA's error is softmax's, to half a point", ood_files({"softmax": 0.5, "slova": 0.4})
    assert verdict(tmp_path / "a", claim, "", **files) is Verdict.REPRODUCED

    def worse(names):
        return files | {
            name: [
                row._replace(value=0.2) if row[1] == "slova" and row.metric == "error" else row for row in files[name]
            ]
            for name in names
        }

    one = found(tmp_path / "b", claim, **worse(["ood_svhn"]))[claim, ""]
    assert one.verdict is Verdict.PARTLY
    assert one.paper.startswith("SVHN: SLOVA 3.29 %, Softmax 3.53 %; CIFAR-10: ")
    assert verdict(tmp_path / "c", claim, "", **worse(files)) is Verdict.NOT
    alone = found(tmp_path / "d", claim, ood_svhn=files["ood_svhn"])[claim, ""]
    assert (alone.verdict, alone.ours) == (Verdict.REPRODUCED, "SVHN: SLOVA 8.10 %, Softmax 8.00 %")


def test_noise_must_keep_calibration_from_raising_the_confidence(tmp_path, verdict):
    claim = "Noise in the calibration set keeps calibration from raising the MMC"
    for place, (without, with_noise, expected) in enumerate(
        [(0.6, 0.4, Verdict.REPRODUCED), (0.6, 0.55, Verdict.PARTLY), (0.3, 0.55, Verdict.NOT)]
    ):
        files = ood_files({"slova_raw": 0.5, "slova_clean": without, "slova": with_noise})
        assert verdict(tmp_path / str(place), claim, "", **files) is expected

"""Damaged files of logits: their rows, or TableError in one sentence that names the file, in bounded memory."""

import resource

import numpy as np
import pytest

from slova.io import Table, TableError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

MEMORY = 8 << 20
KINDS = ["npz", "compressed.npz", "fortran.npz", "npy", "csv", "parquet", "list.parquet"]


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    generator = np.random.default_rng(0)
    logits, labels = generator.normal(size=(40, 3)), generator.integers(-1, 3, 40)
    np.savez(folder / "t.npz", logits=logits, labels=labels)
    np.savez_compressed(folder / "t.compressed.npz", logits=logits, labels=labels)
    np.savez(folder / "t.fortran.npz", logits=np.asfortranarray(logits), labels=labels)
    np.save(folder / "t.npy", logits)
    columns = {f"logit_{k}": logits[:, k] for k in range(3)}
    header = ",".join([*columns, "label"])
    np.savetxt(folder / "t.csv", np.column_stack([logits, labels]), "%.9g", ",", header=header, comments="")
    pq.write_table(pa.table({**columns, "label": labels}), folder / "t.parquet", row_group_size=16)
    pq.write_table(pa.table({"logits": list(logits), "label": labels}), folder / "t.list.parquet")
    return {kind: (folder / f"t.{kind}").read_bytes() for kind in KINDS}


@pytest.mark.filterwarnings("ignore::UserWarning")  # of numpy, about the header of a damaged file
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_read_or_refused(contents, kind, cases, mutate, tmp_path):
    path = tmp_path / f"damaged.{kind}"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused = []
    for chance in cases(0.04):
        path.write_bytes(mutate.bytes(contents[kind], chance))
        try:
            for block in Table(path, memory=MEMORY).blocks(labelled=kind != "npy"):
                assert block.logits.nbytes <= MEMORY
                assert not np.isnan(block.logits).any()
        except TableError as error:
            refused.append(str(error))
    assert refused
    assert not [each for each in refused if f"damaged.{kind}" not in each or len(each) > 1000]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10  # KiB

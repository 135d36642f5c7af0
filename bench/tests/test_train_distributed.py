"""Several processes share every batch and end in the same weights: those of one process, where no layer is random.

This file is also the program that `torchrun` starts: it trains, and leaves what each process ended with in a folder.
"""

import os
import subprocess
import sys
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import pytest
import torch
from slova_bench import checkpoint, data
from slova_bench.augment import crop, nothing
from slova_bench.method import softmax_loss
from slova_bench.methods import acet, svi
from slova_bench.networks import digits_net
from slova_bench.train import Execution, Recipe, seeded, train
from torch import distributed, nn

CPU = torch.device("cpu")
RECIPE = Recipe(epochs=3, batch=50, rate=0.05, augment=crop)
DIGITS = Recipe(epochs=15, batch=64, rate=0.1, augment=crop)
EPOCHS = 4
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


def plain(seed):
    with seeded(CPU, seed):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def digits(seed, **options):
    with seeded(CPU, seed):
        return digits_net(10, **options)


@cache
def every():
    """The test leaves them in a file: scikit-learn, which has them, takes longer to import than they to be learned."""
    if __name__ == "__main__":
        return torch.load(Path(sys.argv[1]) / "digits.pt")
    split = data.load("digits-train")
    return split.images, split.labels


def pair(limit=None):
    return tuple(part[:limit] for part in every())


def numbers(network):
    return {name: value.clone() for name, value in network.state_dict().items()}


def scenarios(rank, folder):
    """By name, something each process ends with. The networks start differently; that of the first counts."""
    place = Execution(CPU)
    yield "plain", numbers(train(plain(rank), softmax_loss, RECIPE, pair(120), 0, place))
    averaged = replace(RECIPE, ema=0.9, adam_eps=1e-6, rate=1e-3)
    yield "averaged", numbers(train(digits(rank), softmax_loss, averaged, pair(120), 0, place))
    yield "digits", numbers(train(digits(rank), softmax_loss, DIGITS, pair(), 0, place))
    short = replace(RECIPE, epochs=1)
    network = svi.network(digits_net, 10)
    yield "svi", numbers(train(network, svi.loss, short, pair(120), 0, place))
    yield "acet", numbers(train(digits(rank), partial(acet.loss, steps=2), short, pair(120), 0, place))
    yield "seen", seen(place)
    yield "reported", reported(rank, folder)
    yield "resumed", resumed(rank, folder)
    yield "refused", refused(place)


def seen(place):
    """The pixel that names an image, and a random number, a step."""
    rows = []

    def loss(network, images, labels, count):
        rows.append((images[:, 0, 0, 0].mul(255).round().long(), float(torch.rand(()))))
        return softmax_loss(network, images, labels, count)

    images = torch.arange(47, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 1, 8, 8).contiguous()
    recipe = Recipe(epochs=1, batch=10, augment=nothing)
    train(plain(0), loss, recipe, (images, torch.arange(47) % 10), 0, place)
    return rows


def reported(rank, folder):
    """The epochs that progress reports, and at each step whether this process has written a checkpoint of its own."""
    epochs, written, path = [], [], folder / f"own-{rank}.checkpoint"

    def loss(network, images, labels, count):
        written.append(path.exists())
        return softmax_loss(network, images, labels, count)

    place = Execution(CPU, checkpoint=path, progress=lambda epoch, loss: epochs.append(epoch))
    train(plain(0), loss, RECIPE, pair(120), 0, place)
    return epochs, written, path.exists()


def resumed(rank, folder):
    """Trained for two epochs of four, according to the checkpoint, and then by new processes to the end."""
    path, recipe = folder / "shared.checkpoint", replace(RECIPE, epochs=EPOCHS, ema=0.9)
    kept = folder / "kept.checkpoint"

    def progress(epoch, loss):
        if epoch == 2:
            kept.write_bytes(path.read_bytes())

    train(digits(0), softmax_loss, recipe, pair(120), 0, Execution(CPU, checkpoint=path, progress=progress))
    distributed.barrier()
    network = train(digits(rank + 5), softmax_loss, recipe, pair(120), 0, Execution(CPU, checkpoint=kept))
    whole = train(digits(0), softmax_loss, recipe, pair(120), 0, Execution(CPU))
    return numbers(network), numbers(whole)


def refused(place):
    try:
        train(plain(0), softmax_loss, replace(RECIPE, batch=1), pair(120), 0, place)
    except ValueError as error:
        return str(error)


def main(folder):
    distributed.init_process_group("gloo")
    rank = distributed.get_rank()
    checkpoint.Checkpoint.__init__.__kwdefaults__["seconds"] = 0.0
    torch.save(dict(scenarios(rank, folder)), folder / f"{rank}.pt")
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """What the two processes ended with."""
    folder = tmp_path_factory.mktemp("torchrun")
    torch.save(every(), folder / "digits.pt")
    command = ["--nproc_per_node", "2", "--rdzv_backend", "c10d", "--rdzv_endpoint", "127.0.0.1:0"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": LOOPBACK}
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", *command, "--local_addr", "127.0.0.1", __file__, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return [torch.load(folder / f"{rank}.pt", weights_only=True) for rank in (0, 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plain", "averaged", "digits", "svi", "acet"])
def test_all_processes_end_in_the_same_weights_and_statistics(name, ended):
    first, second = (rank[name] for rank in ended)
    assert first.keys() == second.keys()
    assert [key for key in first if not torch.equal(first[key], second[key])] == []


@pytest.mark.slow
def test_two_processes_give_the_weights_of_one_with_the_same_batch(ended):
    alone = train(plain(0), softmax_loss, RECIPE, pair(120), 0, Execution(CPU)).state_dict()
    for name, value in ended[0]["plain"].items():
        torch.testing.assert_close(value, alone[name], atol=1e-5, rtol=0)


@pytest.mark.slow
def test_two_processes_learn_the_digits(ended):
    network, split = digits(0), data.load("digits-test")
    network.load_state_dict(ended[0]["digits"])
    with torch.no_grad():
        found = network.eval()(split.images.float() / 255).argmax(1)
    assert float((found == split.labels).float().mean()) > 0.85


@pytest.mark.slow
def test_every_process_sees_its_own_half_of_every_batch_and_draws_its_own_random_numbers(ended):
    first, second = (rank["seen"] for rank in ended)
    assert len(first) == len(second) == 4
    assert all(len(rows) == 5 for rows, _ in first + second)
    assert len({int(row) for rows, _ in first + second for row in rows}) == 40
    assert len({number for _, number in first + second}) == 8


@pytest.mark.slow
def test_only_the_first_process_reports_progress_and_writes_checkpoints(ended):
    assert ended[0]["reported"] == ([1, 2, 3], [False] * 2 + [True] * 4, False)
    assert ended[1]["reported"] == ([], [False] * 6, False)


@pytest.mark.slow
def test_two_processes_resume_together_and_end_as_if_undisturbed(ended):
    for rank in ended:
        resumed, whole = rank["resumed"]
        assert [key for key in whole if not torch.equal(resumed[key], whole[key])] == []


@pytest.mark.slow
def test_a_batch_of_one_cannot_be_shared_by_two(ended):
    assert ended[1]["refused"] == "a batch of 1 cannot be shared by 2 processes"


if __name__ == "__main__":
    main(Path(sys.argv[1]))

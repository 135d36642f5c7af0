"""The parts of training: batches that show every image once, checkpoints written whole and seldom, and schedules."""

from itertools import pairwise

import pytest
import torch
from slova_bench import schedules
from slova_bench import train as module
from slova_bench.augment import nothing
from slova_bench.method import softmax_loss
from slova_bench.train import Checkpoint, Execution, Recipe, Run, train
from torch import nn

CPU = torch.device("cpu")


# Batches


def batches_seen(recipe, count):
    seen = []

    def loss(network, images, labels, rows):
        seen.append((images.clone(), labels.clone(), rows))
        return softmax_loss(network, images, labels, rows)

    images = torch.arange(count, dtype=torch.uint8).view(-1, 1, 1, 1).expand(-1, 1, 8, 8).contiguous()
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 3))
    train(network, loss, recipe, (images, torch.arange(count) % 3), 0, Execution(CPU))
    return seen


@pytest.mark.parametrize("chunk", [1, 20, 8192])
def test_an_epoch_shows_every_image_once_with_its_label_and_drops_the_incomplete_batch(chunk, monkeypatch):
    monkeypatch.setattr("slova_bench.train.CHUNK", chunk)
    seen = batches_seen(Recipe(epochs=2, batch=8, augment=nothing), 43)
    assert [len(images) for images, _, _ in seen] == [8] * 10
    orders = []
    for epoch in (seen[:5], seen[5:]):
        rows = (torch.cat([images[:, 0, 0, 0] for images, _, _ in epoch]) * 255).round().long()
        assert len(set(rows.tolist())) == 40
        assert torch.equal(torch.cat([labels for _, labels, _ in epoch]), rows % 3)
        orders.append(rows.tolist())
    assert orders[0] != orders[1]
    assert orders[0] != sorted(orders[0])


def test_the_loss_gets_the_number_of_training_images_and_pixels_in_zero_to_one():
    seen = batches_seen(Recipe(epochs=1, batch=8, augment=nothing), 43)
    assert {rows for *_, rows in seen} == {43}
    assert max(float(images.max()) for images, _, _ in seen) == pytest.approx(42 / 255, abs=4 / 255)


def test_a_batch_larger_than_the_data_is_the_data():
    seen = batches_seen(Recipe(epochs=2, batch=512, augment=nothing), 20)
    assert [len(images) for images, *_ in seen] == [20, 20]


# Checkpoints


class Sink:
    def __init__(self, held):
        self.held = held

    def tensors(self):
        return self.held

    def restore(self, tensors):
        self.held = tensors


def test_a_checkpoint_whose_writing_fails_is_the_one_before(tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    run = Sink({"number": torch.tensor([1.0])})
    Checkpoint(path, run, seconds=0).save(1)
    run.held = {"number": torch.tensor([2.0]), "wrong": object()}
    with pytest.raises(Exception, match="object"):
        Checkpoint(path, run, seconds=0).save(2)
    assert [file.name for file in tmp_path.iterdir()] == ["run.checkpoint"]
    assert Checkpoint(path, run).resume() == 1
    assert run.held == {"number": torch.tensor([1.0])}


def test_what_an_optimiser_gets_back_lies_in_memory_as_its_parameter_does():
    recipe = Recipe(epochs=4, batch=16, rate=0.1)

    def started():
        layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        return Run(layers.to(memory_format=torch.channels_last), softmax_loss, recipe, Execution(CPU), rows=16)

    first, second = started(), started()
    first.plain_step(torch.rand(16, 3, 8, 8), torch.zeros(16, dtype=torch.long))
    second.restore({name: value.contiguous() for name, value in first.tensors().items()})
    weight = second.network[0].weight
    kept = second.optimiser.state[weight]["momentum_buffer"]
    assert kept.stride() == weight.stride() != kept.contiguous().stride()
    assert torch.equal(kept, first.optimiser.state[first.network[0].weight]["momentum_buffer"])


def test_a_checkpoint_is_written_at_most_every_half_minute(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    kept = Checkpoint(tmp_path / "run.checkpoint", Sink({"number": torch.zeros(1)}))
    epochs = []
    for epoch in range(1, 11):
        now[0] += 12
        kept.save(epoch)
        epochs.append(kept.resume())
    assert epochs == [0, 0, 3, 3, 3, 6, 6, 6, 9, 9]


# Schedules


def test_the_cosine_rises_for_a_twentieth_and_falls_to_nothing():
    values = [schedules.cosine(step / 1000) for step in range(1000)]
    top = values.index(max(values))
    assert top == 50
    assert values[top] == pytest.approx(1)
    assert all(before < after for before, after in pairwise(values[:51]))
    assert all(before > after for before, after in pairwise(values[50:]))
    assert 0 < values[0] < 0.03
    assert 0 < values[-1] < 1e-4
    assert schedules.cosine(0.525) == pytest.approx(0.5)


def test_the_schedule_of_the_paper_drops_at_epochs_125_and_185_of_250():
    rates = [schedules.steps_paper(epoch / 250) for epoch in range(250)]
    assert rates == [1.0] * 125 + [0.1] * 60 + [0.01] * 65


# Precision


def test_a_processor_trains_in_bfloat16_only_when_asked_and_keeps_weights_in_float32():
    images = torch.randint(0, 256, (32, 3, 8, 8), generator=torch.Generator().manual_seed(0), dtype=torch.uint8)
    seen = []

    def loss(network, batch, labels, rows):
        logits = network(batch)
        seen.append((logits.dtype, batch.is_contiguous(memory_format=torch.channels_last)))
        return nn.functional.cross_entropy(logits.float(), labels)

    for bf16 in (False, True):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(144, 3))
        recipe = Recipe(epochs=1, batch=32, augment=nothing)
        train(network, loss, recipe, (images, torch.arange(32) % 3), 0, Execution(CPU, bf16=bf16))
        assert {weight.dtype for weight in network.parameters()} == {torch.float32}
    assert seen == [(torch.float32, False), (torch.bfloat16, True)]

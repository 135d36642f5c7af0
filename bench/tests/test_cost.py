"""The cost of a prediction, counted in networks that are never allocated, and the file that the tables read."""

import pytest
from slova_bench.cost import cost_of
from slova_bench.methods import methods
from slova_bench.networks import resnet20
from slova_bench.tables.cost import costs


@pytest.fixture(scope="module")
def cost():
    known = methods()
    names = ("softmax", "ensemble", "dropout", "ll_svi", "slova_mirror", "slova")
    return {name: cost_of(known[name]) for name in names}


def test_resnet20_has_its_known_size(cost):
    assert cost["softmax"].parameters == sum(w.numel() for w in methods()["softmax"].network(resnet20, 10).parameters())
    assert cost["softmax"].multiply_adds == pytest.approx(41e6, rel=0.01), "as in He et al. (2016)"
    assert (cost["slova"].networks, cost["slova"].parameters) == (1, cost["softmax"].parameters)


def test_members_views_and_samples_multiply_the_cost_and_samples_of_the_last_layer_do_not(cost):
    ratio = {name: one.multiply_adds / cost["softmax"].multiply_adds for name, one in cost.items()}
    assert (cost["ensemble"].networks, ratio["ensemble"]) == (5, 5)
    assert (cost["slova_mirror"].passes, ratio["slova_mirror"]) == (2, 2)
    assert 7.5 < ratio["dropout"] < 8, "its first convolution is not random"
    assert (cost["ll_svi"].passes, cost["ll_svi"].last) == (16, 1)
    assert ratio["ll_svi"] == pytest.approx(1, abs=0.01)


def test_the_file_has_the_costs_of_the_code():
    now = {name: cost_of(method) for name, method in methods().items()}
    assert costs() == now, "cost.csv is stale: run python -m slova_bench.cost"

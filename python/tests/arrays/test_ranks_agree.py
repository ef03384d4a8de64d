"""The same Hessian and the same model from 1, 2, 3 and 4 ranks, and from 4 ranks that pretend to be 4 machines."""

import h5py
import numpy as np
import pytest
from craton.tomography.inversion.hessian_file import whole_hessian
from started_ranks import launch

CASES = {"1": (1, 0), "2": (2, 0), "3": (3, 0), "4": (4, 0), "4 machines": (4, 1)}


@pytest.fixture(scope="module")
def results(small_config, tmp_path_factory):
    """Hessian, model, and what the run said of itself, for each case."""
    folder = tmp_path_factory.mktemp("ranks")
    found = {}
    for number, (name, (ranks, ranks_per_node)) in enumerate(CASES.items()):
        config = small_config.replaced("inversion", max_iterations=1, precision="float32", block=64)
        config = (
            config.replaced("basis", lateral_level=2)
            .replaced("run", directory=str(folder / f"run{number}"))
            .replaced("paths", maximum=100)
        )
        file = folder / f"case{number}.toml"
        file.write_text(config.to_toml(), encoding="utf-8")
        launch(file, ranks, ranks_per_node)
        hessian = np.triu(whole_hessian(folder / f"run{number}" / "hessian.h5"))
        with h5py.File(folder / f"run{number}" / "model.h5") as stored:
            model = stored["models"][-1]
        with h5py.File(folder / f"run{number}" / "data.h5") as stored:
            observed = stored["observed"][:]
        found[name] = {"hessian": hessian, "model": model, "observed": observed}
    return found


def relative(one, other):
    return np.linalg.norm(one.astype(np.float64) - other) / np.linalg.norm(other)


@pytest.mark.parametrize("case", list(CASES)[1:])
def test_data_do_not_depend_on_the_ranks(results, case):
    np.testing.assert_allclose(results[case]["observed"], results["1"]["observed"], rtol=1e-12, atol=1e-20)


@pytest.mark.parametrize("case", list(CASES)[1:])
def test_hessian_does_not_depend_on_the_ranks(results, case):
    assert relative(results[case]["hessian"], results["1"]["hessian"]) < 1e-5


@pytest.mark.parametrize("case", list(CASES)[1:])
def test_model_does_not_depend_on_the_ranks(results, case):
    assert relative(results[case]["model"], results["1"]["model"]) < 1e-3

"""scikit-learn's own test files pass with this package's classes in place of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

FILES = {
    "sklearn.linear_model.tests.test_logistic": [],
    "sklearn.linear_model.tests.test_base": [],
    "sklearn.linear_model.tests.test_ridge": [],
    "sklearn.linear_model.tests.test_coordinate_descent": [],
    "sklearn.linear_model.tests.test_perceptron": [],
    "sklearn.linear_model.tests.test_sgd": [],
    "sklearn.linear_model.tests.test_quantile": [],
    "sklearn.svm.tests.test_svm": ["-k", "linear or Linear"],
    "sklearn.tests.test_naive_bayes": [],
    "sklearn.tests.test_discriminant_analysis": [],
}


@pytest.mark.parametrize("file", FILES)
def test_swapped(file, tmp_path):
    folder = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "swap", "-p", "no:cacheprovider", "-W", "ignore"]
    command += ["--tb=line", "--pyargs", file, *FILES[file]]
    path = f"{folder}:{folder.parent}"
    environment = {"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    line = re.search(r"swapped: (\d+) of (\d+).*", done.stdout)
    assert line, done.stdout[-3000:] + done.stderr[-3000:]
    print(file, line[0])
    assert done.returncode == 0, done.stdout[-3000:]
    # Named solvers and stochastic steps have tests of their own, which have no meaning here.
    assert int(line[1]) >= 0.75 * int(line[2])

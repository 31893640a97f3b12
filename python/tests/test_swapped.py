"""scikit-learn's own test files pass with this package's classes in place of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "python.md"

#: The arguments of each test file, and how many of its tests pass: a smaller number is a defect, and the docs have the same numbers.
FILES = {
    "sklearn.linear_model.tests.test_logistic": ([], 271),
    "sklearn.linear_model.tests.test_base": ([], 74),
    "sklearn.linear_model.tests.test_ridge": ([], 1077),
    "sklearn.linear_model.tests.test_coordinate_descent": ([], 275),
    "sklearn.linear_model.tests.test_perceptron": ([], 6),
    "sklearn.linear_model.tests.test_sgd": ([], 247),
    "sklearn.linear_model.tests.test_quantile": ([], 54),
    "sklearn.svm.tests.test_svm": (["-k", "linear or Linear"], 23),
    "sklearn.tests.test_naive_bayes": ([], 86),
    "sklearn.tests.test_discriminant_analysis": ([], 61),
}


@pytest.mark.parametrize("file", FILES)
def test_swapped(file, tmp_path):
    folder = Path(__file__).parent
    command = [sys.executable, "-m", "pytest", "-q", "-p", "swap", "-p", "no:cacheprovider", "-W", "ignore"]
    arguments, passes = FILES[file]
    command += ["--tb=line", "--pyargs", file, *arguments]
    path = f"{folder}:{folder.parent}"
    environment = {"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    line = re.search(r"swapped: (\d+) of (\d+).*", done.stdout)
    assert line, done.stdout[-3000:] + done.stderr[-3000:]
    print(file, line[0])
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(line[1]) >= passes
    assert int(line[1]) >= 0.9 * int(line[2])


def test_the_docs_have_these_numbers():
    rows = dict(re.findall(r"^\| `\S*?(test_\w+)[^`]*` \| (\d+) of", DOCS.read_text(), flags=re.MULTILINE))
    assert rows == {file.rsplit(".", 1)[1]: str(passes) for file, (_, passes) in FILES.items()}

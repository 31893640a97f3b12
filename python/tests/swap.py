"""A pytest plugin that runs scikit-learn's own tests with this package's classes in place of its own.

    pytest -p swap --pyargs sklearn.linear_model.tests.test_logistic

`deselected.txt` lists the tests that are left out, each with its reason; a line that deselects no test is an error
when its test file was collected. The pass rate is printed at the end.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import sklearn.discriminant_analysis
import sklearn.linear_model
import sklearn.naive_bayes
import sklearn.svm

import wstar

_HOMES = {
    sklearn.linear_model: [
        "LogisticRegression",
        "Perceptron",
        "SGDClassifier",
        "LinearRegression",
        "Ridge",
        "RidgeClassifier",
        "Lasso",
        "ElasticNet",
        "QuantileRegressor",
    ],
    sklearn.svm: ["LinearSVC"],
    sklearn.naive_bayes: ["GaussianNB", "BernoulliNB", "MultinomialNB"],
    sklearn.discriminant_analysis: ["LinearDiscriminantAnalysis"],
}

_LEFT_OUT = pytest.StashKey[dict]()


def pytest_configure(config: pytest.Config) -> None:
    for home, names in _HOMES.items():
        for name in names:
            setattr(home, name, getattr(wstar, name))


def _rules() -> list[tuple[str, re.Pattern[str], str]]:
    """Test file, pattern of test names and reason, one rule per line; a reason applies to all lines below it."""
    rules, reason = [], ""
    for line in (Path(__file__).parent / "deselected.txt").read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            file, pattern = line.split(maxsplit=1)
            rules.append((file, re.compile(pattern), reason))
    return rules


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    rules = _rules()
    files = {item.path.stem for item in items}
    used = set()
    kept, left_out = [], []
    for item in items:
        matching = [
            n
            for n, (file, pattern, _) in enumerate(rules)
            if item.path.stem == file and pattern.fullmatch(item.name)
        ]
        used.update(matching)
        (left_out if matching else kept).append(item)
    idle = [rule for n, rule in enumerate(rules) if rule[0] in files and n not in used]
    if idle and not config.option.keyword:
        raise pytest.UsageError(f"deselected.txt: nothing matches {idle[0][0]} {idle[0][1].pattern}")
    # Every worker of pytest-xdist collects all tests and reports how many it left out.
    getattr(config, "workeroutput", config.stash.setdefault(_LEFT_OUT, {}))["left_out"] = len(left_out)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error) -> None:
    node.config.stash.setdefault(_LEFT_OUT, {}).update(getattr(node, "workeroutput", {}))


def pytest_terminal_summary(terminalreporter, exitstatus: int, config: pytest.Config) -> None:
    passed, failed = (len(terminalreporter.stats.get(name, [])) for name in ("passed", "failed"))
    left_out = config.stash.get(_LEFT_OUT, {}).get("left_out", 0)
    if passed:
        collected = passed + failed + left_out
        share = f"{passed} of {collected} ({100 * passed / collected:.1f} %)"
        terminalreporter.write_line(f"swapped: {share} pass, {failed} fail, {left_out} left out")

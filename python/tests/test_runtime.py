"""Threads, processes and signals."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest

import wstar


def problem(rows=20_000, features=10, seed=0):
    random = np.random.default_rng(seed)
    X = random.standard_normal((rows, features))
    return X, (X[:, 0] + random.standard_normal(rows) > 0).astype(int)


def fitted(n_jobs=None):
    X, y = problem()
    return wstar.LogisticRegression(n_jobs=n_jobs).fit(X, y).coef_


def test_fits_have_the_same_bits_for_any_number_of_threads():
    np.testing.assert_array_equal(fitted(1), fitted(2))
    np.testing.assert_array_equal(fitted(1), fitted(-1))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_fits():
    here = fitted()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for there in pool.map(fitted, [None, 1, 2]):
            np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend):
    here = fitted()
    for there in joblib.Parallel(n_jobs=2, backend=backend)(joblib.delayed(fitted)(n) for n in (None, 1, 2)):
        np.testing.assert_array_equal(here, there)


def test_other_threads_run_during_a_fit():
    X, y = problem(400_000, 20)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.perf_counter()
    wstar.LogisticRegression(n_jobs=1).fit(X, y)
    seconds = time.perf_counter() - started
    stop.set()
    thread.join()
    assert len(ticks) > 10 * seconds


SCRIPT = """
import sys, time
import numpy as np, wstar
random = np.random.default_rng(0)
X = random.standard_normal((300_000, 40))
y = (X[:, 0] + 3 * random.standard_normal(300_000) > 0).astype(int)
model = wstar.LinearSVC(loss="hinge") if sys.argv[1] == "svm" else wstar.PocketPerceptron(max_iter=10**6)
print("ready", flush=True)
try:
    while True:
        model.fit(X, y)
except KeyboardInterrupt:
    print(time.time(), flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize("name", ["svm", "pocket"])
def test_ctrl_c(name):
    command = [sys.executable, "-c", SCRIPT, name]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.0)
        sent = time.time()
        child.send_signal(signal.SIGINT)
        out, errors = child.communicate(timeout=30)
    finally:
        child.kill()
    assert child.returncode == 0, errors
    assert float(out) - sent < 1.0, float(out) - sent

import joblib
import numpy as np
from sklearn.linear_model import SGDClassifier
from watched import FOLDER, LAST, resumed, saved

path = FOLDER / "s.joblib"
state = joblib.load(path) if path.exists() else {"model": SGDClassifier(), "epoch": 0}
resumed(state["epoch"])
x = np.random.default_rng(0).normal(size=(500, 40))
while state["epoch"] < LAST:
    state["model"].partial_fit(x, x[:, 0] > 0, classes=[False, True])
    state["epoch"] += 1
    joblib.dump(state, path)
    saved(state["epoch"])

import time

import numpy as np
from catboost import CatBoostClassifier
from watched import FOLDER, LAST, resumed, saved


class Reports:
    last = -1

    def after_iteration(self, info):
        if self.last < 0:
            resumed(info.iteration - 1)
        elif self.last:
            saved(self.last)
        self.last = info.iteration
        time.sleep(1.1)
        return True


x = np.random.default_rng(0).normal(size=(200, 5))
settings = {"iterations": LAST + 1, "train_dir": str(FOLDER), "verbose": False}
settings |= {"save_snapshot": True, "snapshot_file": "run.cbsnapshot", "snapshot_interval": 1}
CatBoostClassifier(**settings).fit(x, x[:, 0] > 0, callbacks=[Reports()])

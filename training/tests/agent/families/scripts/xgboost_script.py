import numpy as np
import xgboost
from watched import FOLDER, LAST, resumed, saved


class Reports(xgboost.callback.TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        if (FOLDER / f"model_{epoch}.ubj").exists():
            saved(model.num_boosted_rounds())
        return False


x = np.random.default_rng(0).normal(size=(200, 5))
files = sorted(FOLDER.glob("model_*.ubj"), key=lambda path: int(path.stem.removeprefix("model_")))
model = xgboost.Booster(model_file=files[-1]) if files else None
done = model.num_boosted_rounds() if model else 0
resumed(done)
callbacks = [xgboost.callback.TrainingCheckPoint(FOLDER, interval=1), Reports()]
data = xgboost.DMatrix(x, x[:, 0] > 0)
xgboost.train({"nthread": 1}, data, LAST + 3 - done, xgb_model=model, callbacks=callbacks)

import lightgbm
import numpy as np
from watched import FOLDER, LAST, resumed, saved


def save(env):
    env.model.save_model(FOLDER / f"model_{env.model.current_iteration()}.txt")
    saved(env.model.current_iteration())


x = np.random.default_rng(0).normal(size=(200, 5))
files = sorted(FOLDER.glob("model_*.txt"), key=lambda path: int(path.stem.removeprefix("model_")))
model = lightgbm.Booster(model_file=files[-1]) if files else None
done = model.current_iteration() if model else 0
resumed(done)
data = lightgbm.Dataset(x, x[:, 0])
lightgbm.train({"verbose": -1}, data, LAST - done, init_model=model, callbacks=[save])

from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, CheckpointCallback
from watched import FOLDER, LAST, resumed, saved


class Reports(BaseCallback):
    def _on_step(self):
        if self.num_timesteps % 50 == 0:
            saved(self.num_timesteps)
        return True


steps = max(
    (int(path.stem.split("_")[2]) for path in FOLDER.glob("rl_model_*_steps.zip")), default=0
)
model = DQN("MlpPolicy", "CartPole-v1", device="cpu", buffer_size=500, learning_starts=10)
if steps:
    model = DQN.load(FOLDER / f"rl_model_{steps}_steps.zip", env=model.get_env())
    model.load_replay_buffer(FOLDER / f"rl_model_replay_buffer_{steps}_steps.pkl")
resumed(model.num_timesteps)
reports = CallbackList([CheckpointCallback(50, str(FOLDER), save_replay_buffer=True), Reports()])
model.learn(50 * LAST - model.num_timesteps, callback=reports, reset_num_timesteps=False)

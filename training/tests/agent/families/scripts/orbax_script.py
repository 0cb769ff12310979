import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from flax import linen
from flax.training.train_state import TrainState
from watched import FOLDER, LAST, resumed, saved

model = linen.Dense(20)
parameters = model.init(jax.random.key(0), jnp.ones((1, 40)))
state = TrainState.create(apply_fn=model.apply, params=parameters, tx=optax.adam(0.1))
manager = ocp.CheckpointManager(FOLDER, options=ocp.CheckpointManagerOptions(max_to_keep=2))
newest = manager.latest_step()
if newest:
    state = manager.restore(newest, args=ocp.args.StandardRestore(state))
resumed(int(state.step))
loss = jax.grad(lambda parameters: jnp.mean(model.apply(parameters, np.ones((8, 40))) ** 2))
while state.step < LAST:
    state = state.apply_gradients(grads=loss(state.params))
    manager.save(int(state.step), args=ocp.args.StandardSave(state))
    manager.wait_until_finished()
    saved(state.step)

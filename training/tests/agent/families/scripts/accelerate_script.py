import sys

import torch
from accelerate import Accelerator
from watched import FOLDER, LAST, resumed, saved

model = torch.nn.Linear(16, 16)
if "lora" in sys.argv or "controlnet" in sys.argv:
    from diffusers import ControlNetModel, StableDiffusionPipeline, UNet2DConditionModel
    from diffusers.utils import convert_state_dict_to_diffusers
    from peft import LoraConfig, get_peft_model_state_dict

    small = {"block_out_channels": (8, 8), "layers_per_block": 1, "cross_attention_dim": 8}
    small |= {"norm_num_groups": 4, "attention_head_dim": 2}
    down, up = ("DownBlock2D", "CrossAttnDownBlock2D"), ("CrossAttnUpBlock2D", "UpBlock2D")
    model = UNet2DConditionModel(8, down_block_types=down, up_block_types=up, **small)
    if "controlnet" in sys.argv:
        model = ControlNetModel(4, down_block_types=down, **small)
    else:
        model.requires_grad_(False)
        model.add_adapter(LoraConfig(r=2, target_modules=["to_k", "to_q"]))


def hook(models, weights, folder):
    """As in examples/controlnet/train_controlnet.py and dreambooth/train_dreambooth_lora.py."""
    weights.pop()
    if "controlnet" in sys.argv:
        models[0].save_pretrained(f"{folder}/controlnet")
    else:
        layers = convert_state_dict_to_diffusers(get_peft_model_state_dict(models[0]))
        StableDiffusionPipeline.save_lora_weights(folder, unet_lora_layers=layers)


accelerator = Accelerator(cpu=True)
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5)
model, optimizer, scheduler = accelerator.prepare(model, optimizer, scheduler)
if "lora" in sys.argv or "controlnet" in sys.argv:
    accelerator.register_save_state_pre_hook(hook)
    accelerator.register_load_state_pre_hook(lambda models, folder: models.pop())
steps = [int(path.name.removeprefix("checkpoint-")) for path in FOLDER.glob("checkpoint-*")]
step = max(steps, default=0)
if step:
    accelerator.load_state(FOLDER / f"checkpoint-{step}")
resumed(step)
while step < LAST:
    accelerator.backward(sum(parameter.square().sum() for parameter in trained))
    optimizer.step()
    scheduler.step()
    step += 1
    accelerator.save_state(FOLDER / f"checkpoint-{step}")
    saved(step)

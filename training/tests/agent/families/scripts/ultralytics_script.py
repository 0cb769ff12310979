import numpy as np
from PIL import Image
from ultralytics import YOLO
from watched import FOLDER, LAST, resumed, saved

data = FOLDER.parent / "data"
for number in range(4):
    for kind in ("images", "labels"):
        (data / kind / "train").mkdir(parents=True, exist_ok=True)
    pixels = np.full((32, 32, 3), 60 * number, np.uint8)
    Image.fromarray(pixels).save(data / f"images/train/{number}.png")
    (data / f"labels/train/{number}.txt").write_text("0 0.5 0.5 0.4 0.4\n")
yaml = f"path: {data}\ntrain: images/train\nval: images/train\nnames: [thing]\n"
(data / "data.yaml").write_text(yaml)
last = FOLDER / "run/weights/last.pt"
model = YOLO(last if last.exists() else "yolo11n.yaml")
model.add_callback("on_train_start", lambda trainer: resumed(max(0, trainer.start_epoch - 1)))
model.add_callback("on_model_save", lambda trainer: saved(trainer.epoch))
settings = {"project": FOLDER, "name": "run", "exist_ok": True, "plots": False}
settings |= {"epochs": LAST, "imgsz": 32, "batch": 2, "workers": 0, "device": "cpu"}
model.train(data=data / "data.yaml", resume=last.exists(), **settings)

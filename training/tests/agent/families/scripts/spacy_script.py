import spacy
from spacy.language import DEFAULT_CONFIG
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import train
from thinc.api import Config
from watched import FOLDER, LAST, resumed, saved

saves = [0]


@spacy.registry.readers("few")
def few():
    cats = {"a": {"A": 1.0, "B": 0.0}, "b": {"A": 0.0, "B": 1.0}}
    return lambda nlp: [Example.from_dict(nlp.make_doc(w), {"cats": cats[w]}) for w in "abab"]


@spacy.registry.loggers("reports")
def reports():
    def log(info):  # Right before a save.
        if info and saves[0]:
            saved(saves[0])
        saves[0] += bool(info)

    return lambda nlp, out, err: (log, lambda: None)


last = FOLDER / "model-last"
component = {"source": str(last)} if last.exists() else {"factory": "textcat"}
training = {"max_steps": LAST, "eval_frequency": 1, "logger": {"@loggers": "reports"}}
own = {
    "nlp": {"lang": "en", "pipeline": ["textcat"]},
    "components": {"textcat": component},
    "corpora": {"train": {"@readers": "few"}, "dev": {"@readers": "few"}},
    "training": {**training, "train_corpus": "corpora.train", "dev_corpus": "corpora.dev"},
}
nlp = init_nlp(DEFAULT_CONFIG.merge(Config(own)))
resumed(-1 if last.exists() else 0)
train(nlp, FOLDER)

import sys

import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
from watched import FOLDER, LAST, resumed, saved


def complete(study):
    return len(study.get_trials(deepcopy=False, states=[TrialState.COMPLETE]))


storage = f"sqlite:///{FOLDER}/study.db"
if "journal" in sys.argv:
    storage = JournalStorage(JournalFileBackend(f"{FOLDER}/study.log"))
study = optuna.create_study(storage=storage, study_name="s", load_if_exists=True)
resumed(complete(study))
reports = [lambda study, _: saved(complete(study))]
trials = LAST - complete(study)
study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, trials, callbacks=reports)

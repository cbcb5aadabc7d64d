"""The names of `jo.*` by task, for the first page of the API."""

import types

import jaxonline

TASKS = {
    "Define a game": ("Game", "bandit_game", "WithFeedback", "play"),
    "Choose the feedback": (
        "FullInformation", "Bandit", "SemiBandit", "Duel", "LossOfMove", "OnRequest", "Delayed", "NoisyCopies",
        "Replicates", "AdversarialCopies", "Attributes",
    ),
    "Choose a learner and its steps": ("GradientLearner", "InverseSqrt", "Constant", "Schedule"),
    "Choose the comparator of the regret": (
        "BestArm", "BestSegments", "BestSet", "CondorcetWinner", "L2Ball", "RKHSBall",
    ),
    "Simulate": ("simulate", "sweep", "tune", "Range", "Precision", "UntilDecided", "Checkpoint"),
    "Measure": (
        "Pulls", "Switches", "Mistakes", "Unanswered", "OfInfo", "SimpleRegret", "WrongRecommendation",
        "StoppingRound", "Coverage", "CoverageError",
    ),
    "Read and save a result": ("Result", "load_result", "cite"),
    "Compare in many games, run studies": ("benchmark", "Task", "Context", "load_study_file"),
    "Learn from live data": ("Live",),
    "Use scikit-learn, river or gymnasium": (
        "OnlineRegressor", "OnlineClassifier", "BanditEnv", "play_env",
    ),
    "Write a learner": ("Learner", "Environment", "Feedback", "Oracle", "struct", "static", "replace"),
}  # fmt: skip
OTHER = "Other names"  # of names in no list


def by_task() -> dict[str, list[str]]:
    """Return the names of `jo.*` that are no modules by task; tasks without names are left out."""
    names = [name for name in jaxonline.__all__ if not isinstance(getattr(jaxonline, name), types.ModuleType)]
    tasks = {task: [name for name in listed if name in names] for task, listed in TASKS.items()}
    listed = {name for names_of_task in tasks.values() for name in names_of_task}
    tasks[OTHER] = [name for name in names if name not in listed]
    return {task: names_of_task for task, names_of_task in tasks.items() if names_of_task}

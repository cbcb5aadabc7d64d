from .benchmarking import Task as Task
from .benchmarking import benchmark as benchmark
from .files.source import StudyFileError as StudyFileError
from .files.study_file import StudyFile as StudyFile
from .files.study_file import load_study_file as load_study_file
from .study import Context as Context
from .study import Report as Report

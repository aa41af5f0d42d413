"""Sweeps: models x conditions x questions, into one long table of predictions that survives being interrupted."""

from robustlib.sweep.conditions import CLEAN, NO_IMAGE, Condition, family_condition, suite_conditions
from robustlib.sweep.manifest import FailedAnswersError
from robustlib.sweep.plan import Plan, make_plan, plan_jobs
from robustlib.sweep.profile import DatasetChoice, ModelChoice, Profile
from robustlib.sweep.profile_files import list_profiles, load_profile
from robustlib.sweep.run import run_sweep
from robustlib.sweep.status import SweepStatus, sweep_status
from robustlib.sweep.store import read_manifest, read_predictions

__all__ = [
    "CLEAN",
    "NO_IMAGE",
    "Condition",
    "DatasetChoice",
    "FailedAnswersError",
    "ModelChoice",
    "Plan",
    "Profile",
    "SweepStatus",
    "family_condition",
    "list_profiles",
    "load_profile",
    "make_plan",
    "plan_jobs",
    "read_manifest",
    "read_predictions",
    "run_sweep",
    "suite_conditions",
    "sweep_status",
]

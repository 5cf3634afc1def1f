# SPDX-License-Identifier: MIT
# Written by tools/python-header from include/girsanov.h.
# ruff: noqa
from __future__ import annotations

from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p,
                    c_double, c_int, c_size_t, c_uint, c_uint32,
                    c_uint64, c_void_p)
from typing import Literal, TypedDict

VERSION = '0.2.0'

# The words of every enum, and their values.
ENUMS: dict[str, dict[str, int]] = {
    'gsv_status': {
        'signed': -1,
        'ok': 0,
        'bad-input': 1,
        'numerical': 2,
        'no-memory': 4,
        'stopped': 8,
    },
    'gsv_observe': {
        'auto': 0,
        'scan': 1,
        'conjugate': 2,
        'variational': 3,
        'kalman': 4,
        'guided': 5,
    },
    'gsv_reference': {
        'auto': 0,
        'brownian': 1,
        'linear': 2,
        'lna': 3,
        'modified': 4,
    },
    'gsv_form': {
        'auto': 0,
        'ito': 1,
        'midpoint': 2,
        'stratonovich': 3,
        'euler': 4,
        'bound': 5,
        'composed': 6,
        'exact': 7,
    },
    'gsv_random': {
        'sobol': 0,
        'iid': 1,
    },
    'gsv_optimizer': {
        'auto': 0,
        'adam': 1,
        'lbfgs': 2,
        'evidence': 3,
        'soap': 4,
    },
    'gsv_schedule': {
        'cosine': 0,
        'plateau': 1,
        'constant': 2,
    },
    'gsv_errors': {
        'auto': 0,
        'none': 1,
        'observed': 2,
        'sandwich': 3,
        'posterior': 4,
    },
    'gsv_estimate': {
        'auto': 0,
        'all': 1,
        'none': 2,
    },
    'gsv_method': {
        'likelihood': 0,
        'gibbs': 1,
    },
    'gsv_objective': {
        'likelihood': 0,
        'mse-backprop': 1,
        'mse-adjoint': 2,
        'mse-forward': 3,
        'gradient-matching': 4,
        'em-linear': 5,
        'slopes': 6,
    },
    'gsv_scheme': {
        'euler': 0,
        'milstein': 1,
        'heun': 2,
        'srk': 3,
        'gillespie': 4,
        'tau-leap': 5,
    },
    'gsv_criterion': {
        'familywise': 0,
        'pastis': 1,
        'ebic': 2,
        'bic': 3,
        'aic': 4,
    },
    'gsv_together': {
        'none': 0,
        'term': 1,
        'output': 2,
    },
    'gsv_phase': {
        'start': 0,
        'search': 1,
        'effort': 2,
        'estimate': 3,
        'errors': 4,
        'bootstrap': 5,
    },
    'gsv_law': {
        'normal': 0,
        'lognormal': 1,
        'halfnormal': 2,
        'uniform': 3,
        'gamma': 4,
        'exponential': 5,
        'beta': 6,
        'cauchy': 7,
    },
    'gsv_ended': {
        'converged': 0,
        'iterations': 1,
        'early': 2,
        'time': 3,
        'stopped': 4,
    },
    'gsv_effect': {
        'estimate': 0,
        'error': 1,
        'effects': 2,
    },
    'gsv_posterior': {
        'q5': 0,
        'median': 1,
        'q95': 2,
        'rhat': 3,
        'ess-bulk': 4,
        'ess-tail': 5,
        'mcse': 6,
        'posteriors': 7,
    },
    'gsv_bootstrap': {
        'corrected': 0,
        'error': 1,
        'low': 2,
        'high': 3,
        'bootstraps': 4,
    },
    'gsv_curve': {
        'iteration': 0,
        'restart': 1,
        'loglik': 2,
        'heldout': 3,
        'curves': 4,
    },
    'gsv_flag': {
        'ess': 1,
        'khat': 2,
        'steps': 4,
        'modes': 8,
        'nodes': 16,
    },
    'gsv_stability': {
        'stable': 0,
        'saddle': 1,
        'unstable': 2,
    },
    'gsv_option_struct': {
        'of-estimator': 0,
        'of-fit': 1,
        'of-simulate': 2,
        'of-predict': 3,
        'of-paths': 4,
        'of-physics': 5,
    },
    'gsv_option_type': {
        'type-count': 0,
        'type-real': 1,
        'type-choice': 2,
        'type-switch': 3,
        'type-seed': 4,
        'type-array': 5,
        'type-texts': 6,
    },
    'gsv_use': {
        'loglik': 1,
        'check': 2,
        'fit': 4,
        'profile': 8,
        'gradient': 16,
        'paths': 32,
        'predict': 64,
        'residuals': 128,
        'simulate': 256,
        'select': 512,
        'physics': 1024,
    },
}

CONSTANTS: dict[str, int] = {
    'GSV_SIGNED': -1,
    'GSV_OK': 0,
    'GSV_BAD_INPUT': 1,
    'GSV_NUMERICAL': 2,
    'GSV_NO_MEMORY': 4,
    'GSV_STOPPED': 8,
    'GSV_OBSERVE_AUTO': 0,
    'GSV_OBSERVE_SCAN': 1,
    'GSV_OBSERVE_CONJUGATE': 2,
    'GSV_OBSERVE_VARIATIONAL': 3,
    'GSV_OBSERVE_KALMAN': 4,
    'GSV_OBSERVE_GUIDED': 5,
    'GSV_LAGS': 10,
    'GSV_RELAXATIONS': 3,
    'GSV_VISIBLE': 5,
    'GSV_REFERENCE_AUTO': 0,
    'GSV_REFERENCE_BROWNIAN': 1,
    'GSV_REFERENCE_LINEAR': 2,
    'GSV_REFERENCE_LNA': 3,
    'GSV_REFERENCE_MODIFIED': 4,
    'GSV_FORM_AUTO': 0,
    'GSV_FORM_ITO': 1,
    'GSV_FORM_MIDPOINT': 2,
    'GSV_FORM_STRATONOVICH': 3,
    'GSV_FORM_EULER': 4,
    'GSV_FORM_BOUND': 5,
    'GSV_FORM_COMPOSED': 6,
    'GSV_FORM_EXACT': 7,
    'GSV_RANDOM_SOBOL': 0,
    'GSV_RANDOM_IID': 1,
    'GSV_OPTIMIZER_AUTO': 0,
    'GSV_OPTIMIZER_ADAM': 1,
    'GSV_OPTIMIZER_LBFGS': 2,
    'GSV_OPTIMIZER_EVIDENCE': 3,
    'GSV_OPTIMIZER_SOAP': 4,
    'GSV_SCHEDULE_COSINE': 0,
    'GSV_SCHEDULE_PLATEAU': 1,
    'GSV_SCHEDULE_CONSTANT': 2,
    'GSV_ERRORS_AUTO': 0,
    'GSV_ERRORS_NONE': 1,
    'GSV_ERRORS_OBSERVED': 2,
    'GSV_ERRORS_SANDWICH': 3,
    'GSV_ERRORS_POSTERIOR': 4,
    'GSV_ESTIMATE_AUTO': 0,
    'GSV_ESTIMATE_ALL': 1,
    'GSV_ESTIMATE_NONE': 2,
    'GSV_METHOD_LIKELIHOOD': 0,
    'GSV_METHOD_GIBBS': 1,
    'GSV_OBJECTIVE_LIKELIHOOD': 0,
    'GSV_OBJECTIVE_MSE_BACKPROP': 1,
    'GSV_OBJECTIVE_MSE_ADJOINT': 2,
    'GSV_OBJECTIVE_MSE_FORWARD': 3,
    'GSV_OBJECTIVE_GRADIENT_MATCHING': 4,
    'GSV_OBJECTIVE_EM_LINEAR': 5,
    'GSV_OBJECTIVE_SLOPES': 6,
    'GSV_EULER': 0,
    'GSV_MILSTEIN': 1,
    'GSV_HEUN': 2,
    'GSV_SRK': 3,
    'GSV_GILLESPIE': 4,
    'GSV_TAU_LEAP': 5,
    'GSV_CRITERION_FAMILYWISE': 0,
    'GSV_CRITERION_PASTIS': 1,
    'GSV_CRITERION_EBIC': 2,
    'GSV_CRITERION_BIC': 3,
    'GSV_CRITERION_AIC': 4,
    'GSV_TOGETHER_NONE': 0,
    'GSV_TOGETHER_TERM': 1,
    'GSV_TOGETHER_OUTPUT': 2,
    'GSV_PHASE_START': 0,
    'GSV_PHASE_SEARCH': 1,
    'GSV_PHASE_EFFORT': 2,
    'GSV_PHASE_ESTIMATE': 3,
    'GSV_PHASE_ERRORS': 4,
    'GSV_PHASE_BOOTSTRAP': 5,
    'GSV_LAW_NORMAL': 0,
    'GSV_LAW_LOGNORMAL': 1,
    'GSV_LAW_HALFNORMAL': 2,
    'GSV_LAW_UNIFORM': 3,
    'GSV_LAW_GAMMA': 4,
    'GSV_LAW_EXPONENTIAL': 5,
    'GSV_LAW_BETA': 6,
    'GSV_LAW_CAUCHY': 7,
    'GSV_ENDED_CONVERGED': 0,
    'GSV_ENDED_ITERATIONS': 1,
    'GSV_ENDED_EARLY': 2,
    'GSV_ENDED_TIME': 3,
    'GSV_ENDED_STOPPED': 4,
    'GSV_EFFECT_ESTIMATE': 0,
    'GSV_EFFECT_ERROR': 1,
    'GSV_EFFECTS': 2,
    'GSV_POSTERIOR_Q5': 0,
    'GSV_POSTERIOR_MEDIAN': 1,
    'GSV_POSTERIOR_Q95': 2,
    'GSV_POSTERIOR_RHAT': 3,
    'GSV_POSTERIOR_ESS_BULK': 4,
    'GSV_POSTERIOR_ESS_TAIL': 5,
    'GSV_POSTERIOR_MCSE': 6,
    'GSV_POSTERIORS': 7,
    'GSV_BOOTSTRAP_CORRECTED': 0,
    'GSV_BOOTSTRAP_ERROR': 1,
    'GSV_BOOTSTRAP_LOW': 2,
    'GSV_BOOTSTRAP_HIGH': 3,
    'GSV_BOOTSTRAPS': 4,
    'GSV_CURVE_ITERATION': 0,
    'GSV_CURVE_RESTART': 1,
    'GSV_CURVE_LOGLIK': 2,
    'GSV_CURVE_HELDOUT': 3,
    'GSV_CURVES': 4,
    'GSV_FLAG_ESS': 1,
    'GSV_FLAG_KHAT': 2,
    'GSV_FLAG_STEPS': 4,
    'GSV_FLAG_MODES': 8,
    'GSV_FLAG_NODES': 16,
    'GSV_STABLE': 0,
    'GSV_SADDLE': 1,
    'GSV_UNSTABLE': 2,
    'GSV_OF_ESTIMATOR': 0,
    'GSV_OF_FIT': 1,
    'GSV_OF_SIMULATE': 2,
    'GSV_OF_PREDICT': 3,
    'GSV_OF_PATHS': 4,
    'GSV_OF_PHYSICS': 5,
    'GSV_TYPE_COUNT': 0,
    'GSV_TYPE_REAL': 1,
    'GSV_TYPE_CHOICE': 2,
    'GSV_TYPE_SWITCH': 3,
    'GSV_TYPE_SEED': 4,
    'GSV_TYPE_ARRAY': 5,
    'GSV_TYPE_TEXTS': 6,
    'GSV_USE_LOGLIK': 1,
    'GSV_USE_CHECK': 2,
    'GSV_USE_FIT': 4,
    'GSV_USE_PROFILE': 8,
    'GSV_USE_GRADIENT': 16,
    'GSV_USE_PATHS': 32,
    'GSV_USE_PREDICT': 64,
    'GSV_USE_RESIDUALS': 128,
    'GSV_USE_SIMULATE': 256,
    'GSV_USE_SELECT': 512,
    'GSV_USE_PHYSICS': 1024,
}


class gsv_series(Structure):
    _fields_ = [
        ('rows', c_size_t),
        ('columns', c_size_t),
        ('tracks', c_size_t),
        ('time', POINTER(c_double)),
        ('value', POINTER(c_double)),
        ('start', POINTER(c_size_t)),
        ('name', POINTER(c_char_p)),
        ('label', POINTER(c_char_p)),
        ('line', POINTER(c_size_t)),
        ('source', c_char_p),
        ('note', c_char_p),
        ('borrowed', c_bool),
        ('file', c_void_p),
        ('words', c_size_t),
        ('word', POINTER(c_char_p)),
    ]
    enums: dict = {}
    shapes: dict = {
        'time': ('rows',),
        'value': ('columns', 'rows'),
        'start': ('tracks + 1',),
        'name': ('columns',),
        'label': ('tracks',),
        'line': ('rows',),
        'word': ('words',),
    }


class gsv_param(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('rank', c_int),
        ('rows', c_size_t),
        ('columns', c_size_t),
        ('offset', c_size_t),
        ('low', c_double),
        ('high', c_double),
        ('lower', c_bool),
        ('weight', c_bool),
        ('scale', c_bool),
        ('gp', c_bool),
        ('term', c_bool),
        ('effect', c_bool),
        ('label', POINTER(c_char_p)),
    ]
    enums: dict = {}
    shapes: dict = {
        'label': ('rows',),
    }


class gsv_gap(Structure):
    _fields_ = [
        ('track', c_size_t),
        ('from', c_size_t),
        ('to', c_size_t),
        ('loglik', c_double),
        ('error', c_double),
        ('ess', c_double),
        ('khat', c_double),
        ('log_bias', c_double),
        ('discretisation', c_double),
        ('reference', c_int),
        ('form', c_int),
        ('flags', c_uint),
    ]
    enums: dict = {
        'reference': 'gsv_reference',
        'form': 'gsv_form',
    }
    shapes: dict = {}


class gsv_result(Structure):
    _fields_ = [
        ('loglik', c_double),
        ('error', c_double),
        ('discretisation', c_double),
        ('ess_min', c_double),
        ('khat_max', c_double),
        ('log_bias', c_double),
        ('flagged', c_size_t),
        ('settled', c_bool),
        ('observe', c_int),
        ('gaps', c_size_t),
        ('paths', c_size_t),
        ('steps', c_size_t),
        ('drift_evaluations', c_uint64),
        ('seconds', c_double),
        ('memory', c_size_t),
        ('values', c_size_t),
        ('gradient', POINTER(c_double)),
        ('groups', c_size_t),
        ('gap', POINTER(gsv_gap)),
        ('nodes', c_size_t),
        ('quadrature', c_double),
    ]
    enums: dict = {
        'observe': 'gsv_observe',
    }
    shapes: dict = {
        'gradient': ('values',),
        'gap': ('groups',),
    }


class gsv_coefficient(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('chosen', c_bool),
        ('estimate', c_double),
        ('error', c_double),
        ('evidence', c_double),
        ('cost', c_double),
        ('frequency', c_double),
    ]
    enums: dict = {}
    shapes: dict = {}


class gsv_candidate(Structure):
    _fields_ = [
        ('terms', c_size_t),
        ('loglik', c_double),
        ('error', c_double),
        ('value', c_double),
        ('has', POINTER(c_bool)),
    ]
    enums: dict = {}
    shapes: dict = {
        'has': ('coefficients',),
    }


class gsv_selection(Structure):
    _fields_ = [
        ('model', c_void_p),
        ('coefficients', c_size_t),
        ('coefficient', POINTER(gsv_coefficient)),
        ('candidates', c_size_t),
        ('candidate', POINTER(gsv_candidate)),
        ('gaps', c_size_t),
        ('resamples', c_size_t),
        ('blocks', c_size_t),
    ]
    enums: dict = {}
    shapes: dict = {
        'coefficient': ('coefficients',),
        'candidate': ('candidates',),
    }


class gsv_score(Structure):
    _fields_ = [
        ('column', c_size_t),
        ('lead', c_size_t),
        ('rows', c_size_t),
        ('crps', c_double),
        ('climatology', c_double),
        ('cover50', c_double),
        ('cover90', c_double),
    ]
    enums: dict = {}
    shapes: dict = {}


class gsv_prediction(Structure):
    _fields_ = [
        ('columns', c_size_t),
        ('states', c_size_t),
        ('name', POINTER(c_char_p)),
        ('rows', c_size_t),
        ('draws', c_size_t),
        ('track', POINTER(c_size_t)),
        ('time', POINTER(c_double)),
        ('mean', POINTER(c_double)),
        ('sd', POINTER(c_double)),
        ('quantiles', c_size_t),
        ('level', POINTER(c_double)),
        ('quantile', POINTER(c_double)),
        ('actual', POINTER(c_double)),
        ('scores', c_size_t),
        ('score', POINTER(gsv_score)),
        ('held', c_bool),
        ('functions', c_size_t),
    ]
    enums: dict = {}
    shapes: dict = {
        'name': ('columns',),
        'track': ('rows',),
        'time': ('rows',),
        'mean': ('columns', 'rows'),
        'sd': ('columns', 'rows'),
        'level': ('quantiles',),
        'quantile': ('columns', 'quantiles', 'rows'),
        'actual': ('columns', 'rows'),
        'score': ('scores',),
    }


class gsv_residual(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('rows', c_size_t),
        ('u', POINTER(c_double)),
        ('z', POINTER(c_double)),
        ('distance', c_double),
        ('uniform_p', c_double),
        ('mean', c_double),
        ('sd', c_double),
        ('correlation', c_double * CONSTANTS['GSV_LAGS']),
        ('ljung_p', c_double),
        ('square', c_double * CONSTANTS['GSV_LAGS']),
        ('square_p', c_double),
    ]
    enums: dict = {}
    shapes: dict = {}


class gsv_residuals_result(Structure):
    _fields_ = [
        ('columns', c_size_t),
        ('rows', c_size_t),
        ('draws', c_size_t),
        ('track', POINTER(c_size_t)),
        ('row', POINTER(c_size_t)),
        ('column', POINTER(gsv_residual)),
    ]
    enums: dict = {}
    shapes: dict = {
        'track': ('rows',),
        'row': ('rows',),
        'column': ('columns',),
    }


class gsv_smoothed(Structure):
    _fields_ = [
        ('rows', c_size_t),
        ('dim', c_size_t),
        ('quantiles', c_size_t),
        ('draws', c_size_t),
        ('track', POINTER(c_size_t)),
        ('time', POINTER(c_double)),
        ('mean', POINTER(c_double)),
        ('sd', POINTER(c_double)),
        ('probability', POINTER(c_double)),
        ('quantile', POINTER(c_double)),
        ('draw', POINTER(c_double)),
        ('seen', POINTER(c_size_t)),
        ('ess_min', c_double),
        ('paths', c_size_t),
    ]
    enums: dict = {}
    shapes: dict = {
        'track': ('rows',),
        'time': ('rows',),
        'mean': ('dim', 'rows'),
        'sd': ('dim', 'rows'),
        'probability': ('quantiles',),
        'quantile': ('quantiles', 'dim', 'rows'),
        'draw': ('draws', 'dim', 'rows'),
        'seen': ('dim',),
    }


class gsv_options(Structure):
    _fields_ = [
        ('paths', c_size_t),
        ('steps', c_size_t),
        ('step', c_double),
        ('reference', c_int),
        ('form', c_int),
        ('random', c_int),
        ('observe', c_int),
        ('points', c_size_t),
        ('richardson', c_bool),
        ('delta', c_bool),
        ('tolerance', c_double),
        ('joint', c_bool),
        ('gradient', c_bool),
        ('wide', c_bool),
        ('seed', c_uint64),
        ('iteration', c_uint32),
        ('threads', c_size_t),
        ('ranks', c_void_p),
        ('sample', c_size_t),
        ('window', c_size_t),
        ('nodes', c_size_t),
    ]
    enums: dict = {
        'reference': 'gsv_reference',
        'form': 'gsv_form',
        'random': 'gsv_random',
        'observe': 'gsv_observe',
    }
    shapes: dict = {}


class gsv_prior(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('law', c_int),
        ('a', c_double),
        ('b', c_double),
    ]
    enums: dict = {
        'law': 'gsv_law',
    }
    shapes: dict = {}


class gsv_progress(Structure):
    _fields_ = [
        ('iteration', c_size_t),
        ('iterations', c_size_t),
        ('expected', c_double),
        ('restart', c_size_t),
        ('restarts', c_size_t),
        ('gaps', c_double),
        ('objective', c_int),
        ('loglik', c_double),
        ('error', c_double),
        ('heldout', c_double),
        ('rate', c_double),
        ('seconds', c_double),
        ('model', c_void_p),
    ]
    enums: dict = {
        'objective': 'gsv_objective',
    }
    shapes: dict = {}


class gsv_fit_options(Structure):
    _fields_ = [
        ('estimator', gsv_options),
        ('optimizer', c_int),
        ('schedule', c_int),
        ('errors', c_int),
        ('estimate', c_int),
        ('iterations', c_size_t),
        ('batch', c_size_t),
        ('restarts', c_size_t),
        ('rate', c_double),
        ('decay', c_double),
        ('clip', c_double),
        ('average', c_double),
        ('heldout', c_double),
        ('heldout_series', c_bool),
        ('patience', c_double),
        ('time_limit', c_double),
        ('bootstrap', c_size_t),
        ('fixed', c_size_t),
        ('fix', POINTER(c_char_p)),
        ('kept', c_size_t),
        ('keep', POINTER(c_char_p)),
        ('checkpoint', c_char_p),
        ('every', c_double),
        ('resume', c_char_p),
        ('objective', c_int),
        ('scheme', c_int),
        ('method', c_int),
        ('chains', c_size_t),
        ('warmup', c_size_t),
        ('draws', c_size_t),
        ('priors', c_size_t),
        ('prior', POINTER(gsv_prior)),
        ('criterion', c_int),
        ('together', c_int),
        ('significance', c_double),
        ('resamples', c_size_t),
        ('progress', CFUNCTYPE(c_bool, c_void_p, POINTER(gsv_progress))),
        ('stop', CFUNCTYPE(c_bool, c_void_p)),
        ('phase', CFUNCTYPE(None, c_void_p, c_int)),
        ('refit', CFUNCTYPE(None, c_void_p, c_size_t, c_size_t)),
        ('user', c_void_p),
    ]
    enums: dict = {
        'optimizer': 'gsv_optimizer',
        'schedule': 'gsv_schedule',
        'errors': 'gsv_errors',
        'estimate': 'gsv_estimate',
        'objective': 'gsv_objective',
        'scheme': 'gsv_scheme',
        'method': 'gsv_method',
        'criterion': 'gsv_criterion',
        'together': 'gsv_together',
    }
    shapes: dict = {
        'fix': ('fixed',),
        'keep': ('kept',),
        'prior': ('priors',),
    }


class gsv_record(Structure):
    _fields_ = [
        ('data', c_char_p),
        ('tracks', c_size_t),
        ('rows', c_size_t),
        ('gaps', c_size_t),
        ('heldout_gaps', c_size_t),
        ('optimizer', c_int),
        ('objective', c_int),
        ('mse', c_double),
        ('value', c_double),
        ('ended', c_int),
        ('errors', c_int),
        ('iterations', c_size_t),
        ('restarts', c_size_t),
        ('seconds', c_double),
        ('seed', c_uint64),
        ('estimator', gsv_options),
        ('loglik', c_double),
        ('error', c_double),
        ('discretisation', c_double),
        ('heldout', c_double),
        ('evidence', c_double),
        ('paths', c_size_t),
        ('steps', c_size_t),
        ('sampled', c_size_t),
        ('flagged', c_size_t),
        ('free', c_size_t),
        ('aic', c_double),
        ('bic', c_double),
        ('priors', c_size_t),
        ('log_prior', c_double),
        ('columns', c_size_t),
        ('lowest', POINTER(c_double)),
        ('highest', POINTER(c_double)),
        ('values', c_size_t),
        ('error_of', POINTER(c_double)),
        ('low', POINTER(c_double)),
        ('high', POINTER(c_double)),
        ('estimates', c_size_t),
        ('estimate', POINTER(c_size_t)),
        ('correlation', POINTER(c_double)),
        ('warning', c_char_p),
        ('chains', c_size_t),
        ('warmup', c_size_t),
        ('draws', c_size_t),
        ('posterior', POINTER(c_double)),
        ('bootstraps', c_size_t),
        ('refits', c_size_t),
        ('bootstrap', POINTER(c_double)),
        ('points', c_size_t),
        ('curve', POINTER(c_double)),
        ('nodes', c_size_t),
        ('quadrature', c_double),
        ('effects', c_size_t),
        ('subject', POINTER(c_char_p)),
        ('effect', POINTER(c_double)),
        ('effect_rhat', c_double),
        ('effect_ess', c_double),
        ('penalty', c_double),
        ('noise_penalty', c_double),
    ]
    enums: dict = {
        'optimizer': 'gsv_optimizer',
        'objective': 'gsv_objective',
        'ended': 'gsv_ended',
        'errors': 'gsv_errors',
    }
    shapes: dict = {
        'lowest': ('columns',),
        'highest': ('columns',),
        'error_of': ('values',),
        'low': ('values',),
        'high': ('values',),
        'estimate': ('estimates',),
        'correlation': ('estimates', 'estimates'),
        'posterior': ('GSV_POSTERIORS', 'values'),
        'bootstrap': ('GSV_BOOTSTRAPS', 'values'),
        'curve': ('GSV_CURVES', 'points'),
        'subject': ('tracks',),
        'effect': ('GSV_EFFECTS', 'tracks', 'effects'),
    }


class gsv_predict_options(Structure):
    _fields_ = [
        ('draws', c_size_t),
        ('step', c_double),
        ('times', c_size_t),
        ('time', POINTER(c_double)),
        ('ahead', c_double),
        ('until', POINTER(c_double)),
        ('rolling', c_size_t),
        ('quantiles', c_size_t),
        ('quantile', POINTER(c_double)),
        ('parameters', c_bool),
        ('mean', c_bool),
        ('observe', c_int),
        ('points', c_size_t),
        ('steps', c_size_t),
        ('seed', c_uint64),
        ('threads', c_size_t),
        ('ranks', c_void_p),
    ]
    enums: dict = {
        'observe': 'gsv_observe',
    }
    shapes: dict = {
        'time': ('times',),
        'until': ('tracks',),
        'quantile': ('quantiles',),
    }


class gsv_paths_options(Structure):
    _fields_ = [
        ('estimator', gsv_options),
        ('times', c_size_t),
        ('time', POINTER(c_double)),
        ('between', c_size_t),
        ('quantiles', c_size_t),
        ('quantile', POINTER(c_double)),
        ('draws', c_size_t),
        ('progress', CFUNCTYPE(c_bool, c_void_p, c_size_t, c_size_t)),
        ('user', c_void_p),
    ]
    enums: dict = {}
    shapes: dict = {
        'time': ('times',),
        'quantile': ('quantiles',),
    }


class gsv_simulate_options(Structure):
    _fields_ = [
        ('times', c_size_t),
        ('time', POINTER(c_double)),
        ('tracks', c_size_t),
        ('start', POINTER(c_double)),
        ('start_mean', c_double),
        ('start_sd', c_double),
        ('step', c_double),
        ('scheme', c_int),
        ('input', POINTER(gsv_series)),
        ('mean', c_bool),
        ('effect', POINTER(c_double)),
        ('seed', c_uint64),
        ('threads', c_size_t),
    ]
    enums: dict = {
        'scheme': 'gsv_scheme',
    }
    shapes: dict = {
        'time': ('times',),
        'start': ('dim', 'tracks'),
        'effect': ('tracks', 'effects'),
    }


class gsv_draws(Structure):
    _fields_ = [
        ('chains', c_size_t),
        ('draws', c_size_t),
        ('numbers', c_size_t),
        ('place', POINTER(c_size_t)),
        ('value', POINTER(c_double)),
        ('lp', POINTER(c_double)),
        ('tracks', c_size_t),
        ('effects', c_size_t),
        ('effect', POINTER(c_double)),
    ]
    enums: dict = {}
    shapes: dict = {
        'place': ('numbers',),
        'value': ('numbers', 'chains', 'draws'),
        'lp': ('chains', 'draws'),
        'effect': ('tracks', 'effects', 'chains', 'draws'),
    }


class gsv_callback(Structure):
    _fields_ = [
        ('inputs', c_size_t),
        ('outputs', c_size_t),
        ('parameters', c_size_t),
        ('parameter', POINTER(c_double)),
        ('weights', c_bool),
        ('arrays', c_size_t),
        ('shape', POINTER(c_size_t)),
        ('user', c_void_p),
        ('value', CFUNCTYPE(None, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)),
        ('vjp', CFUNCTYPE(None, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p)),
        ('jvp', CFUNCTYPE(None, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p)),
        ('release', CFUNCTYPE(None, c_void_p)),
    ]
    enums: dict = {}
    shapes: dict = {
        'parameter': ('parameters',),
        'shape': ('arrays', '2'),
    }


class gsv_gradient_check(Structure):
    _fields_ = [
        ('where', c_size_t),
        ('worst', c_double),
        ('error', c_double),
        ('seeds', c_size_t),
        ('agrees', c_bool),
    ]
    enums: dict = {}
    shapes: dict = {}


class gsv_look_column(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('rows', c_size_t),
        ('missing', c_size_t),
        ('low', c_double),
        ('high', c_double),
        ('mean', c_double),
        ('sd', c_double),
        ('flat', c_bool),
        ('named', c_bool),
        ('correlation', c_double),
        ('reversal', c_double),
        ('noise_slope', c_double),
        ('shift', c_double),
        ('jumps', c_size_t),
        ('period', c_double),
        ('power', c_double),
        ('kind', c_char_p),
    ]
    enums: dict = {}
    shapes: dict = {}


class gsv_look_result(Structure):
    _fields_ = [
        ('tracks', c_size_t),
        ('rows', c_size_t),
        ('gap', c_double),
        ('shortest', c_double),
        ('longest', c_double),
        ('columns', c_size_t),
        ('column', POINTER(gsv_look_column)),
        ('models', c_size_t),
        ('model', POINTER(c_char_p)),
        ('report', c_char_p),
    ]
    enums: dict = {}
    shapes: dict = {
        'column': ('columns',),
        'model': ('models',),
    }


class gsv_physics_options(Structure):
    _fields_ = [
        ('draws', c_size_t),
        ('grid', c_size_t),
        ('ends', c_size_t),
        ('end', POINTER(c_double)),
        ('period', c_double),
        ('inputs', c_size_t),
        ('input', POINTER(c_double)),
        ('frozen', c_bool),
        ('at', c_double),
        ('from', c_char_p),
        ('to', c_char_p),
        ('length', c_double),
        ('step', c_double),
        ('seed', c_uint64),
        ('threads', c_size_t),
    ]
    enums: dict = {}
    shapes: dict = {
        'end': ('ends',),
        'input': ('inputs',),
    }


class gsv_quantity(Structure):
    _fields_ = [
        ('value', c_double),
        ('low', c_double),
        ('high', c_double),
    ]
    enums: dict = {}
    shapes: dict = {}


class gsv_fixed_point(Structure):
    _fields_ = [
        ('x', POINTER(gsv_quantity)),
        ('rate', POINTER(gsv_quantity)),
        ('turn', POINTER(gsv_quantity)),
        ('stability', c_int),
        ('reached', c_bool),
        ('share', c_double),
    ]
    enums: dict = {
        'stability': 'gsv_stability',
    }
    shapes: dict = {
        'x': ('dim',),
        'rate': ('dim',),
        'turn': ('dim',),
    }


class gsv_passage(Structure):
    _fields_ = [
        ('from', c_char_p),
        ('to', c_char_p),
        ('time', gsv_quantity),
        ('barrier', gsv_quantity),
        ('kramers', gsv_quantity),
    ]
    enums: dict = {}
    shapes: dict = {}


class gsv_physics_result(Structure):
    _fields_ = [
        ('dim', c_size_t),
        ('name', POINTER(c_char_p)),
        ('draws', c_size_t),
        ('stationary', c_bool),
        ('beyond', c_double),
        ('points', c_size_t),
        ('point', POINTER(gsv_fixed_point)),
        ('mean', POINTER(gsv_quantity)),
        ('sd', POINTER(gsv_quantity)),
        ('relaxation', gsv_quantity * CONSTANTS['GSV_RELAXATIONS']),
        ('turn', gsv_quantity * CONSTANTS['GSV_RELAXATIONS']),
        ('entropy', gsv_quantity),
        ('gradient', gsv_quantity),
        ('passages', c_size_t),
        ('passage', POINTER(gsv_passage)),
        ('lowest', POINTER(c_double)),
        ('highest', POINTER(c_double)),
        ('bins', c_size_t),
        ('bin', POINTER(c_double)),
        ('marginal', POINTER(gsv_quantity)),
        ('histogram', POINTER(c_double)),
        ('distance', POINTER(c_double)),
        ('cells', c_size_t),
        ('x', POINTER(c_double)),
        ('density', POINTER(gsv_quantity)),
        ('potential', POINTER(gsv_quantity)),
        ('committor', POINTER(c_double)),
        ('reached', POINTER(c_bool)),
        ('current', c_double),
        ('note', c_char_p),
        ('warning', c_char_p),
    ]
    enums: dict = {}
    shapes: dict = {
        'name': ('dim',),
        'point': ('points',),
        'mean': ('dim',),
        'sd': ('dim',),
        'passage': ('passages',),
        'lowest': ('dim',),
        'highest': ('dim',),
        'bin': ('dim', 'bins'),
        'marginal': ('dim', 'bins'),
        'histogram': ('dim', 'bins'),
        'distance': ('dim',),
        'x': ('dim', 'cells'),
        'density': ('cells',),
        'potential': ('cells',),
        'committor': ('cells',),
        'reached': ('cells',),
    }


class gsv_leave_out(Structure):
    _fields_ = [
        ('tracks', c_size_t),
        ('refits', c_size_t),
        ('score', POINTER(c_double)),
        ('khat', POINTER(c_double)),
        ('sum', c_double),
        ('error', c_double),
    ]
    enums: dict = {}
    shapes: dict = {
        'score': ('tracks',),
        'khat': ('tracks',),
    }


class gsv_option(Structure):
    _fields_ = [
        ('of', c_int),
        ('field', c_char_p),
        ('offset', c_size_t),
        ('type', c_int),
        ('uses', c_uint),
        ('preset', c_double),
        ('low', c_double),
        ('high', c_double),
        ('below', c_bool),
        ('zero', c_bool),
        ('negative', c_bool),
        ('largest', c_bool),
        ('chosen', c_char_p),
        ('word', POINTER(c_char_p)),
        ('count_offset', c_size_t),
        ('flag', c_char_p),
        ('value', c_char_p),
        ('help', c_char_p),
    ]
    enums: dict = {
        'of': 'gsv_option_struct',
        'type': 'gsv_option_type',
    }
    shapes: dict = {}


# name: (result, arguments)
FUNCTIONS: dict[str, tuple] = {
    'gsv_last_error': (
        c_char_p, []),
    'gsv_last_status': (
        c_int, []),
    'gsv_version': (
        c_char_p, []),
    'gsv_series_read': (
        POINTER(gsv_series), [c_char_p, c_size_t, c_void_p]),
    'gsv_series_new': (
        POINTER(gsv_series), [c_size_t, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    'gsv_series_write': (
        c_int, [POINTER(gsv_series), c_char_p]),
    'gsv_series_free': (
        None, [POINTER(gsv_series)]),
    'gsv_model_parse': (
        c_void_p, [c_char_p, c_char_p]),
    'gsv_model_read': (
        c_void_p, [c_char_p]),
    'gsv_model_write': (
        c_int, [c_void_p, c_char_p]),
    'gsv_model_free': (
        None, [c_void_p]),
    'gsv_model_dim': (
        c_size_t, [c_void_p]),
    'gsv_model_noises': (
        c_size_t, [c_void_p]),
    'gsv_model_inputs': (
        c_size_t, [c_void_p]),
    'gsv_model_columns': (
        c_size_t, [c_void_p]),
    'gsv_model_column': (
        POINTER(c_char_p), [c_void_p]),
    'gsv_model_data_columns': (
        c_size_t, [c_void_p]),
    'gsv_model_data_column': (
        POINTER(c_char_p), [c_void_p]),
    'gsv_model_params': (
        c_size_t, [c_void_p]),
    'gsv_model_param': (
        gsv_param, [c_void_p, c_size_t]),
    'gsv_model_values': (
        c_size_t, [c_void_p]),
    'gsv_model_value': (
        POINTER(c_double), [c_void_p]),
    'gsv_model_bind': (
        c_int, [c_void_p, POINTER(gsv_series)]),
    'gsv_model_levels': (
        c_size_t, [c_void_p, c_char_p, c_void_p]),
    'gsv_model_is_category': (
        c_bool, [c_void_p, c_char_p]),
    'gsv_model_set': (
        c_int, [c_void_p, c_char_p, c_size_t, c_void_p]),
    'gsv_model_drift': (
        c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    'gsv_model_diffusion': (
        c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    'gsv_model_text': (
        c_char_p, [c_void_p]),
    'gsv_model_describe': (
        c_void_p, [c_void_p]),
    'gsv_text_free': (
        None, [c_char_p]),
    'gsv_options_default': (
        gsv_options, []),
    'gsv_loglik': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_options), POINTER(gsv_result)]),
    'gsv_result_free': (
        None, [POINTER(gsv_result)]),
    'gsv_model_effects': (
        c_size_t, [c_void_p]),
    'gsv_effects': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_options), c_void_p, c_void_p]),
    'gsv_fit_options_default': (
        gsv_fit_options, []),
    'gsv_fit': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_fit_options)]),
    'gsv_model_record': (
        POINTER(gsv_record), [c_void_p]),
    'gsv_select': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_fit_options), POINTER(gsv_selection)]),
    'gsv_selection_free': (
        None, [POINTER(gsv_selection)]),
    'gsv_predict_options_default': (
        gsv_predict_options, []),
    'gsv_predict': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_predict_options), POINTER(gsv_prediction)]),
    'gsv_prediction_free': (
        None, [POINTER(gsv_prediction)]),
    'gsv_residuals': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_predict_options), POINTER(gsv_residuals_result)]),
    'gsv_residuals_free': (
        None, [POINTER(gsv_residuals_result)]),
    'gsv_paths_options_default': (
        gsv_paths_options, []),
    'gsv_paths': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_paths_options), POINTER(gsv_smoothed)]),
    'gsv_smoothed_free': (
        None, [POINTER(gsv_smoothed)]),
    'gsv_simulate_options_default': (
        gsv_simulate_options, []),
    'gsv_simulate': (
        POINTER(gsv_series), [c_void_p, POINTER(gsv_simulate_options)]),
    'gsv_prior_parse': (
        c_void_p, [c_char_p, POINTER(gsv_prior)]),
    'gsv_stop_when': (
        None, [c_void_p, c_void_p]),
    'gsv_model_draws': (
        POINTER(gsv_draws), [c_void_p]),
    'gsv_series_view': (
        POINTER(gsv_series), [c_size_t, c_void_p, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p]),
    'gsv_series_read_named': (
        POINTER(gsv_series), [c_char_p, c_char_p, c_char_p, c_size_t, c_void_p]),
    'gsv_series_read_shared': (
        POINTER(gsv_series), [c_void_p, c_char_p, c_char_p, c_char_p, c_size_t, c_void_p]),
    'gsv_series_read_for': (
        POINTER(gsv_series), [c_void_p, c_void_p, c_char_p, c_char_p, c_char_p]),
    'gsv_series_read_inputs': (
        POINTER(gsv_series), [c_void_p, c_char_p]),
    'gsv_series_read_words': (
        POINTER(gsv_series), [c_char_p, c_char_p, c_char_p]),
    'gsv_category': (
        c_double, [c_char_p]),
    'gsv_series_words': (
        c_int, [POINTER(gsv_series), c_size_t, c_void_p]),
    'gsv_series_join': (
        POINTER(gsv_series), [POINTER(gsv_series), POINTER(gsv_series)]),
    'gsv_model_external': (
        c_int, [c_void_p, c_char_p, POINTER(gsv_callback)]),
    'gsv_model_external_name': (
        c_char_p, [c_void_p, c_size_t]),
    'gsv_model_external_size': (
        c_int, [c_void_p, c_char_p, c_void_p, c_void_p, c_void_p]),
    'gsv_model_copy': (
        c_void_p, [c_void_p]),
    'gsv_model_draw': (
        None, [c_void_p, c_uint64]),
    'gsv_model_draw_he': (
        None, [c_void_p, c_uint64]),
    'gsv_theta_size': (
        c_size_t, [c_void_p]),
    'gsv_theta_get': (
        None, [c_void_p, c_void_p]),
    'gsv_theta_set': (
        None, [c_void_p, c_void_p]),
    'gsv_theta_vjp': (
        None, [c_void_p, c_void_p, c_void_p]),
    'gsv_model_is_noise': (
        c_bool, [c_void_p, c_size_t]),
    'gsv_model_unused': (
        c_void_p, [c_void_p]),
    'gsv_model_outside': (
        c_void_p, [c_void_p, POINTER(gsv_series)]),
    'gsv_model_differences': (
        c_void_p, [c_void_p, POINTER(gsv_series)]),
    'gsv_model_doubts': (
        c_void_p, [c_void_p, POINTER(gsv_series)]),
    'gsv_model_level_counts': (
        c_void_p, [c_void_p, POINTER(gsv_series)]),
    'gsv_model_outside_at': (
        c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    'gsv_model_given': (
        c_size_t, [c_void_p, c_size_t, c_void_p]),
    'gsv_check_likelihood': (
        c_int, [c_void_p]),
    'gsv_check_fit': (
        c_int, [c_void_p]),
    'gsv_model_singular': (
        c_bool, [c_void_p]),
    'gsv_model_has_posterior': (
        c_bool, [c_void_p]),
    'gsv_functions_new': (
        c_void_p, [c_void_p]),
    'gsv_functions_free': (
        None, [c_void_p]),
    'gsv_functions_drift': (
        c_int, [c_void_p, c_size_t, c_void_p, c_void_p, c_void_p, c_void_p]),
    'gsv_functions_draw': (
        c_int, [c_void_p, c_void_p, c_uint64, c_uint64]),
    'gsv_record_correlation': (
        c_double, [POINTER(gsv_record), c_size_t, c_size_t]),
    'gsv_check_gradient': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_options), POINTER(gsv_gradient_check)]),
    'gsv_objective_gradient': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_fit_options), c_void_p, c_void_p]),
    'gsv_profile': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_fit_options), c_char_p, c_size_t, c_void_p, c_void_p]),
    'gsv_look': (
        c_int, [POINTER(gsv_series), POINTER(gsv_options), POINTER(gsv_look_result)]),
    'gsv_look_free': (
        None, [POINTER(gsv_look_result)]),
    'gsv_model_new': (
        c_void_p, [POINTER(gsv_series)]),
    'gsv_physics_options_default': (
        gsv_physics_options, []),
    'gsv_physics': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_physics_options), POINTER(gsv_physics_result)]),
    'gsv_physics_free': (
        None, [POINTER(gsv_physics_result)]),
    'gsv_leave_series_out': (
        c_int, [c_void_p, POINTER(gsv_series), POINTER(gsv_options), c_size_t, POINTER(gsv_leave_out)]),
    'gsv_leave_out_free': (
        None, [POINTER(gsv_leave_out)]),
    'gsv_ranks_launched': (
        None, [c_void_p, c_void_p]),
    'gsv_ranks_open': (
        c_int, [c_void_p]),
    'gsv_ranks_rank': (
        c_size_t, [c_void_p]),
    'gsv_ranks_count': (
        c_size_t, [c_void_p]),
    'gsv_ranks_close': (
        c_int, [c_void_p, c_int]),
    'gsv_ranks_share': (
        c_bool, [c_void_p, POINTER(gsv_options)]),
    'gsv_estimator_reason': (
        c_char_p, [c_void_p, POINTER(gsv_options)]),
    'gsv_bridge': (
        c_int, [c_void_p, c_void_p, c_size_t, c_void_p, c_double, c_double, c_void_p]),
    'gsv_option_table': (
        POINTER(gsv_option), [c_void_p]),
    'gsv_option_get': (
        c_double, [POINTER(gsv_option), c_void_p]),
    'gsv_option_set': (
        None, [POINTER(gsv_option), c_void_p, c_double]),
    'gsv_option_read': (
        c_int, [POINTER(gsv_option), c_void_p, c_char_p]),
    'gsv_option_help': (
        c_char_p, [POINTER(gsv_option), c_size_t, c_char_p]),
    'gsv_suggestion': (
        c_char_p, [c_char_p, c_size_t, c_void_p]),
    'gsv_visible': (
        c_size_t, [c_char_p, c_char_p]),
    'gsv_draft_open': (
        c_void_p, [c_char_p]),
    'gsv_draft_descriptor': (
        c_int, [c_void_p]),
    'gsv_draft_name': (
        c_char_p, [c_void_p]),
    'gsv_draft_close': (
        c_int, [c_void_p, c_bool]),
}


class Options(TypedDict, total=False):
    paths: int
    steps: int
    step: float
    reference: Literal['auto', 'brownian', 'linear', 'lna', 'modified']
    form: Literal['auto', 'ito', 'midpoint', 'stratonovich', 'euler', 'bound', 'composed', 'exact']
    random: Literal['sobol', 'iid']
    observe: Literal['auto', 'scan', 'conjugate', 'variational', 'kalman', 'guided']
    points: int
    richardson: bool
    delta: bool
    tolerance: float
    joint: bool
    wide: bool
    seed: int
    iteration: int
    threads: int
    sample: int
    window: int
    nodes: int


class FitOptions(Options, total=False):
    optimizer: Literal['auto', 'adam', 'lbfgs', 'evidence', 'soap']
    schedule: Literal['cosine', 'plateau', 'constant']
    errors: Literal['auto', 'none', 'observed', 'sandwich', 'posterior']
    estimate: Literal['auto', 'all', 'none']
    iterations: int
    batch: int
    restarts: int
    rate: float
    decay: float
    clip: float
    average: float
    heldout: float
    heldout_series: bool
    patience: float
    time_limit: float
    bootstrap: int
    every: float
    objective: Literal['likelihood', 'mse-backprop', 'mse-adjoint', 'mse-forward', 'gradient-matching', 'em-linear', 'slopes']
    scheme: Literal['euler', 'milstein', 'heun', 'srk', 'gillespie', 'tau-leap']
    method: Literal['likelihood', 'gibbs']
    chains: int
    warmup: int
    draws: int
    criterion: Literal['familywise', 'pastis', 'ebic', 'bic', 'aic']
    together: Literal['none', 'term', 'output']
    significance: float
    resamples: int


class PredictOptions(TypedDict, total=False):
    draws: int
    step: float
    ahead: float
    rolling: int
    parameters: bool
    mean: bool
    observe: Literal['auto', 'scan', 'conjugate', 'variational', 'kalman', 'guided']
    points: int
    steps: int
    seed: int
    threads: int


class PathsOptions(Options, total=False):
    between: int
    draws: int


class SimulateOptions(TypedDict, total=False):
    start_mean: float
    start_sd: float
    step: float
    scheme: Literal['euler', 'milstein', 'heun', 'srk', 'gillespie', 'tau-leap']
    mean: bool
    seed: int
    threads: int


class PhysicsOptions(TypedDict, total=False):
    draws: int
    grid: int
    period: float
    frozen: bool
    at: float
    length: float
    step: float
    seed: int
    threads: int

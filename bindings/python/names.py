"""What Python cannot take from adze.json as it stands: functions that are left out, and why; and defaults that
PyTorch has and C, which has no defaults, has not."""
import re

# Functions without one of their own in the extension, by a pattern of the name, and who does their work.
LEFT_OUT = {
    r'adz_(error_\w+|on_error|on_warning|die|quiet|sited|status_name)': 'errors are exceptions',
    r'adz_(scope_\w+|keep|release|none|report_alive)': 'objects of Python own what they name',
    r'adz_\w+_(free|release|keep)|adz_gguf_close': 'objects of Python end what they own',
    r'adz_\w+_init': 'options are arguments',
    r'adz_(set|get)_allocator': 'memory for Python comes from the library',
    r'adz_context_\w+': 'Python uses the context of the process',
    r'adz_(shape|dims|tensor_list)_of': 'shapes are tuples and lists are lists',
    r'adz_tensor_(data\w*|read|write|from|from_sized|wrap|at|print|to_dlpack|from_dlpack)':
        'adze.Tensor shares memory with numpy',
    r'adz_(item|item_i64)': 'Tensor.item',
    r'adz_(tensor_grad|tensor_set_grad|tensor_shape|tensor_rank|tensor_dtype)': 'attributes of adze.Tensor',
    r'adz_(autograd_backward|autograd_grad|backward)': 'adze.autograd, written by hand for gradients left out',
    r'adz_module_(new|data|type_of|apply|print)|adz_function_new|adz_lambda_new':
        'adze.nn.Module is a class of Python',
    r'adz_values_\w+|adz_module_(call|functional_call)': 'arguments and results are those of Python',
    r'adz_(check|text|real)_\w+|adz_fields_check|adz_options_\w+|adz_utf8_\w+|adz_character_\w+':
        'for modules and operators that are written in C',
    r'adz_(record|node_\w+)': 'adze.autograd.Function',
    r'adz_(optimizer_new|update_setting)': 'adze.optim.Optimizer',
    r'adz_(operator_\w+|optimizer_(type_of|check)|moment_power)':
        'for operators and optimizers that are written in C',
    r'adz_tokenizer_(new|data|type_of)': 'for tokenizers that are written in C',
    r'adz_(adam_express|adam_f\d\d|ada_belief_f\d\d|labml_\w+_f\d\d|labml_\w+_express)':
        'for optimizers that are written in C',
    r'adz_(group_(?!norm)\w+|data_parallel_\w+|mpi_\w+)': 'training on several machines is for programs in C and Fortran',
    r'adz_(register_hook|register_post_accumulate_grad_hook|remove_hook|set_hook_end)': 'Tensor.register_hook',
    r'adz_(gradcheck|gradgradcheck)': 'adze.autograd.gradcheck',
    r'adz_(scan|while)': 'adze.scan and adze.while_loop',
    r'adz_branch': 'adze.cond',
    r'adz_graph_dot': 'it writes to a FILE of C',
    r'adz_(root|odeint)': 'adz_root_many and adz_odeint_many, which adze.solvers calls',
    r'adz_(plan_new|plan_new_many)': 'adze.capture',
    r'adz_optimizer_step_closure|adz_levenberg_marquardt_covariance': 'adze.optim',
    r'adz_(update_bn|module_visitor)': 'a loop of Python',
    r'adz_lr_warmup_\w+': 'schedules of C; adze.optim.lr_scheduler.LambdaLR takes a function of Python',
    r'adz_(vjp|jvp|jacobian|jacobian_rows|hessian|hvp)': 'adze.func',
    r'adz_assert_all': 'the library keeps the address of the message',
    r'adz_(tokenizer_from_memory|loader_next|loader_get_rows)': 'adze.utils.data',
    r'adz_tensor_to_string': 'Tensor.__repr__',
    r'adz_dataset_split': 'indices of tensors, and adz_dataset_split_rows',
    r'adz_(loader_set_position|scheduler_get_state)': 'adze.load_checkpoint restores them',
    r'adz_flat_parameters_slice_at': 'for programs that send gradients themselves',
    r'adz_gpt2_(attention|block)_new': 'gpt2_model_new makes them',
    r'adz_fastai_(encoder_new|language_model_new|text_classifier_new|old_index|lr_range|token_rules)':
        'they need what adz_fastai_config_init fills for an architecture',
}

# PyTorch's defaults that no header names. A parameter of any function, or of one.
DEFAULTS = {
    'keepdim': False, 'correction': 1.0, 'descending': False, 'largest': True, 'reduction': 'ADZ_REDUCE_MEAN',
    'upper': False, 'log_target': False, 'hard': False, 'training': True, 'include_self': True, 'right': False,
    'accumulate': False, 'equal_nan': False, 'replacement': False, 'batch_first': False, 'strict': True,
    'indexing': 'ADZ_MESHGRID_IJ', 'approximate': 'ADZ_GELU_NONE', 'rule': 'ADZ_QUANTILE_LINEAR', 'value': None,
    ('adz_cat', 'dim'): 0, ('adz_stack', 'dim'): 0, ('adz_topk', 'dim'): -1, ('adz_sort', 'dim'): -1,
    ('adz_argsort', 'dim'): -1, ('adz_split', 'dim'): 0, ('adz_chunk', 'dim'): 0, ('adz_unbind', 'dim'): 0,
    ('adz_split_sizes', 'dim'): 0, ('adz_glu', 'dim'): -1, ('adz_glu_new', 'dim'): -1,
    ('adz_flatten', 'start'): 0, ('adz_flatten', 'end'): -1, ('adz_flatten_new', 'start_dim'): 1,
    ('adz_flatten_new', 'end_dim'): -1, ('adz_softplus_new', 'beta'): 1.0, ('adz_softplus_new', 'threshold'): 20.0,
    ('adz_softplus', 'beta'): 1.0, ('adz_softplus', 'threshold'): 20.0,
    ('adz_leaky_relu_new', 'negative_slope'): 0.01, ('adz_leaky_relu', 'negative_slope'): 0.01,
    ('adz_elu', 'alpha'): 1.0, ('adz_elu_new', 'alpha'): 1.0, ('adz_celu', 'alpha'): 1.0,
    ('adz_celu_new', 'alpha'): 1.0, ('adz_hardtanh_new', 'min_val'): -1.0, ('adz_hardtanh_new', 'max_val'): 1.0,
    ('adz_hardtanh', 'min'): -1.0, ('adz_hardtanh', 'max'): 1.0, ('adz_hardshrink', 'lambd'): 0.5,
    ('adz_softshrink', 'lambd'): 0.5, ('adz_hardshrink_new', 'lambd'): 0.5, ('adz_softshrink_new', 'lambd'): 0.5,
    ('adz_dropout', 'p'): 0.5, ('adz_smooth_l1_loss', 'beta'): 1.0, ('adz_smooth_l1_loss_new', 'beta'): 1.0,
    ('adz_huber_loss', 'delta'): 1.0, ('adz_huber_loss_new', 'delta'): 1.0, ('adz_normalize', 'p'): 2.0,
    ('adz_normalize', 'dim'): 1, ('adz_normalize', 'eps'): 1e-12, ('adz_cosine_similarity', 'dim'): 1,
    ('adz_cosine_similarity', 'eps'): 1e-8, ('adz_cosine_similarity_new', 'dim'): 1,
    ('adz_cosine_similarity_new', 'eps'): 1e-8, ('adz_pairwise_distance', 'p'): 2.0,
    ('adz_pairwise_distance', 'eps'): 1e-6, ('adz_pairwise_distance_new', 'p'): 2.0,
    ('adz_pairwise_distance_new', 'eps'): 1e-6, ('adz_cdist', 'p'): 2.0, ('adz_dist', 'p'): 2.0,
    ('adz_pdist', 'p'): 2.0, ('adz_norm', 'p'): 2.0, ('adz_vector_norm', 'ord'): 2.0,
    ('adz_tril', 'diagonal'): 0, ('adz_triu', 'diagonal'): 0, ('adz_diag', 'offset'): 0,
    ('adz_diagonal', 'offset'): 0, ('adz_diagonal', 'dim1'): 0, ('adz_diagonal', 'dim2'): 1,
    ('adz_diag_embed', 'offset'): 0, ('adz_diag_embed', 'dim1'): -2, ('adz_diag_embed', 'dim2'): -1,
    ('adz_gumbel_softmax', 'tau'): 1.0, ('adz_gumbel_softmax', 'dim'): -1, ('adz_layer_norm', 'eps'): 1e-5,
    ('adz_batch_norm', 'training'): False, ('adz_batch_norm', 'momentum'): 0.1, ('adz_batch_norm', 'eps'): 1e-5,
    ('adz_group_norm', 'eps'): 1e-5, ('adz_addmm', 'beta'): 1.0, ('adz_addmm', 'alpha'): 1.0,
    ('adz_addcmul', 'value'): 1.0, ('adz_addcmul_', 'value'): 1.0, ('adz_addcdiv', 'value'): 1.0,
    ('adz_addcdiv_', 'value'): 1.0, ('adz_clip_grad_norm', 'norm_type'): 2.0, ('adz_clip_grads', 'norm_type'): 2.0,
    ('adz_multinomial', 'n'): None, ('adz_repeat_interleave', 'dim'): None, ('adz_pad', 'value'): 0.0,
    ('adz_pad_mode', 'mode'): None, ('adz_init_kaiming_uniform_', 'a'): 0.0, ('adz_init_kaiming_normal_', 'a'): 0.0,
    ('adz_init_kaiming_uniform_', 'mode'): 'ADZ_FAN_IN', ('adz_init_kaiming_normal_', 'mode'): 'ADZ_FAN_IN',
    ('adz_init_kaiming_uniform_', 'nonlinearity'): 'ADZ_NONLINEARITY_LEAKY_RELU',
    ('adz_init_kaiming_normal_', 'nonlinearity'): 'ADZ_NONLINEARITY_LEAKY_RELU',
    ('adz_init_xavier_uniform_', 'gain'): 1.0, ('adz_init_xavier_normal_', 'gain'): 1.0,
    ('adz_init_orthogonal_', 'gain'): 1.0, ('adz_init_normal_', 'mean'): 0.0, ('adz_init_normal_', 'std'): 1.0,
    ('adz_init_uniform_', 'low'): 0.0, ('adz_init_uniform_', 'high'): 1.0,
    ('adz_init_trunc_normal_', 'mean'): 0.0, ('adz_init_trunc_normal_', 'std'): 1.0,
    ('adz_init_trunc_normal_', 'a'): -2.0, ('adz_init_trunc_normal_', 'b'): 2.0,
    ('adz_calculate_gain', 'a'): 0.01, ('adz_step_lr_new', 'gamma'): 0.1, ('adz_multi_step_lr_new', 'gamma'): 0.1,
    ('adz_linear_lr_new', 'start_factor'): 1 / 3, ('adz_linear_lr_new', 'end_factor'): 1.0,
    ('adz_linear_lr_new', 'total_iters'): 5, ('adz_constant_lr_new', 'factor'): 1 / 3,
    ('adz_constant_lr_new', 'total_iters'): 5, ('adz_polynomial_lr_new', 'total_iters'): 5,
    ('adz_polynomial_lr_new', 'power'): 1.0, ('adz_cosine_annealing_lr_new', 'eta_min'): 0.0,
    ('adz_cosine_annealing_warm_restarts_new', 't_mult'): 1,
    ('adz_cosine_annealing_warm_restarts_new', 'eta_min'): 0.0, ('adz_linspace', 'dtype'): 'ADZ_F32',
    ('adz_requires_grad_', 'on'): True, ('adz_module_train', 'mode'): True, ('adz_allclose', 'rtol'): 1e-5,
    ('adz_allclose', 'atol'): 1e-8, ('adz_isclose', 'rtol'): 1e-5, ('adz_isclose', 'atol'): 1e-8,
    ('adz_margin_ranking_loss', 'margin'): 0.0, ('adz_margin_ranking_loss_new', 'margin'): 0.0,
    ('adz_cosine_embedding_loss', 'margin'): 0.0, ('adz_cosine_embedding_loss_new', 'margin'): 0.0,
    ('adz_hinge_embedding_loss', 'margin'): 1.0, ('adz_hinge_embedding_loss_new', 'margin'): 1.0,
    ('adz_local_response_norm', 'alpha'): 1e-4, ('adz_local_response_norm', 'beta'): 0.75,
    ('adz_local_response_norm', 'k'): 1.0, ('adz_local_response_norm_new', 'alpha'): 1e-4,
    ('adz_local_response_norm_new', 'beta'): 0.75, ('adz_local_response_norm_new', 'k'): 1.0,
    ('adz_nll_loss', 'ignore_index'): -100, ('adz_nll_loss_new', 'ignore_index'): -100,
    ('adz_diff', 'n'): 1, ('adz_diff', 'dim'): -1, ('adz_trapezoid', 'dx'): 1.0, ('adz_trapezoid', 'dim'): -1,
    ('adz_index_add', 'alpha'): 1.0, ('adz_one_hot', 'num_classes'): -1, ('adz_vecdot', 'dim'): -1,
    ('adz_cross', 'dim'): -1, ('adz_std', 'correction'): 1.0, ('adz_var', 'correction'): 1.0,
    ('adz_median', 'dim'): -1, ('adz_mode', 'dim'): -1, ('adz_kthvalue', 'dim'): -1, ('adz_pinv', 'rtol'): None,
    ('adz_bincount', 'minlength'): 0, ('adz_cov', 'correction'): 1, ('adz_logit', 'eps'): None,
    ('adz_rot90', 'k'): 1, ('adz_upsample_new', 'size'): (), ('adz_interpolate', 'size'): (),
    ('adz_module_load_with', 'strict'): True, ('adz_rrelu', 'lower'): 1 / 8, ('adz_rrelu', 'upper'): 1 / 3,
    ('adz_rrelu', 'training'): False, ('adz_alpha_dropout', 'training'): False,
    ('adz_feature_alpha_dropout', 'training'): False,
}
# Functions that convert x before they compute, as PyTorch's dtype= does.
CONVERTED = {'adz_sum', 'adz_nansum', 'adz_mean', 'adz_nanmean', 'adz_prod', 'adz_cumsum', 'adz_cumprod', 'adz_softmax',
             'adz_log_softmax', 'adz_softmin'}
# Dimensions for which nothing stands for all of them.
NOT_ALL = {'adz_permute', 'adz_flip', 'adz_rot90', 'adz_movedim', 'adz_tensordot'}
# Numbers of dropout layers.
HALF = re.compile(r'adz_(alpha_|feature_alpha_)?dropout(\dd)?(_new)?')
# Functions whose dtype is what they are about.
DTYPE_NEEDED = {'adz_to', 'adz_module_to', 'adz_module_store_weights', 'adz_dtype_size', 'adz_dtype_name',
                'adz_promote_types', 'adz_check_parameter_dtype'}


def left_out(name, f=None):
    """Why a function has none of its own; None if it has one."""
    calls = f is not None and any(p['role'] == 'callback' or p['type'] == 'const adz_tensor_function *'
                                  for p in f['parameters'])
    why = next((why for pattern, why in LEFT_OUT.items() if re.fullmatch(pattern, name)), None)
    return why or ('it calls a function, which may be called after the call is over' if calls else None)


def default(function, p):
    """(True, value) if a parameter of a function may be left out."""
    name, type_ = p['name'], p['type']
    if (function, name) in DEFAULTS:
        value = DEFAULTS[function, name]
        return value is not None, value
    said = re.search(r"PyTorch's default is (-?[\d.e-]*\d|false|true)\b(?! ?/)", p['comment'])
    if said and type_ in ('double', 'int64_t', 'int', 'bool'):
        text = said.group(1)
        return True, {'false': False, 'true': True}.get(text) if type_ == 'bool' else float(text) \
            if type_ == 'double' else int(text)
    if name == 'p' and HALF.fullmatch(function):
        return True, 0.5
    if type_ == 'adz_dims' and function not in NOT_ALL:
        return True, ()
    if type_ == 'adz_dtype' and function not in DTYPE_NEEDED:
        return True, 'ADZ_F32'
    if name in DEFAULTS and DEFAULTS[name] is not None and type_ != 'adz_tensor *':
        return True, DEFAULTS[name]
    return False, None

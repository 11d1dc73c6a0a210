#!/usr/bin/env python3
"""Writes the table of every public function, from the headers, for the sweep of wrong arguments.

    generate.py INCLUDE_DIR OUTPUT.c [--part]

--part: the headers are not those of the library, so they need not declare what is listed here.

A parameter's type and name say what it is called with. One that is not understood is an error, so a
new function is either swept or listed in NOT_CALLED with the reason.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / 'tools'))
from headers import TAKEN, Headers, Unknown  # noqa: E402

# Functions that the sweep leaves out, each with its reason.
NOT_CALLED = {
    'adz_update_setting': 'there is an update only in the step of an optimizer of the program',
    'adz_moment_power': 'there is a moment only in the step of an optimizer of the program',
    'adz_adam_express': 'there is an update only in the step of an optimizer of the program',
    'adz_adam_f32': 'a kernel, which only the step of an optimizer gives its arrays',
    'adz_adam_f64': 'a kernel, which only the step of an optimizer gives its arrays',
    'adz_ada_belief_f32': 'a kernel, which only the step of an optimizer gives its arrays',
    'adz_ada_belief_f64': 'a kernel, which only the step of an optimizer gives its arrays',
    'adz_die': 'it ends the process',
    'adz_fields_check': 'it reads memory by rows, and only the caller knows that they fit; test_fields calls it',
    'adz_options_take': 'as adz_fields_check',
    'adz_options_defaults': 'as adz_fields_check',
    **{f'adz_gguf_{name}': 'the sweep has no file of this format; tests/models/gguf.c calls it' for name in (
        'open', 'close', 'kind_of', 'integer', 'real', 'bool', 'text', 'count', 'text_at',
        'real_at', 'tensor_count', 'tensor_name_at', 'tensor_index', 'tensor_shape_at', 'tensor_type_at', 'read')},
    'adz_generate': 'modules here are no language models; tests/models/generate.c calls it',
    'adz_odeint_events': 'it gives 1 + 2 n_events tensors, which the sweep cannot know; test_solvers calls it',
}

# Functions that fail whatever the sweep gives them, each with its reason.
NEVER_SUCCEEDS = {
    'adz_safetensors_unread_at': 'no file here has a tensor that was left out',
    'adz_checkpoint_restore': 'no collection here is a checkpoint; tests/io/checkpoint/memory.c calls it',
    'adz_data_parallel_shard': 'each call has an optimizer of other parameters',
    'adz_error_set': 'it records a failure',
    'adz_lu_solve': 'indices here begin with 0, and pivots with 1',
    'adz_levenberg_marquardt_covariance': 'the closure here returns no residuals with a graph',
    'adz_error_null': 'it records a failure',
    'adz_flat_parameters_check': 'each call has new tensors, which the layout does not have',
    'adz_remove_hook': 'each call has a new tensor, which has no hook',
    'adz_set_hook_end': 'each call has a new tensor, which has no hook',
    'adz_quantize_q8_0': 'no tensor here has rows of 32 values',
    'adz_dequantize_q8_0': 'no tensor here has rows of 34 bytes',
    'adz_averaged_model_update': 'no module here was made by adz_averaged_model_new',
    'adz_sequential_lr_new': 'each schedule here changes the rates of an optimizer of its own',
    'adz_plan_run_batches': 'plans here have one input, and lists of tensors have three; test_batches calls it',
    'adz_set_allocator': 'the calls around it hold memory',
}

# Fields of structs that stay as they are, each with its reason.
NOT_CHANGED = {
    ('adz_operator', 'fields'): 'only the caller knows how many rows there are',
    ('adz_operator', 'saved_for'): 'only the caller knows how many masks there are',
    ('adz_module_type', 'fields'): 'only the caller knows how many rows there are',
    ('adz_optimizer_type', 'settings'): 'a row is a struct; the tests of types change its members',
    ('adz_optimizer_type', 'states'): 'as settings',
}

# A NULL from these is an answer, too: it needs no recorded error.
MAY_BE_NULL = {
    'adz_keep': 'NULL gives NULL',
    'adz_sited': 'NULL goes through it',
    'adz_tensor_grad': 'there may be no gradient',
    'adz_tensor_data': 'a tensor without elements has none',
    'adz_context_use': 'NULL is the context of the process',
    'adz_node_attributes': 'there may be none',
    'adz_module_data': 'there may be none',
    'adz_state_dict_get': 'there may be no such tensor',
    'adz_safetensors_get': 'there may be no such tensor',
    'adz_safetensors_get_metadata': 'there may be no such key',
}

# The headers of operators, whose errors name what the program has called.
OPERATORS = ('adze/ops/', 'adze/random.h', 'operators')

# Functions that fill a struct of the caller.
FILLS = re.compile(r'_(init|get)(_|\Z)')

SCALARS = {'bool': 'BOOL', 'int': 'INT', 'int32_t': 'INT', 'int64_t': 'INT64', 'uint64_t': 'U64',
           'uint32_t': 'U64', 'uint16_t': 'U64', 'uint8_t': 'U64', 'double': 'DOUBLE', 'char': 'CHAR',
           'adz_shape': 'SHAPE', 'adz_dims': 'DIMS', 'adz_tensor_list': 'LIST', 'adz_text': 'TEXT',
           'adz_generator_state': 'GENERATOR_STATE'}
NUMBERS = {'BOOL', 'INT', 'INT64', 'U64', 'DOUBLE'}
OBJECTS = {'adz_tensor': 'TENSOR', 'adz_module': 'MODULE', 'adz_optimizer': 'OPTIMIZER',
           'adz_scheduler': 'SCHEDULER', 'adz_generator': 'GENERATOR', 'adz_context': 'CONTEXT',
           'adz_scope': 'SCOPE', 'adz_csv': 'CSV', 'adz_dataset': 'DATASET', 'adz_loader': 'LOADER',
           'adz_tokenizer': 'TOKENIZER', 'adz_token_stream': 'TOKEN_STREAM',
           'adz_safetensors': 'SAFETENSORS', 'adz_state_dict': 'STATE', 'adz_values': 'VALUES',
           'adz_load_report': 'LOAD_REPORT', 'adz_fastai_groups': 'GROUPS', 'adz_flat_parameters': 'FLAT_PARAMETERS',
           'adz_group': 'GROUP', 'adz_data_parallel': 'DATA_PARALLEL', 'adz_plan': 'PLAN',
           'adz_node': 'NODE', 'FILE': 'FILE'}
ARRAYS = {'const int *': 'INTS', 'const int64_t *': 'INT64S', 'const double *': 'DOUBLES',
          'const adz_named_tensor *': 'NAMED', 'const char *const *': 'STRINGS', 'const adz_text *': 'TEXTS',
          'adz_tensor *const *': 'TENSORS', 'adz_module *const *': 'MODULES',
          'adz_scheduler *const *': 'SCHEDULERS', 'adz_generator *const *': 'GENERATORS',
          'adz_plan *const *': 'PLANS'}
WRITTEN = {'int64_t *', 'double *', 'size_t *', 'adz_tensor **', 'adz_dataset **'}

# Nobody but the caller knows how much memory there is, so results are not read.
UNUSABLE = ['adz_tensor_wrap', 'adz_tensor_from_dlpack']

# What to call with so that the call succeeds, where the first choice of each kind does not.
HINTS = {
    **{f'adz_onnx_{side}_{what}': {'module': 'onnx'} for side in ('input', 'output')
       for what in ('count', 'name_at', 'dtype_at', 'shape_at')},
    'adz_pretrained_tokenizer_open': {'path': 'tokenizer.json'},
    'adz_pretrained_tokenizer_from_memory': {'bytes': 'tokenizer.json'},
    'adz_pretrained_encode': {'tokenizer': 'pretrained'},
    'adz_module_remove_parametrizations': {'module': 'parametrized'},
    'adz_onnx_load': {'path': 'file.onnx'}, 'adz_onnx_tensor_load': {'path': 'file.pb'},
    'adz_rotary_embedding': {'x': 'gate bias', 'cos': 'vector', 'sin': 'vector'},
    'adz_pretrained_open': {'folder': 'published'}, 'adz_pretrained_cache_new': {'module': 'published'},
    'adz_pretrained_save': {'module': 'published', 'folder': 'published'},
    'adz_pretrained_max_positions': {'module': 'published'}, 'adz_pretrained_max_seq_length': {'module': 'published'},
    'adz_pretrained_eos_token_ids': {'module': 'published'},
    'adz_autograd_grad': {'outputs': 'loss', 'gradients': 'NULL', 'inputs': 'leaf',
                          'options': '.allow_unused = 1'},
    'adz_recurrent_new': {'cell': 'recurrent cell'},
    'adz_scan': {'carries': 'vectors', 'n_results': '1'},
    'adz_while': {'carries': 'vectors', 'max_iterations': '3'},
    'adz_branch': {'predicate': 'scalar', 'inputs': 'vectors'},
    'adz_fastai_transformer_xl_new': {'options': '.learned_pos_enc = 0'},
    'adz_adaptive_log_softmax_with_loss_log_prob': {'module': 'adaptive softmax', 'x': 'matrix'},
    'adz_adaptive_log_softmax_with_loss_predict': {'module': 'adaptive softmax', 'x': 'matrix'},
    'adz_module_get_buffer': {'module': 'batch norm', 'path': 'running_mean'},
    'adz_fastai_masked_concat_pool': {'x': 'cube', 'mask': 'none'},
    'adz_fastai_convert_weights': {'state': 'language model'},
    'adz_fastai_cross_entropy_flat': {'target': 'ids', 'weight': 'none', 'axis': '-1'},
    'adz_fastai_ar_tar': {'loss': 'scalar', 'out': 'cube', 'raw': 'cube'},
    'adz_labml_encode': {'model': 'ed model', 'src': 'id matrix', 'src_mask': 'none'},
    'adz_labml_decode': {'model': 'ed model', 'memory': 'cube', 'src_mask': 'none',
                         'tgt': 'id matrix', 'tgt_mask': 'none'},
    'adz_module_functional_call': {'parameters': 'empty'},
    'adz_nll_loss': {'target': 'ids', 'weight': 'none'},
    'adz_multi_margin_loss': {'target': 'ids', 'weight': 'none'},
    'adz_multilabel_margin_loss': {'x': 'matrix', 'target': 'id matrix'},
    'adz_embedding_bag': {'ids': 'id matrix', 'offsets': 'none', 'per_sample_weights': 'none'},
    'adz_bilinear': {'x1': 'matrix', 'x2': 'matrix', 'weight': 'cube', 'bias': 'none'},
    'adz_confusion_matrix': {'predictions': 'ids', 'targets': 'ids', 'classes': '12'},
    'adz_cholesky': {'a': 'definite'}, 'adz_lstsq': {'a': 'definite', 'b': 'matrix'},
    'adz_bincount': {'x': 'ids', 'weights': 'none'},
    'adz_cov': {'fweights': 'none', 'aweights': 'none'},
    'adz_diagonal': {'dim2': '1'},
    'adz_index_put': {'indices': 'ids'}, 'adz_index_put_': {'indices': 'ids'},
    'adz_meshgrid': {'tensors': 'vectors'},
    'adz_bias_activation': {'bias': 'vector', 'gate': 'none', 'gate_bias': 'none'},
    'adz_batch_norm': {'running_mean': 'none', 'running_var': 'none', 'weight': 'none',
                       'bias': 'none', 'training': '1'},
    'adz_group_norm': {'weight': 'none', 'bias': 'none'},
    'adz_instance_norm': {'x': 'cube', 'running_mean': 'none', 'running_var': 'none',
                          'weight': 'none', 'bias': 'none', 'use_input_stats': '1'},
    'adz_conv1d': {'x': 'cube', 'weight': 'cube', 'bias': 'vector'},
    'adz_conv2d': {'x': 'four', 'weight': 'four', 'bias': 'vector'},
    'adz_conv3d': {'x': 'five', 'weight': 'five', 'bias': 'vector'},
    'adz_conv_transpose3d': {'x': 'five', 'weight': 'five', 'bias': 'vector'},
    'adz_grid_sample': {'x': 'four', 'grid': 'grid'}, 'adz_affine_grid': {'theta': 'theta', 'size': '[3, 1, 2, 2]'},
    'adz_max_unpool2d': {'x': 'four', 'indices': 'id four', 'kernel_size': '[3]'},
    'adz_max_unpool3d': {'x': 'five', 'indices': 'id five', 'kernel_size': '[3]'},
    'adz_conv_transpose1d': {'x': 'cube', 'weight': 'cube', 'bias': 'vector'},
    'adz_conv_transpose2d': {'x': 'four', 'weight': 'four', 'bias': 'vector'},
    'adz_conv_weight': {'x': 'matrix', 'dy': 'row', 'weight': '[1, 3, 1]'},
    'adz_unfold': {'x': 'four', 'kernel_size': '[3]'},
    'adz_fold': {'x': 'matrix', 'output_size': '[3]', 'kernel_size': '[1, 3]'},
    'adz_lstm': {'h0': 'none', 'c0': 'none', 'weights': 'lstm'},
    'adz_gru': {'h0': 'none', 'weights': 'gru'},
    'adz_rnn': {'h0': 'none', 'weights': 'rnn'},
    'adz_ctc_loss': {'log_probs': 'matrix', 'targets': 'ids', 'input_lengths': 'id',
                     'target_lengths': 'id', 'options': '.blank = 2'},
    'adz_group_reduce_scatter': {'tensor': 'row'},
    'adz_data_parallel_backward': {'parallel': 'in a micro-batch', 'loss': 'loss'},
    'adz_data_parallel_end': {'parallel': 'with gradients'},
    'adz_data_parallel_leave': {'parallel': 'in a step'},
    'adz_data_parallel_next': {'parallel': 'in a step'},
    'adz_forget_mult': {'x': 'cube', 'f': 'cube', 'h0': 'none'},
    'adz_plan_write_c_many': {'path': 'new.c', 'options': 'NULL'},
    'adz_plan_write_c': {'path': 'new.c', 'options': 'NULL'},
    'adz_vjp': {'v': 'none'}, 'adz_hessian': {'x': 'scalar'}, 'adz_hvp': {'x': 'scalar', 'v': 'scalar'},
    'adz_jacobian_rows': {'x': 'matrix'},
    'adz_root': {'options': '.fixed_iterations = 3'},
    'adz_root_many': {'options': '.fixed_iterations = 3'},
    'adz_odeint': {'times': 'times', 'options': '.steps = 2'},
    'adz_odeint_many': {'y0': 'scalar', 'times': 'times', 'options': '.steps = 2'},
    'adz_odeint_event': {'y0': 'scalar', 'times': 'times'},
    'adz_optimizer_get_report': {'optimizer': 'after a step'},
    'adz_levenberg_marquardt_set_bounds': {'optimizer': 'LM', 'lower': 'NULL of 0', 'upper': 'NULL of 0'},
    'adz_operator_call': {'attributes': 'NULL'}, 'adz_operator_call_': {'attributes': 'NULL'},
    'adz_operator_check': {'attributes': 'NULL'},
}

# How structs become valid, beyond their init function. Defaults of whole models are far too large.
SMALL_TRANSFORMER = ('o->n_layers = 1; o->n_heads = 2; o->d_model = o->d_inner = 4; '
                     'o->d_head = 2; o->ctx_len = 4;')
FILL = {
    'adz_gpt2_options': 'o->vocab_size = 4; o->n_positions = o->n_ctx = 4; o->n_embd = 4; '
                        'o->n_layer = 1; o->n_head = 2;',
    'adz_labml_character_model_options': 'o->d_model = 4; o->n_layers = 1; o->n_heads = 2; '
                                         'o->d_ff = 4; o->max_len = 4;',
    'adz_fastai_transformer_options': SMALL_TRANSFORMER,
    'adz_fastai_config': 'o->emb_sz = o->n_hid = o->mem_len = 4; ' + SMALL_TRANSFORMER,
    'adz_labml_embeddings_options': 'o->max_len = 4;',
    'adz_lr_warmup': '*o = (adz_lr_warmup){ 3, 10 };',
    'adz_gradcheck_function': 'o->call = (int (*)(adz_tensor *const *, size_t, adz_tensor **, '
                              'void *))function_checked;',
    'adz_tensor_function': 'o->call = (int (*)(adz_tensor *const *, size_t, adz_tensor **, '
                              'void *))function_checked;',
    'adz_allocator': 'o->allocate = allocate; o->deallocate = deallocate;',
    'adz_module_type': 'o->size = sizeof *o; o->name = "Ours"; o->forward = forward;',
    'adz_operator': 'o->size = sizeof *o; o->name = "ours"; o->backward = backward_of_ours; '
                    'o->kernels[ADZ_F32] = kernel_of_ours; o->units = ADZ_UNITS_ELEMENTS; '
                    'o->expression = expression_of_ours;',
    'adz_optimizer_type': 'o->size = sizeof *o; o->name = "Ours"; o->settings[0].name = "lr"; '
                          'o->update = update_of_ours;',
    'adz_dl_managed_tensor': '*o = dlpack_of_ours;',
    'adz_loader_position': 'o->rows = 3;',
    'adz_token_rules': 'o->size = sizeof *o; o->name = "ours"; o->on_text = o->on_word = rules_of_ours;',
    'adz_tokenizer_type': 'o->size = sizeof *o; o->name = "ours"; o->encode = encode_of_ours; '
                          'o->count = count_of_ours; o->token = token_of_ours; o->id = id_of_ours;',
    'adz_transport': 'o->size = sizeof *o; o->name = "ours"; o->ranks = 1;',
}
INIT = {'adz_fastai_config':
        'adz_fastai_config_init(o, sizeof *o, "awd_lstm_lm_config");'}

# Functions to hand over, by type or name of the parameter; the bodies are in callbacks.h.
CALLBACKS = {
    'adz_tensor_hook': 'hook', 'adz_hook_end': 'ended', 'adz_tensor_map': 'map_of_ours', 'adz_ode_map': 'ode_of_ours', 'adz_post_accumulate_grad_hook': 'accumulated',
    'adz_error_scope_function': 'part_of_ours', 'adz_message_callback': 'on_message', 'adz_load_rename': 'rename_tensor',
    'adz_activation_function': 'activation', 'adz_lambda_function': 'of_user', 'adz_module_visitor': 'visit',
    'adz_batch_source': 'batch_of_ours', 'adz_cyclic_scale': 'scale_of_ours',
    'adz_distance_function': 'distance_of_ours', 'adz_onnx_trains': 'trains_of_ours',
    'adz_lr_lambda': 'lambda', 'adz_loop_body': 'body_of_ours', 'adz_loop_condition': 'condition_of_ours',
    'adz_plan_function': 'captured', 'adz_loader_progress': 'progress',
    'adz_plan_results_function': 'captured_results', 'adz_optimizer_closure': 'closure_of_ours',
    'adz_fastai_attention_class': 'adz_fastai_attention_new',
    'adz_backward_function': 'backward_of_ours', 'deleter': 'deleter', 'call': 'function_checked',
    'adz_expression_function': 'expression_of_ours', 'adz_kernel_function': 'kernel_of_ours',
    'adz_shape_rule': 'shape_rule_of_ours', 'adz_input_check': 'input_check_of_ours',
    'adz_update_function': 'update_of_ours',
    'adz_update_kernel': 'update_kernel_of_ours', 'check': 'check_settings',
    'state_shape': 'state_shape_of_ours', 'check_parameter': 'check_parameter_of_ours',
    'needs': 'needed_states', 'numbers': 'numbers_of_ours',
    'encode': 'encode_of_ours', 'decode': 'decode_of_ours', 'count': 'count_of_ours', 'token': 'token_of_ours',
    'id': 'id_of_ours', 'write': 'write_of_ours', 'end': 'end_of_ours', 'on_text': 'rules_of_ours', 'on_word': 'rules_of_ours',
    'allocate': 'allocate', 'deallocate': 'deallocate', 'init': 'init_module',
    'forward': 'forward', 'reset_parameters': 'init_module', 'extra_repr': 'extra_repr',
    'destroy': 'destroy', 'copy_data': 'copy_data', 'reset': 'init_module',
    'select_hidden': 'select_hidden', 'right_inverse': 'right_inverse', 'cell_states': 'cell_states', 'linear_parts': 'linear_parts',
    'elementwise_step': 'elementwise_step', 'attributes_free': 'attributes_free',
    'start_send': 'start_send', 'start_receive': 'start_receive', 'test': 'test_request',
    'wait': 'wait_request', 'start_all_reduce': 'start_all_reduce', 'ready': 'ready_transport',
    'abort': 'abort_transport', 'free': 'free_transport',
}
DLPACK_FIELDS = [('void *', 'data'), ('int32_t', 'device.device_type'), ('int32_t', 'ndim'),
                 ('uint8_t', 'dtype.code'), ('uint8_t', 'dtype.bits'), ('uint16_t', 'dtype.lanes'),
                 ('const int64_t *', 'shape'), ('const int64_t *', 'strides'),
                 ('uint64_t', 'byte_offset')]


class Table:
    def __init__(self, headers):
        self.headers, self.used, self.callbacks, self.out = headers, [], [], []

    def structure(self, name):
        if name not in self.used:
            if name not in self.headers.structs:
                raise Unknown(f'no header declares struct {name}')
            self.used.append(name)
        return self.used.index(name)

    def callback(self, name):
        if name not in self.callbacks:
            self.callbacks.append(name)
        return self.callbacks.index(name)

    def size(self, owner, name, others):
        """Whether a size_t counts elements of arrays, or is a number by itself."""
        arrays = [o for o in others if o[0] in ARRAYS or o[0] in WRITTEN or o[0].endswith('void *') or
                  o[0] in ('char *', 'const char *')]
        counts = name in ('n', 'count', 'size', 'bytes', 'room') or name.startswith('n_') or \
            name == 'attributes_size'
        filled = name == 'size' and FILLS.search(owner)
        exact = owner in ('adz_tensor_read', 'adz_tensor_write', 'adz_tokenizer_options',
                          'adz_operator', 'adz_plan_new_many')
        return 'COUNT' if counts and (arrays or filled) and not exact else 'SIZE'

    def pointer(self, owner, type_, name):
        plain = re.fullmatch(r'(?:const )?(\w+) \*', type_)
        to = plain.group(1) if plain else ''
        object_ = re.fullmatch(r'(\w+) \*\*', type_)
        if object_ and owner.endswith(('_free', '_release')):
            return {'kind': OBJECTS[object_.group(1)], 'address': True}
        if type_ in WRITTEN:
            gives = 'DATASET' if 'dataset' in type_ else 'TENSOR' if 'tensor' in type_ else 'NONE'
            return {'kind': 'ROOM', 'gives': gives}
        if to in OBJECTS:
            return {'kind': OBJECTS[to]}
        if type_ == 'const char *':
            encoded = name in ('bytes', 'text') and not owner.endswith(('_error', '_error_within'))
            file = name in ('path', 'folder') and not re.search(r'_(parameter|buffer|child)\Z', owner)
            return {'kind': 'PATH' if file else 'ENCODED' if encoded else 'STRING'}
        if type_ == 'const void *' and name == 'bytes':
            return {'kind': 'ENCODED'}
        if to == 'void' and owner.startswith('adz_lr_warmup_'):
            return {'kind': 'STRUCT', 'extra': self.structure('adz_lr_warmup')}
        if to in ('void', 'char'):
            return {'kind': 'ROOM', 'extra': 1 << 16 if name in ('data', 'buffer') and to == 'void'
                    else 100}
        if to in self.headers.structs and (FILLS.search(owner) or name in ('report', 'micro', 'encoding')):
            return {'kind': 'ROOM', 'extra': f'sizeof({to})'}
        if to in self.headers.structs:
            return {'kind': 'STRUCT', 'extra': self.structure(to)}
        raise Unknown(f'{owner}: what to call "{type_} {name}" with?')

    def param(self, owner, type_, name, others):
        if type_ in SCALARS:
            made = {'kind': SCALARS[type_]}
        elif type_ == 'size_t':
            made = {'kind': self.size(owner, name, others)}
        elif type_ in self.headers.enums:
            made = {'kind': 'ENUM', 'extra': self.headers.enums[type_]}
        elif type_ in ARRAYS:
            made = {'kind': ARRAYS[type_]}
        elif type_ in CALLBACKS or '(*' in type_ and name in CALLBACKS:
            made = {'kind': 'FUNCTION',
                    'extra': self.callback(CALLBACKS[type_ if type_ in CALLBACKS else name])}
        else:
            made = self.pointer(owner, type_, name)
        made['taken'] = name in TAKEN.get(owner, [])
        made['hint'] = HINTS.get(owner, {}).get(name)
        return made

    def written(self, name, made, offset='0', size='0'):
        hint = f'"{made["hint"]}"' if made['hint'] else 'NULL'
        return (f'    {{ "{name}", KIND_{made["kind"]}, {made.get("extra", 0)}, '
                f'{str(made["taken"]).lower()}, {str(made.get("address", False)).lower()}, '
                f'KIND_{made.get("gives", "NONE")}, {hint}, {offset}, {size} }},')

    def fields(self, name):
        fields = self.headers.structs[name]
        prefix = ''
        if name == 'adz_dl_managed_tensor':
            fields, prefix = DLPACK_FIELDS, 'dl_tensor.'
        rows = []
        for type_, field in fields:
            if field == 'size' and type_ == 'size_t' and name != 'adz_text':
                continue
            if (name, field) in NOT_CHANGED:
                continue
            made = self.param(name, type_, field, fields)
            path = prefix + field + ('[0]' if (name, field) in self.headers.arrays else '')
            rows.append(self.written(field, made, f'offsetof({name}, {path})',
                                     f'sizeof((({name} *)0)->{path})'))
        return rows

    def structs(self):
        """Each struct's fields may bring in further structs, which come behind it."""
        rows, at = [], 0
        while at < len(self.used):
            name = self.used[at]
            fields = self.fields(name)
            init = INIT.get(name, f'{name}_init(o, sizeof *o);')
            known = [f for _, f, _ in self.headers.functions]
            if name not in INIT and f'{name}_init' not in known:
                if name not in FILL:
                    raise Unknown(f'{name}: how is it made valid? Say so in FILL')
                init = ''
            self.out += [f'static const param fields_of_{name}[] = {{'] + fields + ['};',
                         f'static void fill_{name}(void *object)', '{', f'    {name} *o = object;',
                         f'    {init}', f'    {FILL.get(name, "")}', '}']
            sized = str(('size_t', 'size') in self.headers.structs[name][:1]).lower()
            rows.append(f'    {{ "{name}", sizeof({name}), {sized}, fill_{name}, '
                        f'fields_of_{name}, {len(fields)} }},')
            at += 1
        self.out += ['const structure structures[] = {'] + rows + ['};']

    def argument(self, i, type_, kind):
        member = {'BOOL': 'b', 'CHAR': 'c', 'INT': 'n', 'INT64': 'i', 'U64': 'u', 'SIZE': 'z',
                  'COUNT': 'z', 'DOUBLE': 'd', 'SHAPE': 'shape', 'DIMS': 'dims', 'LIST': 'list',
                  'TEXT': 'text', 'GENERATOR_STATE': 'state', 'ENUM': 'n', 'FUNCTION': 'f'}
        cast = f'({type_})' if kind in ('ENUM', 'FUNCTION') else ''
        return f'{cast}a[{i}].v.{member.get(kind, "p")}'

    def result(self, type_, name):
        """(how a failure shows, what has to be ended, how the result is stored)"""
        if type_ == 'adz_status':
            return 'STATUS', 'NONE', 'result->n = (int)'
        if not type_.endswith('*'):
            number = type_ in SCALARS and SCALARS[type_] in NUMBERS or type_ == 'size_t' or \
                type_ in self.headers.enums
            return ('NUMBER', 'NONE', 'result->d = (double)') if number else \
                (('NOTHING' if type_ == 'void' else 'OTHER'), 'NONE', '(void)')
        to = type_.replace('const ', '').replace(' *', '')
        makes = re.search(r'(_new|_new_many|_keep|_copy|_load|_read|_from_memory|_to_safetensors|_snapshot|_from_csv|_open'
                          r'|_subset|_build|_state_dict|_convert_weights|_split)\Z', name)
        owned = OBJECTS.get(to, 'NONE') if makes and to != 'adz_tensor' else 'NONE'
        owned = 'KEPT' if name == 'adz_keep' else 'TENSOR' if to == 'adz_tensor' else owned
        if name in UNUSABLE:
            owned = 'NONE'
        owned = 'DLPACK' if name == 'adz_tensor_to_dlpack' else owned
        return ('MAYBE' if name in MAY_BE_NULL else 'POINTER'), owned, \
            'result->p = (void *)(uintptr_t)'

    def functions(self):
        rows = []
        for type_, name, arguments in self.headers.functions:
            if name in NOT_CALLED:
                continue
            made = [self.param(name, t, n, arguments) for t, n in arguments]
            returns, owned, store = self.result(type_, name)
            calls = ', '.join(self.argument(i, t, m['kind'])
                              for i, ((t, _), m) in enumerate(zip(arguments, made)))
            if made:
                self.out += [f'static const param params_of_{name}[] = {{'] + [
                    self.written(n, m) for (_, n), m in zip(arguments, made)] + ['};']
            store = '' if returns == 'NOTHING' else store
            self.out += [f'static void call_{name}(const arg *a, value *result)', '{', '    (void)a;',
                         '    (void)result;', f'    {store}{name}({calls});', '}']
            # A function of the program's records errors of its own.
            named = self.headers.headers[name].startswith(OPERATORS) and 'FUNCTION' not in [m['kind'] for m in made]
            rows.append(f'    {{ "{name}", {"params_of_" + name if made else "NULL"}, {len(made)}, '
                        f'RETURNS_{returns}, KIND_{owned}, '
                        f'{str(name not in NEVER_SUCCEEDS).lower()}, '
                        f'{str(named).lower()}, call_{name} }},')
        self.structs()
        self.out += ['const function functions[] = {'] + rows + ['};',
                     'const size_t n_functions = sizeof functions / sizeof *functions;',
                     'const any_function functions_of_ours[] = {'] + [
                     f'    (any_function){name},' for name in self.callbacks] + ['};']


def main():
    headers = Headers(pathlib.Path(sys.argv[1]))
    missing = [name for name in list(NOT_CALLED) + list(NEVER_SUCCEEDS) + list(MAY_BE_NULL)
               if name not in [f for _, f, _ in headers.functions]]
    if missing and '--part' not in sys.argv:
        raise Unknown(f'there is no such function: {", ".join(missing)}')
    table = Table(headers)
    table.functions()
    prelude = ['/* Written by tests/sweep/generate.py from the headers. */'] + [
        f'#include "{header}"' for header in headers.names] + ['#include "sweep.h"',
                                                               '#include "callbacks.h"', '']
    output, text = pathlib.Path(sys.argv[2]), '\n'.join(prelude + table.out) + '\n'
    if not output.exists() or output.read_text() != text:
        output.write_text(text)
    print(f'{len(headers.functions) - len(NOT_CALLED)} functions, {len(NOT_CALLED)} left out')


if __name__ == '__main__':
    try:
        main()
    except Unknown as reason:
        sys.exit(f'generate.py: {reason}')

"""Stubs of the layer that is written in Python: what its functions and classes take and give.

The sources have no annotations, because most types follow from the names of arguments, which are PyTorch's. This file
says what each name stands for, and what functions give whose result is not a tensor.
"""
import ast
import re

from overloads import OVERLOADS

# Types of arguments by their names; else the default says it.
ARGUMENTS = {
    'input': 'Tensor', 'x': 'Tensor', 'y': 'Tensor', 'mat2': 'Tensor', 'vec': 'Tensor', 'vec2': 'Tensor', 'tensor': 'Tensor',
    'target': 'Tensor', 'mask': 'Tensor', 'index': 'Tensor', 'boundaries': 'Tensor', 'batch1': 'Tensor', 'batch2': 'Tensor',
    'condition': 'Tensor', 'gradient': 'Tensor | None', 'vector': 'Tensor', 'bias': 'Tensor | None', 'y0': 'Tensor',
    'x0': 'Tensor', 'times': 'Tensor', 'a': 'Tensor', 'b': 'Tensor', 't': 'Tensor', 'other': 'Tensor | float',
    'src': 'Tensor | float', 'exponent': 'Tensor | float', 'value': 'Any', 'weight': 'Tensor',
    'dim': 'int | Sequence[int] | None', 'dims': 'Any', 'axis': 'int', 'dim0': 'int', 'dim1': 'int', 'axis0': 'int',
    'axis1': 'int', 'dtype': 'Any', 'device': 'Any', 'generator': 'Any', 'shifts': 'int | Sequence[int]', 'size': 'Any',
    'sizes': 'Any', 'shape': 'int | Sequence[int]', 'start': 'float', 'end': 'float | None', 'step': 'float', 'steps': 'int',
    'n': 'int', 'm': 'int | None', 'low': 'int', 'high': 'Any', 'row': 'int', 'col': 'int', 'k': 'int', 'q': 'float',
    'p': 'Any', 'min': 'Any', 'max': 'Any', 'to': 'float', 'from_': 'float', 'path': 'str | PathLike[str]', 'folder': 'str | PathLike[str]',
    'input_ids': 'Tensor', 'batch': 'int', 'capacity': 'int', 'text': 'str', 'texts': 'str | Sequence[str]',
    'pairs': 'str | Sequence[str] | None', 'token': 'str', 'ids': 'Tensor | Sequence[int]', 'order': 'Tensor | None',
    'drop_last': 'bool', 'tensors': 'Any',
    'outputs': 'Tensor | Sequence[Tensor]', 'inputs': 'Any', 'grad_outputs': 'Any', 'grad_tensors': 'Any',
    'retain_graph': 'bool | None', 'hook': 'Callable[..., Any]', 'function': 'Callable[..., Any]',
    'func': 'Callable[..., Any]', 'event': 'Callable[..., Tensor]', 'combine_fn': 'Callable[..., Any]',
    'cond_fn': 'Callable[..., Any]', 'body_fn': 'Callable[..., Any]', 'true_fn': 'Callable[..., Any]',
    'false_fn': 'Callable[..., Any]', 'pred': 'Tensor | bool', 'operands': 'Sequence[Tensor]', 'length': 'int | None',
    'max_iterations': 'int | None', 'closure': 'Callable[[], Any] | None', 'state_dict': 'Mapping[str, Any]',
    'parameters': 'Iterable[Tensor] | Tensor', 'params': 'Params', 'max_norm': 'float', 'clip_value': 'float', 'name': 'str',
    'prefix': 'str', 'module': 'Module | None', 'modules': 'Any', 'optimizer': 'Optimizer', 'metric': 'float | Tensor | None',
    'mode': 'bool', 'memo': 'Any', 'data': 'Any', 'fill_value': 'float', 'arguments': 'Sequence[Tensor]',
    'dataset': 'TensorDataset', 'loader': 'DataLoader | None', 'model': 'Module | None', 'schedulers': 'Sequence[Any]',
    'generators': 'Sequence[Any]', 'group': 'dict[str, Any]', 'key': 'Any', 'i': 'Any', 'correction': 'float',
    'unbiased': 'bool | None', 'kernel_size': 'int | Sequence[int]', 'stride': 'Any', 'padding': 'Any',
    'output_padding': 'Any', 'dilation': 'Any', 'groups': 'int', 'N': 'int | None', 'rtol': 'float | None',
    'rcond': 'float | None', 'ord': 'Any', 'rounding_mode': 'str | None', 'interpolation': 'str', 'obj': 'Any',
    'posinf': 'float | None', 'neginf': 'float | None', 'alpha': 'float', 'beta': 'float', 'padding_value': 'float',
    'sequences': 'Sequence[Tensor]', 'hx': 'Any', 'spec': 'str', 'size_average': 'Any', 'self': '', 'cls': '', 'ctx': 'Any',
    'carried_inputs': 'Sequence[Tensor]', 'init': 'Any', 'xs': 'Any', 'v': 'Any', 'argnums': 'int | Sequence[int]',
    'grads': 'Any', 'args': 'Any', 'named': 'Any', 'options': 'Any', 'results': 'int', 'dimension': 'int', 'lr_lambda': 'Any',
    'pad': 'Sequence[int]', 'requires_grad': 'bool', 'persistent': 'bool', 'recurse': 'bool', 'strict': 'bool',
    'path_or_name': 'str', 'batch_size': 'int', 'sorted': 'bool', 'copy': 'bool | None', 'state': 'dict[str, Tensor]',
    'parameter': 'Tensor', 'input_names': 'Sequence[str] | None', 'result_names': 'Sequence[str] | None', 'set_to_none': 'bool',
}
# The dtypes, which _dtype.py makes in a loop.
DTYPES = [f'{name}: dtype' for name in 'float32 float64 int32 int64 uint8 float16 bfloat16 half int_ long double'.split()]
DTYPES += ['bool: dtype', 'float: dtype']
# Results that are no tensor, by the function, or by its class and its name.
RESULTS = {
    'Tensor.dim': 'int', 'Tensor.nelement': 'int', 'Tensor.element_size': 'int', 'Tensor.tolist': 'Any',
    'Tensor.is_floating_point': 'bool', 'Tensor.numpy': 'Any', 'Tensor.backward': 'None', 'Tensor.device': 'adze.device',
    'Tensor.split': 'tuple[Tensor, ...]', 'Tensor.chunk': 'tuple[Tensor, ...]',
    'Tensor.unbind': 'tuple[Tensor, ...]', 'Tensor.register_hook': 'RemovableHandle',
    'Tensor.register_post_accumulate_grad_hook': 'RemovableHandle', '__contains__': 'bool', '__len__': 'int',
    '__repr__': 'str', '__format__': 'str', '__setitem__': 'None', '__delitem__': 'None', '__init__': 'None', '__new__': 'Self',
    '__setattr__': 'None', '__delattr__': 'None', '__iter__': 'Iterator[Any]', '__getattr__': 'Any', '__array__': 'Any',
    '__reduce__': 'tuple[Any, ...]', '__reduce_ex__': 'NoReturn', '__deepcopy__': 'Self', '__copy__': 'Self', '__call__': 'Any', '__enter__': 'Self', '__exit__': 'None',
    'Function.backward': 'Any', 'backward': 'Any', 'autograd.backward': 'None', 'func.grad': 'Callable[..., Any]', 'set_grad_enabled': 'None', 'is_grad_enabled': 'bool', 'gradcheck': 'bool',
    'gradgradcheck': 'bool', 'is_tensor': 'bool', 'numel': 'int', 'is_floating_point': 'bool', 'result_type': 'dtype',
    'aminmax': '_Pair', 'var_mean': 'tuple[Tensor, Tensor]', 'std_mean': 'tuple[Tensor, Tensor]', 'meshgrid': 'tuple[Tensor, ...]',
    'broadcast_tensors': 'tuple[Tensor, ...]', 'load': 'Any', 'save': 'None', 'save_checkpoint': 'None',
    'load_checkpoint': 'dict[str, int]', 'onnx_load': 'Module', 'capture': 'Plan', 'Plan.run': 'None', 'Plan.output': 'Any',
    'Plan.run_batches': 'Any', 'odeint_events': 'tuple[Tensor, list[tuple[Tensor, Tensor]], int | None]',
    'Pretrained.forward': 'Output', 'Pretrained.save_pretrained': 'None', 'Tokenizer.__call__': 'dict[str, Tensor]',
    'Tokenizer.decode': 'str', 'Tokenizer.token': 'str', 'Tokenizer.id': 'int',
    'GGUF.tensors': 'dict[str, tuple[tuple[int, ...], str]]',
    'Plan.info': 'dict[str, Any]', 'Plan.write_c': 'None', 'Plan.write_onnx': 'None', 'scan': 'Any', 'cond': 'Any',
    'device.type': 'str',
    'odeint_event': 'tuple[Tensor, Tensor]', 'clip_grad_norm_': 'float', 'clip_grads': 'None', 'clip_grad_value_': 'None',
    'vector_to_parameters': 'None', 'set_default_dtype': 'None', 'get_default_dtype': 'dtype', 'eigh': '_Eigh', 'svd': '_Svd',
    'lstsq': '_Lstsq', 'is_available': 'bool', 'type': 'Any', 'numel_of': 'int', 'from_pretrained': 'Pretrained',
    'Module.forward': 'Any', 'Module.register_parameter': 'None', 'Module.register_buffer': 'None', 'Module.add_module': 'None',
    'Module.named_children': 'Iterator[tuple[str, Module]]', 'Module.children': 'Iterator[Module]',
    'Module.named_modules': 'Iterator[tuple[str, Module]]', 'Module.modules': 'Iterator[Module]',
    'Module.named_parameters': 'Iterator[tuple[str, Parameter]]', 'Module.parameters': 'Iterator[Parameter]',
    'Module.named_buffers': 'Iterator[tuple[str, Tensor]]', 'Module.buffers': 'Iterator[Tensor]',
    'Module.get_submodule': 'Module', 'Module.get_parameter': 'Parameter', 'Module.apply': 'Self', 'Module.train': 'Self',
    'Module.eval': 'Self', 'Module.requires_grad_': 'Self', 'Module.zero_grad': 'None', 'Module.to': 'Self',
    'Module.float': 'Self', 'Module.double': 'Self', 'Module.cpu': 'Self', 'state_dict': 'dict[str, Any]',
    'Module.load_state_dict': 'LoadResult', 'load_state_dict': 'None', 'extra_repr': 'str', 'register_forward_pre_hook': 'RemovableHandle',
    'register_forward_hook': 'RemovableHandle', 'register_full_backward_hook': 'RemovableHandle', 'train': 'Any',
    'reset_parameters': 'None', 'forward': 'Any', '__getitem__': 'Any', 'append': 'Self', 'extend': 'Self', 'update': 'Any', 'ModuleDict.update': 'None',
    'ModuleDict.keys': 'KeysView[str]', 'ModuleDict.values': 'ValuesView[Module]', 'ModuleDict.items': 'ItemsView[str, Module]',
    'ParameterDict.keys': 'KeysView[str]', 'ParameterDict.values': 'ValuesView[Parameter]',
    'ParameterDict.items': 'ItemsView[str, Parameter]', 'LRScheduler.step': 'None', 'step': 'Any', 'zero_grad': 'None', 'add_param_group': 'None',
    'get_last_lr': 'list[float]', 'last_epoch': 'int', 'apply': 'Any', 'remove': 'None', 'save_for_backward': 'None',
    'saved_tensors': 'tuple[Tensor, ...]', 'itemsize': 'int',
}
SELF_TENSOR = {'__getitem__': 'Tensor', '__iter__': 'Iterator[Tensor]', 'to': 'Tensor', 'type': 'Tensor', 'data': 'Tensor'}
HEAD = ['# Made by bindings/python/stubs.py.', 'from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView',
        'from os import PathLike', 'from typing import Any, Literal, NamedTuple, NoReturn, Self, overload']
# Members of named tuples that are no tensors.
MEMBERS = {'missing_keys': 'list[str]', 'unexpected_keys': 'list[str]'}


def type_of(argument, default):
    name = argument.arg
    if name in ARGUMENTS:
        type_ = ARGUMENTS[name]
        none = isinstance(default, ast.Constant) and default.value is None
        return type_ + (' | None' if none and 'None' not in type_ and type_ != 'Any' else '')
    if isinstance(default, ast.Constant) and default.value is not None:
        return type(default.value).__name__
    return 'Any'


def parameters(f):
    """The parameters of a function with their types."""
    a, parts = f.args, []
    defaults = [None] * (len(a.args) - len(a.defaults)) + a.defaults
    for one, default in zip(a.args, defaults):
        type_ = type_of(one, default)
        parts.append(one.arg if one.arg in ('self', 'cls') else f'{one.arg}: {type_}{" = ..." if default else ""}')
    if a.vararg:
        parts.append(f'*{a.vararg.arg}: Any')
    elif a.kwonlyargs:
        parts.append('*')
    for one, default in zip(a.kwonlyargs, a.kw_defaults):
        parts.append(f'{one.arg}: {type_of(one, default)}{" = ..." if default else ""}')
    if a.kwarg:
        parts.append(f'**{a.kwarg.arg}: Any')
    return ', '.join(parts)


def result(f, owner):
    if owner == 'Tensor' and f.name in SELF_TENSOR:
        return SELF_TENSOR[f.name]
    return RESULTS.get(f'{owner}.{f.name}' if owner else f.name, RESULTS.get(f.name, 'Tensor'))


def function(f, owner='', indent=''):
    words = {d.id for d in f.decorator_list if isinstance(d, ast.Name)}
    setter = any(isinstance(d, ast.Attribute) and d.attr == 'setter' for d in f.decorator_list)
    lines = [f'{indent}@{w}' for w in sorted(words & {'property', 'staticmethod', 'classmethod'})]
    lines += [f'{indent}@{f.name}.setter'] if setter else []
    given = 'None' if setter else result(f, owner)
    other = '  # type: ignore[override]' if owner == 'Tensor' and not lines else '' # than the base class in C
    several = OVERLOADS.get(f'{owner}.{f.name}', ())
    if several:
        return [line for i, (taken, made) in enumerate(several) for line in
                (f'{indent}@overload{"" if i else other}', f'{indent}def {f.name}({taken}) -> {made}: ...')]
    return lines + [f'{indent}def {f.name}({parameters(f)}) -> {given}: ...{other}']


def shown(name):
    return not name.startswith('_') or name.startswith('__') and name.endswith('__')


def class_(node, more=()):
    bases = ', '.join(ast.unparse(b) for b in node.bases)
    lines, attributes = [f'class {node.name}({bases}):' if bases else f'class {node.name}:'], set()
    for one in node.body:
        if isinstance(one, ast.FunctionDef):
            # a checker finds misspelled methods of tensors; modules have parameters and children as attributes
            if shown(one.name) and (node.name, one.name) != ('Tensor', '__getattr__'):
                lines += function(one, node.name, '    ')
            if one.name in ('__init__', '__new__', '_adopt', '_add_groups', '_init_own'):
                attributes |= {n.attr for n in ast.walk(one) if isinstance(n, ast.Attribute) and ast.unparse(n.value) == 'self' and
                               isinstance(n.ctx, ast.Store) and not n.attr.startswith('_')}
        elif isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and shown(one.targets[0].id) and \
                one.targets[0].id not in ('__slots__', '__array_ufunc__'):
            lines.append(f'    {one.targets[0].id}: Any')
    lines += [f'    {line}' for line in [f'{name}: Any' for name in sorted(attributes)] + list(more)]
    return lines if len(lines) > 1 else [lines[0] + ' ...']


def methods_of_more(path):
    """The methods that _more.py adds to Tensor: functions under @_method, those in place, and other names."""
    text = path.read_text(encoding='utf-8')
    tree, lines = ast.parse(text), []
    for f in tree.body:
        if isinstance(f, ast.FunctionDef) and any(ast.unparse(d) == '_method' for d in f.decorator_list):
            f.args.args[0].arg = 'self'
            f.decorator_list = []
            made = function(f, '_more')
            lines += [re.sub(r'\binput: Tensor', 'self', line) + ('  # type: ignore[override]' if line in made[:1] else '') for line in made]
    for block in re.findall(r"for _name in \((.*?)\):", text, re.S)[:1]:
        lines += [f'def {name}_(self, *args: Any, **options: Any) -> Tensor: ...' for name in re.findall(r"'(\w+)'", block)]
    for block in re.findall(r"for _name, _other in \{(.*?)\}", text, re.S):
        lines += [f'def {name}(self, *args: Any) -> Tensor: ...' for name in re.findall(r"'(\w+)':", block)]
    for name in ('new_tensor', 'new_full', 'new_empty', 'scatter', 'scatter_', 'divide', 'unfold'):
        lines.append(f'def {name}(self, *args: Any, **options: Any) -> Tensor: ...')
    return lines


def named_tuples(tree):
    """The classes that a file makes by collections.namedtuple."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == 'collections.namedtuple':
            yield f'class {node.targets[0].id}(NamedTuple):'
            yield from (f'    {name}: {MEMBERS.get(name, "Tensor")}' for name in ast.literal_eval(node.value.args[1]))


def imports(tree):
    """The names of the package that a file imports, for those who import them from it, and modules of Python."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield ast.unparse(node)
        named = [f'{a.name} as {a.asname or a.name}' for a in node.names
                 if a.name == '_adze' or not (a.asname or a.name).startswith('_')] if isinstance(node, ast.ImportFrom) else []
        if named and node.level:
            yield f'from {"." * node.level}{node.module or ""} import {", ".join(named)}'


def plain(text):
    """The text with `builtins.float` instead of `float`, because adze.float and Tensor.float are something else."""
    lines = [line if line.startswith(('from', 'import')) else
             re.sub(r'(?<![\w.])(int|float|bool)(?![\w:(])|(?<=-> )(int|float|bool)(?=:)', r'builtins.\1\2', line) for line in text.split('\n')]
    return '\n'.join([lines[0], 'import builtins', *lines[1:]])


def assigned(tree, factories):
    """Names that a file gives to functions, such as `clip = clamp`, or to functions that make tensors."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                for n in names:
                    if isinstance(n, ast.Name) and not n.id.startswith('_') and 'namedtuple' not in ast.unparse(node.value):
                        yield f'def {n.id}(*args: Any, **options: Any) -> Tensor: ...' if factories else f'{n.id}: Any'


def file(path, more=(), methods=()):
    """The stub of one file, with further lines, and further lines of its classes."""
    tree = ast.parse(path.read_text(encoding='utf-8'))
    place = '.' * (2 if path.parent.name != 'adze' else 1)
    lines = HEAD + list(imports(tree))
    if path.name != '_tensor.py':
        lines.append(f'from {place}_tensor import Tensor as Tensor')
    wanted = {'RemovableHandle': f'from {place}_hooks import RemovableHandle', 'Module': f'from {place}nn.module import Module',
              'Parameter': f'from {place}nn.parameter import Parameter', 'Optimizer': f'from {place}optim.optimizer import Optimizer',
              'Params': 'Params = Any', 'TensorDataset': f'from {place}utils.data import TensorDataset',
              'DataLoader': f'from {place}utils.data import DataLoader', 'Plan': f'from {place}_plan import Plan'}
    wanted.update({'_Pair': f'from {place}_more import _Pair', 'adze': 'import adze'})
    wanted['dtype'] = f'from {place}_dtype import dtype as dtype'
    body = list(named_tuples(tree))
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and shown(node.name) and node.name != '__getattr__':
            node.decorator_list = []
            body += function(node, path.stem)
        elif isinstance(node, ast.ClassDef) and not node.name.startswith('__'):
            body += class_(node, methods)
    text = '\n'.join(body)
    if path.name == '_dtype.py': # whose names are those of types of Python
        return '\n'.join([*lines[:-1], 'class dtype(builtins.int):', '    @property',
                          '    def is_floating_point(self) -> builtins.bool: ...', '    @property',
                          '    def itemsize(self) -> builtins.int: ...', *DTYPES]) + '\n'
    defined = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    defined |= {n.targets[0].id for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)}
    lines += [line for name, line in wanted.items() if re.search(rf'\b{name}\b', text) and name not in defined]
    return '\n'.join(lines + body + list(assigned(tree, path.name == '_factories.py')) + list(more)) + '\n'

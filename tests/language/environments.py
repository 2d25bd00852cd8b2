"""Several environments, merged by the strategies that they ask for."""

import json

from parameters import value

STRATEGIES = ['merge', 'merge', 'deep_merge', 'deep_merge', 'overwrite', 'other', None, 1]
KINDS = {'text': 'string', 'number': 'number', 'list': 'comma_delimited_list', 'json': 'json', 'flag': 'boolean'}
MAPS = [{}, {'a': 1}, {'a': {'b': 1}}, {'a': {'c': [1]}}, {'a': {'c': [2]}}, {'a': 'x'}, {'a': 'y', 'b': None}, {'a': [1]}, {'a': [2, 3]},
        {'a': None}, {'l': ['x']}, {'l': 'x'}, '{"a": 1}', '{"a": {"b": "t"}}', '{"a": "z"}', '', {'a': {'b': 't'}}, {'a': {'b': {'c': 't'}}}]


def given(draw, name):
    if name == 'json':
        return draw.choice(MAPS + [[1], 5] * draw.maybe(.1))
    if name == 'list':
        return draw.choice(['a', 'b,c', '', ['x'], ['y', 'z'], [], 'é', {'a': 1}] if draw.maybe(.1)
                           else draw.choice([['a', 'b,c', 'd', ''], [['x'], ['y', 'z'], []]]))
    if name == 'text' and draw.maybe(.9):
        return draw.choice(['a', 'b', '', 'é', 'x y'])
    return value(draw, KINDS[name])


def environments(draw):
    names = draw.sample(list(KINDS), draw.choice([1, 2, 2, 3]))
    texts = []
    usual = draw.choice(STRATEGIES[:4])
    for number in range(draw.choice([1, 2, 2, 3, 3])):
        environment = {}
        for section in draw.sample(['parameters', 'parameter_defaults'], draw.choice([1, 1, 1, 2])):
            environment[section] = {name: draw.fill([lambda: given(draw, name)] * 12 + [None])
                                    for name in names if draw.maybe(.75)}
            if draw.maybe(.1) and section == 'parameter_defaults':
                environment[section]['unknown'] = draw.scalar()
        if draw.maybe(.7):
            strategies = {'default': usual} if draw.maybe(.6) else {}
            for name in names:
                if draw.maybe(.3):
                    strategies[name] = usual if draw.maybe(.6) else draw.choice(STRATEGIES)
            if draw.maybe(.1):
                strategies['default'] = draw.choice(STRATEGIES)
            environment['parameter_merge_strategies'] = strategies
            if draw.maybe(.02):
                environment['parameter_merge_strategies'] = draw.choice([[], '', 'merge', ['merge'], 0])
        if draw.maybe(.1):
            environment['resource_registry'] = draw.choice([{'X::Y': 'OS::Heat::None'}, {'X::Y': None}, {'X::Y': 'OS::Heat::Value'}, {}])
        if draw.maybe(.03):
            environment['encrypted_param_names'] = draw.choice([[], ['text']])
        items = list(environment.items())
        draw.shuffle(items)
        texts.append(json.dumps(dict(items)))
    section = {name: {'type': KINDS[name], 'default': {'text': 'd', 'number': 1, 'list': 'd', 'json': {'d': 1}, 'flag': True}[name]}
               for name in names}
    return {
        'template': {
            'heat_template_version': '2018-08-31',
            'parameters': section,
            'resources': {'r': {'type': draw.choice(['OS::Heat::Value', 'X::Y'] if 'X::Y' in ''.join(texts) else ['OS::Heat::Value']), 'properties': {'value': 1}}},
            'outputs': {name: {'value': {'get_param': name}} for name in names},
        },
        'environments': texts,
        'parameters': {name: given(draw, name) for name in names if draw.maybe(.3)},
    }

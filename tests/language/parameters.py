"""Parameters of all kinds with constraints, and values that keep or break them."""

from draw import TEXTS

KINDS = ['string', 'number', 'boolean', 'comma_delimited_list', 'json']
VALUES = ['', 'a', 'ab', 'abc', 'a,b', ',', 'é', '1', '5', '7', '10', '1.5', ' 7 ', '1_000', '٣', 'nan', 'inf', '1e3',
          'true', 'False', 'T', 'off', 'yes', '{}', '[]', '{"a": 1}', '[1, "x"]', '{"a":', 0, 1, 5, 7, 10, -3, 1.5, 2.0,
          10**20, True, False, None, [], ['a'], ['a', 'b', 'c'], [1, None, True, 2.5], [['n'], {'k': 'v'}], {}, {'a': 1},
          {'a': {'b': [1.0, None]}, 'é': 'ß'}]


def constraint(draw):
    form = draw.fill([
        lambda: {'length': bounds(draw)}, lambda: {'range': bounds(draw)},
        lambda: {'allowed_values': draw.sample(VALUES, draw.choice([1, 3, 5]))},
        lambda: {'allowed_pattern': draw.choice(['[a-z]*', 'a|ab', '^\\d+$', '.*', '(?i)A+', '[^,]+', 'é', ''])},
        lambda: {'custom_constraint': draw.choice(['ip_addr', 'net_cidr', 'mac_addr', 'dns_name', 'cron_expression', 'timezone', 'nova.flavor', 'rel_dns_name'])},
        lambda: {'modulo': {'step': draw.choice([2, 3, '2', -2]), 'offset': draw.choice([0, 1, '1', -1])}},
    ])
    if draw.maybe(.3):
        form['description'] = draw.choice(['must fit', '', 5, None])
    return form


def bounds(draw):
    ends = {'min': draw.choice([0, 0, 1, 1, 2, '1']), 'max': draw.choice([1, 3, 7, 100, '5', 10])}
    if draw.maybe(.1):
        ends[draw.choice(list(ends))] = draw.choice([None, 1.5, 2.0, 'x'])
    return {end: value for end, value in ends.items() if draw.maybe(.8)}


def fitting(draw, kind):
    """A constraint that makes sense for the kind, for the most part."""
    of_kind = {'string': ['length', 'allowed_values', 'allowed_pattern', 'custom_constraint'],
               'number': ['range', 'allowed_values', 'modulo'], 'boolean': ['allowed_values'],
               'comma_delimited_list': ['length', 'allowed_values'], 'json': ['length']}[kind]
    for _ in range(30):
        form = constraint(draw)
        if any(key in form for key in of_kind) and (draw.maybe(.95) or form.get('length', True)):
            return form
    return {'length': {'min': 1}}


def schema(draw, kind=None, tame=False):
    """A declaration; a tame one has seldom anything against its own default."""
    kind = kind or draw.choice(KINDS)
    declared = {'type': kind}
    if draw.maybe(.7):
        declared['default'] = value(draw, kind, .03 if tame else .15)
    if draw.maybe(.2 if tame else .6):
        make = fitting if draw.maybe(.95) else (lambda draw, _: constraint(draw))
        declared['constraints'] = [make(draw, kind) for _ in range(draw.choice([1, 1, 2]))]
    for key, values in {'hidden': [True, False, 'x', 'false'], 'label': ['L', 1], 'description': ['d', 2, None],
                        'immutable': [True, 'no']}.items():
        if draw.maybe(.06):
            declared[key] = draw.choice(values)
    return declared


def value(draw, kind, wild=.15):
    """A value that a kind takes, for the most part."""
    if draw.maybe(wild):
        return draw.choice(VALUES)
    return draw.choice({
        'string': ['', 'a', 'ab', 'abc', '10.0.0.1', '10.0.0.0/8', 'aa:bb:cc:dd:ee:ff', 'host', '* * * * *', 'UTC', 5, 1.5, True, *TEXTS[:12]],
        'number': [0, 1, 5, 7, 10, -3, 1.5, '5', '7', '1.5', 2.0, '1_000', ' 7 '],
        'boolean': [True, False, 'true', 'off', 'T', 1, 0, 'no'],
        'comma_delimited_list': ['', 'a', 'a,b', 'a,b,c', ',', ['a'], ['a', 'b', 'c'], [1, None, True, 2.5], []],
        'json': [{}, [], {'a': 1}, [1, 'x'], '{}', '[1, "x"]', '{"a": {"b": null}}', '', {'a': {'b': [1.0, None]}}, '5'],
    }[kind])


def parameters(draw):
    section = {f'p{number}': schema(draw) for number in range(draw.choice([1, 1, 2]))}
    given, defaults = {}, {}
    for name, declared in section.items():
        if draw.maybe(.5) or 'default' not in declared:
            given[name] = value(draw, declared['type'])
        if draw.maybe(.2):
            defaults[name] = value(draw, declared['type'])
    template = {
        'heat_template_version': draw.choice(['2018-08-31', '2018-08-31', '2015-04-30', '2013-05-23', '2021-04-16']),
        'parameters': section,
        'resources': {'r': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': 'p0'}}}},
        'outputs': {name: {'value': {'get_param': name}} for name in section}
        | {'t' + name: {'value': {'str_replace': {'template': '[x]', 'params': {'x': {'get_param': name}}}}} for name in section},
    }
    case = {'template': template, 'parameters': given}
    if defaults:
        import json
        case['environments'] = [json.dumps({'parameter_defaults': defaults})]
    return case

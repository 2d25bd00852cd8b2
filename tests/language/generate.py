#!/usr/bin/env python3
"""Writes requests for `hearth resolve --batch` that are made at random, one JSON object per line.

    generate.py SEED COUNT [FAMILY...] > cases.jsonl

The same seed writes the same requests. README.md tells how they are used.
"""

import argparse
import json

from calls import FILES, PARAMETERS, Calls, CfnCalls
from draw import KEYS, TEXTS, Draw

from environments import environments
from expressions import OF_ANYTHING
from nested import nested
from parameters import parameters
from reading import encodings, reading

VERSIONS = ['2018-08-31', '2018-08-31', '2021-04-16', '2018-03-02', '2017-09-01', '2017-02-24', '2016-10-14',
            '2016-04-08', '2015-10-15', '2015-04-30', '2014-10-16', '2013-05-23', 'wallaby', 'rocky']


def declared(draw):
    """Parameters with defaults, and what is given for some of them."""
    section, given = {}, {}
    for name, (kind, values) in PARAMETERS.items():
        section[name] = {'type': kind, 'default': draw.choice(values)}
        if draw.maybe(.3):
            given[name] = draw.choice(values)
    return section, given


def outputs(make, count):
    return {f'o{number}': {'value': make()} for number in range(count)}


def functions(draw, only=None, newest=False):
    """Calls of functions in outputs, and now and then in a property."""
    section, given = declared(draw)
    names = ['c0', 'c1', 'c2']
    below = [Calls(draw, names[:number]) for number in range(len(names))]
    calls = Calls(draw, names)
    make = (lambda: only(calls)) if only else (lambda: calls.any(3))
    template = {
        'heat_template_version': '2021-04-16' if newest else draw.choice(VERSIONS[:3] if draw.maybe(.9) else VERSIONS),
        'parameters': section,
        # A definition may not be just another condition's name.
        'conditions': {name: {'or': [it.condition(2), False]} for name, it in zip(names, below)},
        'resources': {'value': {'type': 'OS::Heat::Value', 'properties': {'value': draw.value()}}},
        'outputs': outputs(make, 8),
    }
    if draw.maybe(.3):
        template['resources']['other'] = {
            'type': 'OS::Heat::Value', 'properties': {'value': make()}, 'metadata': {'m': make()}}
    return {'template': template, 'parameters': given, 'files': FILES}


def replace(draw):
    return functions(draw, lambda calls: calls.replace(2), newest=True)


def repeat(draw):
    return functions(draw, lambda calls: calls.repeat(1), newest=True)


def yaql(draw):
    kinds = ['number', 'text', 'text', 'list', 'dict', 'flag', 'any']
    return functions(draw, lambda calls: {'yaql': calls.yaql(draw.choice(kinds), 1)}, newest=True)


def anything(draw):
    """Expressions over values of any kind."""
    def make(calls):
        data = draw.value() if draw.maybe(.7) else calls.any(1)
        call = {'yaql': {'expression': draw.choice(OF_ANYTHING), 'data': data}}
        return call if draw.maybe(.7) else {'str_replace': {'template': '<x>', 'params': {'x': call}}}
    return functions(draw, make, newest=True)


def cfn(draw):
    """The same in CloudFormation's language."""
    names = {'string': 'String', 'number': 'Number', 'boolean': 'Boolean',
             'comma_delimited_list': 'CommaDelimitedList', 'json': 'Json'}
    section, given = declared(draw)
    calls = CfnCalls(draw, ['C0'])
    version = draw.choice([('AWSTemplateFormatVersion', '2010-09-09'), ('HeatTemplateFormatVersion', '2012-12-12')])
    template = {
        version[0]: version[1],
        'Parameters': {name: {'Type': names[it['type']], 'Default': it['default']} for name, it in section.items()},
        'Mappings': {'M': {key: {'v1': draw.scalar(), 'v2': draw.value()} for key in ('k1', 'k2')}},
        'Resources': {'value': {'Type': 'OS::Heat::Value', 'Properties': {'value': draw.value()}}},
        'Outputs': {f'o{number}': {'Value': calls.any(3)} for number in range(8)},
    }
    if version[0].startswith('AWS'):
        template['Conditions'] = {'C0': CfnCalls(draw).condition(2)}
    return {'template': template, 'parameters': given, 'files': FILES}


def malformed(draw):
    """Calls with arguments of the wrong kind, one in a template: the first refuses all of it."""
    call = Calls(draw).any(2)
    for _ in range(20):
        if isinstance(call, dict) and len(call) == 1:
            break
        call = Calls(draw).any(2)
    at = call
    while isinstance(at, (dict, list)) and at and draw.maybe(.7):
        keys = list(at) if isinstance(at, dict) else range(len(at))
        key = draw.choice(list(keys))
        if not isinstance(at[key], (dict, list)) or draw.maybe(.5):
            if draw.maybe(.5):
                at[key] = draw.value()
            else:
                del at[key]
            break
        at = at[key]
    section, given = declared(draw)
    resources = {'value': {'type': 'OS::Heat::Value', 'properties': {'value': call}}}
    template = {'heat_template_version': draw.choice(VERSIONS), 'parameters': section}
    if draw.maybe(.6):
        template['resources'] = resources
    else:
        template |= {'resources': {'value': {'type': 'OS::Heat::Value'}}, 'outputs': {'o': {'value': call}}}
    return {'template': template, 'parameters': given, 'files': FILES}


FAMILIES = {family.__name__: family for family in (
    replace, repeat, yaql, anything, functions, cfn, malformed, nested, environments, parameters, reading, encodings)}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('seed', type=int)
    arguments.add_argument('count', type=int)
    arguments.add_argument('families', nargs='*', metavar='FAMILY', help=f'of {", ".join(FAMILIES)}')
    arguments = arguments.parse_args()
    families = arguments.families or list(FAMILIES)
    for number in range(arguments.count):
        family = families[number % len(families)]
        case = FAMILIES[family](Draw(f'{arguments.seed}/{number}/{family}'))
        if isinstance(case['template'], dict):
            case['template'] = json.dumps(case['template'])
        print(json.dumps({'id': f'{family}/{arguments.seed}-{number}', **case}))


if __name__ == '__main__':
    main()

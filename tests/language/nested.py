"""Nested templates, whose parameters have defaults and constraints, in environments that have more defaults."""

import json

from calls import Calls
from parameters import KINDS, fitting, schema, value


def child(draw, within=None):
    """A template to stand behind a type."""
    names = draw.sample(['a', 'b', 'c', 'd'], draw.choice([1, 2, 2, 3]))
    section = {name: schema(draw, tame=True) for name in names}
    for declared in section.values():
        # What breaks constraints comes from outside, for the most part.
        if draw.maybe(.3) and 'constraints' not in declared:
            declared['constraints'] = [fitting(draw, declared['type'])]
            declared.pop('default', None)
    resources = {'own': {'type': 'OS::Heat::Value', 'properties': {'value': {'get_param': draw.choice(names)}}}}
    if within:
        resources['deeper'] = {'type': within, 'properties': {name: {'get_param': name} for name in names if draw.maybe(.6)}}
    if draw.maybe(.2):
        resources['own']['metadata'] = {'facade': {'resource_facade': draw.choice(['metadata', 'deletion_policy', 'update_policy'])}}
    if draw.maybe(.3):
        text = {'str_replace': {'template': 'x-a', 'params': {'x': {'get_param': names[0]}, 'a': 1}}}
        resources['text'] = {'type': 'OS::Heat::Value', 'properties': {'value': text}}
    return {
        'heat_template_version': draw.choice(['2018-08-31', '2018-08-31', '2016-10-14', '2013-05-23']),
        'parameters': section,
        'resources': resources,
        'outputs': {'out': {'value': {'get_attr': ['own', 'value']}}},
    }


def nested(draw):
    files = {'inner.yaml': child(draw)}
    files['child.yaml'] = child(draw, 'inner.yaml' if draw.maybe(.4) else None)
    section = files['child.yaml']['parameters']
    defaults = {}
    everywhere = section | (files['inner.yaml']['parameters'] if draw.maybe(.5) else {})
    for name, declared in everywhere.items():
        if draw.maybe(.3):
            defaults[name] = draw.fill([lambda: value(draw, declared['type'], .1)] * 6 +
                                       [lambda: value(draw, draw.choice(KINDS)), lambda: None])
    properties = {name: value(draw, declared['type'], .02) for name, declared in section.items()
                  if draw.maybe(.35) or ('default' not in declared and draw.maybe(.9))}
    if draw.maybe(.05):
        properties['unknown'] = 1
    kind = draw.choice(['child.yaml', 'child.yaml', 'My::Child'])
    resource = {'type': kind, 'properties': properties}
    if draw.maybe(.2):
        resource = {'type': 'OS::Heat::ResourceGroup', 'properties': {
            'count': draw.choice([0, 1, 2]), 'resource_def': {'type': kind, 'properties': properties}}}
    if draw.maybe(.1):
        resource['metadata'] = {'m': draw.value()}
    template = {
        'heat_template_version': '2018-08-31',
        'resources': {'nest': resource},
        'outputs': {'o': {'value': {'get_attr': ['nest', 'out']}}},
    }
    if draw.maybe(.3):
        # A parameter of the same name at the top.
        name = draw.choice(list(section))
        template['parameters'] = {name: schema(draw, section[name]['type'])}
        if 'default' not in template['parameters'][name]:
            template['parameters'][name]['default'] = value(draw, section[name]['type'], 0)
        template['outputs']['p'] = {'value': Calls(draw).plain()}
    environment = {}
    if defaults:
        environment['parameter_defaults'] = defaults
    if kind == 'My::Child':
        environment['resource_registry'] = {kind: 'child.yaml'}
    case = {'template': template, 'files': {name: json.dumps(text) for name, text in files.items()}}
    if environment:
        case['environments'] = [json.dumps(environment)]
    return case

"""Templates, environments and files as texts: scalars, keys and encodings that readers differ in."""

import json

SCALARS = [
    '0o17', '017', '0777', '08', '0b101', '0x1F', '1_000', '1__0', '_1', '1_', '+1', '-0', '+.5', '.5', '5.', '1e3', '1.e3', '1.0e3', '1.0e+3', '1.5E-3',
    '.inf', '-.Inf', '.NaN', '+.inf', '1:30', '1:60', '190:20:30', '190:20:30.15', '-1:30', '0:0', '1:2:3:4', '2001-12-14', '2001-12-14t21:59:43.10-05:00',
    '2001-12-14 21:59:43', '2001-13-99', '!!timestamp 2001-12-14', '~', 'null', 'Null', 'NULL', 'nul', '!!null x', 'yes', 'No', 'on', 'OFF', 'y', 'N', 'True', 'tRUE',
    '!!binary aGk=', '!!binary aGk', '!!binary "a G k ="', '!!binary /w==', '!!binary ""', '!!str 1', '!!int "7"', '!!int 0x1f', '!!int 1:30', '!!float 1', '!!float 1_0', '!!float .5',
    '!!bool yes', '!!set {a, b}', '!!set {a: 1}', '!!omap [a: 1, b: 2]', '!!pairs [a: 1, a: 2]', '!!map {a: 1}', '!!seq [a]', '! 1', '!x 1', '!!python/none x',
    '=', '<<', '"<<"', "'it''s'", '"\\u00e9\\x41\\n"', '"\\_\\N\\L\\P"', '"\\/"', '"\\U0001f600"', '"a\\\n      b"', '|\n      a\n      b', '|-\n      a\n\n', '|+\n      a\n\n',
    '>\n      a\n      b\n\n      c', '>-\n      a\n       b\n      c', '|2\n        a', '"a  b\n\n      c"', "'a\n      b'", 'a\n      b', 'a #b', 'a#b', 'a: b', '"a: b"', '- a', '-a', '?a', '? a', ':a',
    '@a', '`a', '%a', '&a', '&a 1', '*a', '&a x', '[1, 2', '[1, 2]', '[1, , 2]', '[a: 1]', '[a: 1, b]', '{a, b: 1}', '{a: 1, a: 2}', '{? a : 1}', '{1: a, yes: b}', '{1: a, "1": b}', '{1.0: a, 1: b}',
    '{null: a}', '{~: a, "": b}', '{[a]: 1}', '{{a: 1}: 2}', '{<<: {a: 1}, b: 2}', '{<<: [{a: 1}, {a: 2, b: 3}], a: 4}', '{<<: 1}', '{<<: [1]}', '{"<<": {a: 1}}', '{=: 1}', '{a: =}', '{2001-12-14: d}', '{.nan: a}',
    '{0x10: a, 16: b}', '{1e3: a, 1.0e+3: b}', '{true: a, "true": b}', '{a: &b 1, c: *b}', '[&a [1], *a]', '[&a {x: 1}, {<<: *a, y: 2}]', '"\\', "'", '"tab\there"', '\tx', 'x\t', '"é"', 'é', '日本', '\u2028x', '"\\x7f"', '\x7f', '\x85', '"\ufeff"',
    '\u00a0', '"\\e"', '"\\a\\b\\0"', '"\\q"', '123456789012345678901', '1.7976931348623157e+309', '1.0e-400', '0.1', '1.10', '100000000000000000000.0', '4.9e-324', '0.30000000000000004', '12e03', '-2.', '-.5', '0.', '00', '0x', '0b2', '0o8', '0_7',
    '- 1\n      - 2', 'k: v\n      l: w', '"k": v', '!!str', '!!str ""', '""', "''", '', '!!int ""', '!!bool maybe', '!!float x', '!!int x', '--- x', '...', '# only', '|', '>', '|x', '"\\u12"',
]
STARTS = ['', '', '', '---\n', '%YAML 1.1\n---\n', '%YAML 1.2\n---\n', '\ufeff', '# comment é\n', '--- # x\n', '%TAG !e! tag:example.org,2000:\n---\n', '\n\n', '%YAML 2.0\n---\n', '%X y\n---\n']
ENDS = ['', '', '', '\n...\n', '\n---\n', '\n... # end\n', '\n# end', '\r\n']


def template_text(draw, scalars, name='outputs'):
    """A template with these scalars as they are written."""
    lines = ['heat_template_version: ' + draw.choice(['2018-08-31', '"2018-08-31"', "'2018-08-31'", '!!str 2018-08-31']), 'resources:', '  r: {type: OS::Heat::None}', f'{name}:']
    for number, scalar in enumerate(scalars):
        lines += [f'  o{number}:', f'    value: {scalar}']
    if draw.maybe(.2):
        lines[2:3] = ['  r:', '    type: OS::Heat::Value', '    properties:', f'      value: {draw.choice(SCALARS)}']
    text = '\n'.join(lines) + '\n'
    if draw.maybe(.15):
        text = text.replace('\n', draw.choice(['\r\n', '\r', '\n \n']))
    return draw.choice(STARTS) + text + draw.choice(ENDS)


def fine(draw, count):
    """Scalars of which one is at most is wrong: the first mistake hides all others."""
    harmless = [scalar for scalar in SCALARS if scalar[:1].isalnum() or scalar[:1] in '"[{.+-']
    return [draw.choice(harmless if number else SCALARS) for number in range(count)]


def reading(draw):
    if draw.maybe(.6):
        return {'template': template_text(draw, fine(draw, draw.choice([1, 1, 2, 4])))}
    # The same of an environment, whose values do not cross JSON.
    scalar = draw.choice(SCALARS)
    kind = draw.choice(['string', 'json', 'comma_delimited_list', 'number', 'boolean'])
    environment = draw.choice(STARTS) + f'{draw.choice(["parameters", "parameter_defaults"])}:\n  p:\n    {scalar}\n'
    if draw.maybe(.5):
        environment = draw.choice(STARTS) + f'parameters:\n    p: {scalar}\n' + draw.choice(ENDS)
    template = {
        'heat_template_version': '2018-08-31',
        'parameters': {'p': {'type': kind, 'default': {'number': 0, 'boolean': False, 'json': {}}.get(kind, '')}},
        'outputs': {'o': {'value': {'get_param': 'p'}},
                    't': {'value': {'str_replace': {'template': '<x>', 'params': {'x': {'get_param': 'p'}}}}}},
    }
    return {'template': template, 'environments': [environment]}


BYTES = [b'plain', b'\xff\xfe\x00', b'caf\xe9', b'\x80\x81', b'\xc3\x28', b'\xed\xa0\x80', b'\xf5\x80', b'\x00\x01', b'PK\x03\x04\xff\xfe', b'\xef\xbb\xbfbom', b'\xff']
TEMPLATES = ['heat_template_version: 2018-08-31\noutputs: {o: {value: 1}}\n', 'heat_template_version: 2018-08-31\nparameters: {p: {type: json, default: {a: 1}}}\n',
             'heat_template_version: nonsense\n', 'heat_template_version:\n', 'heat_template_version: 2018-08-31\nparameters: x\n', 'heat_template_version: [\n',
             '{"heat_template_version": "2018-08-31"}', 'AWSTemplateFormatVersion: "2010-09-09"\n', 'x: heat_template_version\n', 'heat_template_version: 2018-08-31\nparameters: {p: {}}\n']


def encodings(draw):
    """Files of any bytes, read as a client reads them that keeps what is no UTF-8."""
    files = {}
    for number in range(draw.choice([1, 2, 3])):
        text = draw.choice(BYTES).decode('utf-8', draw.choice(['surrogateescape', 'replace']))
        if draw.maybe(.5):
            text = draw.fill([lambda: draw.choice(TEMPLATES) + '# ' + text, lambda: text + '\n' + draw.choice(TEMPLATES), lambda: draw.choice(TEMPLATES)])
        files[f'f{number}'] = text
    shown = [name for name, text in files.items() if text.isprintable()]
    values = [{'get_file': draw.choice(shown)}] if shown else []
    # How long a file is shows without what is in it.
    values += [{'yaql': {'expression': '$.data.t.len()', 'data': {'t': {'get_file': name}}}} for name in files]
    template = {
        'heat_template_version': '2018-08-31',
        'parameters': {'p': {'type': 'json', 'default': {'d': 1}}},
        'outputs': {f'o{number}': {'value': value} for number, value in enumerate(values)},
    }
    case = {'template': template, 'files': files}
    if draw.maybe(.5):
        case['environments'] = ['parameters: {p: {e: 1}}', 'parameters: {p: {f: 1}}\nparameter_merge_strategies: {p: merge}'][:draw.choice([1, 2])]
    if draw.maybe(.2):
        case['template'] = json.dumps(template, ensure_ascii=draw.maybe(.5))
    return case

#!/usr/bin/env python3
"""Writes resources with a wrong value each, one JSON list per line: type and properties.

    wrong_values.py [COUNT SEED] > cases.jsonl

For every property of every type, and every key and item within it: values of other types, beyond
ranges and lengths, not allowed, of no pattern, left out, unknown. What else is required is there.
With a count and a seed it is a sample: one case of each property of each type, and others at random.

`heat_words.py` adds the real Heat's words. So `tests/data/resource_types/wrong_values.jsonl` was made:

    wrong_values.py 4000 1 | VENV/bin/python heat_words.py > wrong_values.jsonl

`WRONG_VALUES=FILE cargo test --test it wrong_values` plays another such file.
"""

import json
import pathlib
import random
import sys

SCHEMAS = pathlib.Path(__file__).parent.parent / 'data/resource_types/schemas.json'
# Values that custom constraints take which ask nobody.
FITTING = {
    'cron_expression': '* * * * *', 'dns_domain': 'example.org.', 'dns_name': 'a', 'expiration': '2099-01-01T00:00:00',
    'ip_addr': '10.0.0.1', 'ip_or_cidr': '10.0.0.1', 'iso_8601': 'PT1M', 'json_string': '{}',
    'mac_addr': '00:16:3e:00:00:01', 'net_cidr': '10.0.0.0/24', 'rel_dns_name': 'a', 'test_constr': 'a',
    'timezone': 'UTC', 'zaqar.queue': 'a',
}
WRONG = {
    'String': [[1, 'a'], {'a': 1}, 1.5, None],
    'Integer': ['many', '0x10', '', '1.5', [1], {'a': 1}, True],
    'Number': ['many', '0x10', '', [1], {'a': 1}, True],
    'Boolean': ['yes', '', 7, 1.0, [True], {'a': True}, 'TRUE'],
    'List': ['x', True, 7, {'a': 1}, ''],
    'Map': ['x', True, 7, [1, 'a'], ''],
    'Any': [],
}


def constraint(schema, name):
    for entry in schema.get('constraints', []):
        if name in entry:
            return entry[name]
    return None


def fitting(schema):
    """A value that is taken."""
    allowed, custom = constraint(schema, 'allowed_values'), constraint(schema, 'custom_constraint')
    least = (constraint(schema, 'length') or {}).get('min') or 0
    if allowed:
        return allowed[0]
    if custom in FITTING:
        return FITTING[custom]
    kind = schema['type']
    if kind in ('Integer', 'Number'):
        low = (constraint(schema, 'range') or {}).get('min')
        step = constraint(schema, 'modulo')
        value = 1 if low is None else max(low, 1)
        while step and value % step['step'] != step.get('offset', 0):
            value += 1
        return value
    if kind == 'Boolean':
        return True
    if kind == 'List':
        item = schema.get('items') or {'type': 'String'}
        return [fitting(item) for _ in range(max(least, 1))]
    if kind == 'Map':
        return required(schema.get('schema') or {})
    return 'x' * max(least, 4)


def required(schemata):
    return {name: fitting(schema) for name, schema in schemata.items() if schema.get('required')}


def wrong(schema):
    """Values that are not taken, or should look as if they were not."""
    yield from WRONG[schema['type']]
    for entry in schema.get('constraints', []):
        bounds = entry.get('range') or {}
        if bounds.get('min') is not None:
            yield bounds['min'] - 1
            yield str(bounds['min'] - 1)
        if bounds.get('max') is not None:
            yield bounds['max'] + 1
        sizes = entry.get('length') or {}
        for size in [(sizes.get('min') or 0) - 1, (sizes.get('max') or 300) + 1]:
            if sizes and 0 <= size <= 300:
                yield ['x'] * size if schema['type'] == 'List' else 'x' * size
        if 'allowed_values' in entry:
            yield from (7, [7]) if schema['type'] == 'List' else ('no-such-value', 7, '')
        if 'allowed_pattern' in entry:
            yield from ('#', '')
        if 'modulo' in entry:
            yield entry['modulo']['step'] + entry['modulo'].get('offset', 0) + 1
        if entry.get('custom_constraint') in FITTING:
            yield from ('no such', '', 7, 'x' * 65)
    if schema.get('items'):
        for value in wrong(schema['items']):
            yield [value]
        yield [fitting(schema['items']), None]
    inner = schema.get('schema') or {}
    if inner:
        yield from wrong_map(inner)
        if schema['type'] == 'List':
            yield [{}]


def wrong_map(schemata):
    base = required(schemata)
    yield {**base, 'no_such_key': 1}
    for name, schema in schemata.items():
        if schema.get('required'):
            yield {key: value for key, value in base.items() if key != name}
        for value in wrong(schema):
            yield {**base, name: value}


def sample(cases, count, seed):
    """One case of each property, and others, in their order."""
    chance = random.Random(seed)
    of_property = {}
    for number, (_, _, place) in enumerate(cases):
        of_property.setdefault(place, []).append(number)
    chosen = {chance.choice(numbers) for numbers in of_property.values()}
    others = [number for number in range(len(cases)) if number not in chosen]
    chosen.update(chance.sample(others, max(count - len(chosen), 0)))
    return [cases[number] for number in sorted(chosen)]


def main():
    types = json.loads(SCHEMAS.read_text())
    cases = []
    for name, declared in types.items():
        base = required(declared['properties'])
        for properties in wrong_map(declared['properties']):
            unlike = [key for key in {**base, **properties} if properties.get(key) != base.get(key)]
            cases.append((name, properties, (name, *unlike)))
    if len(sys.argv) == 3:
        cases = sample(cases, *map(int, sys.argv[1:]))
    for name, properties, _ in cases:
        print(json.dumps([name, properties]))


if __name__ == '__main__':
    main()

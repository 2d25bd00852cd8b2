"""Calls of HOT's and CloudFormation's functions, well formed for the most part, within each other."""

from draw import KEYS, TEXTS
from expressions import OF_ANYTHING, Expressions

FILES = {'a.txt': 'text of a\n', 'empty': '', 'é.sh': '#!/bin/sh\necho $x é\n', 'x.json': '{"a": [1]}'}
PARAMETERS = {
    'text': ('string', ['a,b', 'x', '', 'é', '1.0', 5, True, 1.5, ['l', 1, None], {'k': [1.0, "a'b"]}]),
    'number': ('number', [0, 1, '7', -2.5, '1e3', 10**20, '0', 1.0]),
    'flag': ('boolean', [True, 'no', 'on', '0', 'T', False]),
    'list': ('comma_delimited_list', ['a,b,c', '', ',', [1, 'x', None, True, 1.5], [], 'é, ß', ['a', 'a']]),
    'json': ('json', [{'a': {'b': 'deep', '0': 'zero'}, 'list': ['x', {'y': 1}]}, [1, [2, None]],
                      '{"n": 1.0, "u": "\\u00e9"}', '', {}, '[]', {'a': 1e22, 'b': None}]),
}
ALGORITHMS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512', 'SHA256', 'crc']


class Calls:
    """Values of a wanted kind, with calls in them."""

    def __init__(self, draw, conditions=()):
        self.draw = draw
        self.conditions = list(conditions)
        self.expressions = Expressions(draw)

    def any(self, depth=3):
        kinds = [self.text, self.listed, self.mapped, self.plain, self.other]
        return self.draw.choice(kinds)(depth)

    def plain(self, _depth=0):
        return self.draw.value()

    def text(self, depth=3):
        draw = self.draw
        if depth <= 0 or draw.maybe(.3):
            return draw.text() if draw.maybe(.95) else draw.value()
        below = depth - 1
        return draw.fill([
            lambda: self.replace(below), lambda: self.replace(below), lambda: self.replace(below),
            lambda: {'list_join': [self.delimiter(), *[self.listed(below)
                                                       for _ in range(draw.choice([1, 1, 2, 3]))]]},
            lambda: {'digest': [draw.choice(ALGORITHMS), self.text(below)]},
            lambda: {'get_param': 'text'},
            lambda: {'get_param': ['text', draw.choice([0, -1, '1', 'x', 9])]},
            lambda: {'get_file': draw.choice(list(FILES) * 4 + ['missing'])},
            lambda: {'get_resource': 'value'},
            lambda: {'str_split': [self.delimiter(), self.text(below), draw.choice([0, 1, -1, '0', 1.9])]},
            lambda: self.url(below),
            lambda: self.branch(self.text, below),
            lambda: {'yaql': self.yaql('text', below)},
            lambda: {'get_attr': ['value', *self.path()]},
        ])

    def delimiter(self):
        return self.draw.choice([',', '', ' ', 'X', '--', 'é', 'a', '.'])

    def path(self):
        draw = self.draw
        return [draw.choice(['value', 'value', 'show']),
                *[draw.choice(['a', 0, -1, 'x.y', '1', 1.5, None, True, 'é', 2**40])
                  for _ in range(draw.choice([0, 0, 1, 2]))]]

    def replace(self, depth):
        """A text in which placeholders stand beside and within each other."""
        draw = self.draw
        names = draw.sample(['x', 'xx', 'xxx', 'xy', 'y', 'a', 'ab', 'é', '%x%', '$x', '{x}', ' ', '1', 'X', 'b.c', '\\'],
                            draw.choice([1, 2, 3, 4]))
        params = {name: draw.fill([draw.scalar, draw.scalar, draw.text, lambda: draw.value(2),
                                   lambda: self.any(depth)]) for name in names}
        if draw.maybe(.02):
            params[''] = 'void'
        pieces = [draw.choice(names + names + TEXTS) for _ in range(draw.choice([0, 1, 3, 5, 8]))]
        template = ''.join(pieces) if draw.maybe(.9) else self.text(depth)
        name = draw.choice(['str_replace'] * 5 + ['str_replace_strict'] * 2 + ['str_replace_vstrict'] * 2)
        if draw.maybe(.05):
            params = draw.fill([lambda: self.mapped(depth), lambda: {'get_param': 'json'}])
        return {name: {'template': template, 'params': params}}

    def url(self, depth):
        draw = self.draw
        parts = {
            'scheme': lambda: draw.choice(['http', 'https', 'a+b', '', 'H']),
            'username': lambda: draw.choice(['me', 'é', 'a:b', 'a/b@c', '']),
            'password': lambda: draw.choice(['pw', 'p:w', 'ß ?', '']),
            'host': lambda: draw.choice(['example.org', '::1', '10.0.0.1', 'é.org', '[::1]', '']),
            'port': lambda: draw.choice([80, '8080', 0, 70000, 'x', True, 1.5]),
            'path': lambda: draw.choice(['/a b', 'a', '/', '/é?', '', '/a;b%20']),
            'query': lambda: draw.choice([{'a': 'b c'}, {'é': 1}, {'a': [1, 2]}, {}, {'b': None}, {'a': True, 'c': '&='}]),
            'fragment': lambda: draw.choice(['top', 'é', '', 'a b', 1]),
        }
        names = [name for name in parts if draw.maybe(.5)]
        return {'make_url': {name: parts[name]() for name in names} or {'host': self.text(depth)}}

    def listed(self, depth=3):
        draw = self.draw
        if depth <= 0 or draw.maybe(.3):
            return draw.fill([draw.texts, draw.listed, draw.texts])
        below = depth - 1
        return draw.fill([
            lambda: [self.any(below) for _ in range(draw.choice([0, 1, 2, 3]))],
            lambda: self.repeat(below), lambda: self.repeat(below),
            lambda: {draw.choice(['list_concat', 'list_concat_unique']):
                     [self.listed(below) for _ in range(draw.choice([1, 2, 3]))]},
            lambda: {'filter': [draw.listed(1), self.listed(below)]},
            lambda: {'str_split': [draw.choice([',', ' ', 'X', '']), self.text(below)]},
            lambda: {'get_param': 'list'},
            lambda: {'yaql': self.yaql('list', below)},
            lambda: self.branch(self.listed, below),
            lambda: {'get_param': ['json', draw.choice(['list', 'a', 'n']), draw.choice([0, 'b', '0'])]},
        ])

    def repeat(self, depth):
        draw = self.draw
        names = draw.sample(['<%a%>', '%b%', 'x', 'xy'], draw.choice([1, 1, 2, 3]))
        each = {}
        for name in names:
            each[name] = draw.fill([draw.texts, draw.texts, draw.texts,
                                    lambda: ['1', '2'], lambda: ['u', 'v', 'w'], draw.listed,
                                    lambda: self.listed(depth), draw.mapped])
        text = ' '.join(draw.choices(names + ['-', 'k'], k=draw.choice([1, 2, 4])))
        template = draw.fill([text, lambda: {text: draw.scalar(), 'k': text}, lambda: [text, draw.scalar()],
                              lambda: {'a': {text: [text]}}, lambda: self.any(depth)])
        call = {'template': template, 'for_each': each}
        if draw.maybe(.35):
            call['permutations'] = draw.choice([True, False, False])
        return {'repeat': call}

    def mapped(self, depth=3):
        draw = self.draw
        if depth <= 0 or draw.maybe(.3):
            return draw.mapped()
        below = depth - 1
        return draw.fill([
            lambda: {draw.choice(KEYS): self.any(below) for _ in range(draw.choice([2, 3]))},
            lambda: {'map_merge': [self.mapped(below) for _ in range(draw.choice([1, 2, 3]))]},
            lambda: {'map_replace': [self.mapped(below), {
                'keys': {draw.choice(KEYS): draw.choice([*KEYS, 1, None])
                         for _ in range(draw.choice([0, 1, 2]))},
                'values': {draw.choice(TEXTS): draw.scalar() for _ in range(draw.choice([0, 1, 2]))}}]},
            lambda: {'get_param': 'json'},
            lambda: {'yaql': self.yaql('dict', below)},
            lambda: self.branch(self.mapped, below),
        ])

    def other(self, depth):
        draw = self.draw
        below = depth - 1
        return draw.fill([
            lambda: {'contains': [draw.scalar(), self.listed(below)]},
            lambda: {'contains': [draw.text(), self.text(below)]},
            lambda: {'equals': [draw.value(), self.any(below)]},
            lambda: {'get_param': draw.choice([*PARAMETERS, 'OS::stack_name', 'OS::project_id'])},
            lambda: {'get_param': ['json', draw.choice(['a', 'list', 'n', 0, None]), draw.choice(['b', 0, '0', 1])]},
            lambda: {'yaql': self.yaql('any', below)},
            lambda: {'yaql': self.yaql('number', below)},
            lambda: {'get_attr': ['value', *self.path()]},
            lambda: {'and': [self.condition(1), self.condition(1)]},
        ])

    def branch(self, make, depth):
        arms = [make(depth), make(depth)]
        if self.draw.maybe(.15):
            arms.pop()
        return {'if': [self.condition(2), *arms]}

    def condition(self, depth):
        draw = self.draw
        if depth <= 0 or draw.maybe(.3):
            return draw.choice(self.conditions + [True, False])
        below = depth - 1
        return draw.fill([
            lambda: {'equals': [draw.scalar(), draw.scalar()]},
            lambda: {'equals': [{'get_param': draw.choice(list(PARAMETERS))}, draw.value(1)]},
            lambda: {'not': self.condition(below)},
            lambda: {'and': [self.condition(below), self.condition(below)]},
            lambda: {'or': [self.condition(below), self.condition(below)]},
            lambda: {'contains': [draw.text(), {'get_param': 'list'}]},
            lambda: {'yaql': self.yaql('flag', 0)},
        ])

    def yaql(self, kind, depth):
        if self.draw.maybe(.3):
            return {'expression': self.draw.choice(OF_ANYTHING), 'data': self.any(depth) if self.draw.maybe(.5) else self.draw.value()}
        data = self.expressions.data()
        if self.draw.maybe(.2):
            data['v'] = self.any(depth)
        return {'expression': self.expressions.of(kind), 'data': data}


class CfnCalls:
    """The same for CloudFormation's functions."""

    def __init__(self, draw, conditions=()):
        self.draw = draw
        self.conditions = list(conditions)

    def any(self, depth=3):
        draw = self.draw
        if depth <= 0 or draw.maybe(.2):
            return draw.value()
        below = depth - 1
        return draw.fill([
            lambda: self.text(below), lambda: self.text(below), lambda: self.listed(below),
            lambda: {draw.choice(KEYS): self.any(below) for _ in range(2)},
            lambda: {'Fn::Select': [draw.choice([0, '1', -1, 'a', 9, 1.0]), self.any(below)]},
            lambda: {'Fn::FindInMap': ['M', draw.choice(['k1', 'k2']), draw.choice(['v1', 'v2', 'no'])]},
            lambda: {'Fn::MemberListToMap': ['Name', 'Value', [
                f'.member.{n}.{part}={draw.text()}' for n in range(2) for part in ('Name', 'Value')]]},
            lambda: {'Fn::GetAZs': draw.choice(['', 'r', {'Ref': 'AWS::Region'}])},
            lambda: {'Fn::If': [self.condition(2), self.any(below), self.any(below)]},
            lambda: {'Fn::ResourceFacade': draw.choice(['Metadata', 'DeletionPolicy'])},
        ])

    def text(self, depth=3):
        draw = self.draw
        if depth <= 0 or draw.maybe(.3):
            return draw.text()
        below = depth - 1
        return draw.fill([
            lambda: {'Fn::Join': [draw.choice([',', '', 'é', ' ']), self.listed(below)]},
            lambda: {'Fn::Replace': [{draw.choice(['x', 'xx', 'a', 'é', '$v']): self.any(below) for _ in range(2)},
                                     ''.join(draw.choices(['x', 'xx', 'a', 'é', ' ', '$v'], k=6))]},
            lambda: {'Fn::Base64': self.text(below)},
            lambda: {'Ref': draw.choice(['text', 'number', 'flag', 'list', 'json', 'value', 'AWS::StackName',
                                         'AWS::StackId', 'AWS::Region'])},
            lambda: {'Fn::GetAtt': ['value', 'value']},
        ])

    def listed(self, depth=3):
        draw = self.draw
        if depth <= 0 or draw.maybe(.3):
            return draw.texts()
        below = depth - 1
        return draw.fill([
            lambda: [self.any(below) for _ in range(3)],
            lambda: [self.text(below) for _ in range(3)],
            lambda: {'Fn::Split': [draw.choice([',', ' ', 'x']), self.text(below)]},
            lambda: {'Ref': 'list'},
        ])

    def condition(self, depth):
        draw = self.draw
        if depth <= 0:
            return draw.choice(self.conditions + [True, False])
        below = depth - 1
        return draw.fill([
            lambda: {'Fn::Equals': [draw.scalar(), {'Ref': draw.choice(list(PARAMETERS))}]},
            lambda: {'Fn::Equals': [draw.scalar(), draw.scalar()]},
            lambda: {'Fn::Not': [self.condition(below)]},
            lambda: {'Fn::And': [self.condition(below), self.condition(below)]},
            lambda: {'Fn::Or': [self.condition(below), self.condition(below)]},
        ])

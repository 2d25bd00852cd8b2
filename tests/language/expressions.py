"""Expressions of YAQL of a wanted kind, over `$.data` of known kinds."""

# `{kind}` is replaced by an expression of that kind. What ends in `?` is a lambda over an item.
FORMS = {
    'number': [
        '{number} + {number}', '{number} - {number}', '{number} * {number}', '{number} / {divisor}',
        '{number} mod {divisor}', '-({number})', 'len({text})', '{list}.len()', '{numbers}.sum()',
        '{numbers}.max()', '{numbers}.min()', '{numbers}.sum(10)', '{numbers}.first(0)', '{numbers}.last(7)',
        'abs({number})', 'int({number})', 'float({number})', 'round({number})', 'round({number}, {small})',
        'sign({number})', 'pow({small}, {small})', 'min({number}, {number})', 'max({number}, {number})',
        '{text}.indexOf({text})', '{text}.lastIndexOf({text})', '{list}.indexOf({any})',
        '{list}.lastIndexOf({any})', '{numbers}.aggregate($1 + $2)', '{numbers}.aggregate($1 * $2, 2)',
        'switch({flag} => {number}, true => {number})', 'coalesce(null, {number})',
        'bitwiseAnd({whole}, {whole})', 'bitwiseOr({whole}, {whole})', 'bitwiseXor({whole}, {whole})',
        'bitwiseNot({whole})', 'shiftBitsLeft({whole}, {small})', 'shiftBitsRight({whole}, {small})',
        '{dict}.len()', '{set}.len()', 'int(\'{digits}\')', 'float(\'{digits}\')', '{numbers}[{small}]',
        '{list}.indexWhere({flag?})', '{list}.lastIndexWhere({flag?})', '{list}.count()',
        'let({number}) -> $ + 1', 'let(q => {number}) -> $q * $q', '{span}.seconds', '{span}.hours',
        '{moment}.year', '{moment}.month', '{moment}.weekday', '{moment}.hour', '{numbers}.reduce($1 - $2)',
        '{text}.len()', 'len({list})', 'assert({number}, true)', '{number}.with({number}) -> $2',
    ],
    'text': [
        'str({any})', 'str({number})', 'str({number})', 'str({dict})', 'str({list})', '{text} + {text}', '{text} * {small}',
        '{text}.toUpper()', '{text}.toLower()', '{text}.trim()', '{text}.trimLeft({text})', '{text}.trimRight()',
        '{text}.norm()', '{text}.replace({text}, {text})', '{text}.replace({dict})', '{text}.substring({small})',
        '{text}.substring({small}, {small})', '{texts}.join({text})', '{text}.join({texts})', 'concat({text}, {text})',
        'hex({whole})', 'switch({flag} => {text}, true => {text})', '{text}.replace({text}, {text}, {small})',
        '\'{{0}}-{{1}}\'.format({any}, {number})', 'regex({pattern}).replace({text}, {text})',
        'regex({pattern}).replaceBy({text}, $.value.toUpper())', '{text}.first()', '{text}[{small}]',
        'coalesce({text}, {text})', '{moment}.format(\'%Y-%m-%d %H:%M:%S\')', 'str({moment})', 'str({span})',
        'format({any})', '{text}.trim({text})', '{text}.toCharArray().join(\'-\')', 'isoformat({moment})',
        '{list}.select(str($)).join(\',\')', '{numbers}.select(str($)).join({text})', '{dict}.keys().orderBy($).join(\',\')',
        'str({moment}.utctz)', 'str({span} * 2)', '$.data.t.replace(a, {text})', '{text}.escapeRegex()',
    ],
    'flag': [
        '{number} < {number}', '{number} >= {number}', '{number} = {number}', '{any} = {any}', '{any} != {any}',
        '{text} < {text}', '{text} > {text}', '{text} in {text}', '{any} in {list}', '{text} in {dict}',
        'not {flag}', '{flag} and {flag}', '{flag} or {flag}', '{text}.startsWith({text})', '{text}.endsWith({text}, {text})',
        '{text} =~ {pattern}', '{text} !~ {pattern}', '{list}.any()', '{list}.any({flag?})', '{list}.all({flag?})',
        '{list}.contains({any})', '{dict}.containsKey({text})', '{dict}.containsValue({any})', 'isString({any})',
        'isInteger({any})', 'isNumber({any})', 'isBoolean({any})', 'isDict({any})', 'isList({any})', 'isSet({any})',
        'isEmpty({text})', 'bool({any})', '{set}.contains({any})', '{set}.isSubsetOf({set})', '{set} < {set}', '{set} = {set}',
        'isRegex({pattern})', 'regex({pattern}).matches({text})', '{text}.matches({pattern})', '{moment} < {moment}',
        '{span} > {span}', '{number} > {small} and {flag}', '{any}.isDict()', '{list} = {list}', '{dict} = {dict}',
        'any({list})', '{flag?}',
    ],
    'list': [
        '[{any}, {any}]', '{numbers}', '{texts}', '{list}.where({flag?})', '{list}.select({any?})', '{list} + {list}',
        '{list}.reverse()', '{list}.distinct()', '{list}.flatten()', '{list}.append({any})', '{list}.insert({small}, {any})',
        '{list}.delete({small})', '{list}.delete({small}, {small})', '{list}.replace({small}, {any})', '{list}.skip({small})',
        '{list}.limit({small})', '{list}.take({small})', '{list}.slice(2)', '{list}.split({any})', '{list}.splitWhere({flag?})',
        '{list}.sliceWhere({flag?})', '{list}.enumerate()', '{list}.enumerate(1)', '{list}.zip({list})', '{list}.zipLongest({list}, default => 0)',
        '{list}.takeWhile({flag?})', '{list}.skipWhile({flag?})', '{dict}.items()', '{dict}.keys()', '{dict}.values()',
        '{dict}.items().select($[0])', '{list}.groupBy(str($))', '{list}.groupBy($, str($))', '{list}.accumulate($1, 0)',
        '{list} * 2', '{list}.insertMany({small}, {list})', '{list}.replaceMany({small}, {list}, 2)', 'list({list}, {any})',
        '{list}.concat({list})', '{list}.selectMany([$, $])', '{list}.memorize()', '{list}.cycle().limit(3)',
        'repeat({any}, {small})', '{list}.partition({flag?})', '{list}.splitAt({small})', '{list}.join({numbers}, true, [$1, $2])',
        '{text}.matches({pattern}).list()', '{list}.isIterable().list()', '[{dict}, {dict}].select($.get(a))', '{set}.toList().orderBy(str($))',
        '{list}.toList()', '[{any}]', '{list}.defaultIfEmpty([{any}])', '{dict}.items().orderBy($[0])',
        '{list}.sequence().limit(2)', '[[{number}, {number}], [{number}, {number}]].select($[1])', '$.data.m.select($.a)', '$.data.m.select($.get(b, 0))',
        '$.data.m.where($.a > 1)', '$.data.m.orderBy($.a)', '$.data.m.orderByDescending($.a).thenBy($.b)', '$.data.m.groupBy($.a, $.b)', '$.data.m.toDict(str($.a), $.b)',
        '$.data.m.a', '$.data.m.b',
    ],
    'numbers': [
        '[{number}, {number}, {number}]', 'range({small})', 'range({small}, {small})', 'range(9, 0, -2)', '$.data.ns', '{numbers}.where($ > {small})',
        '{numbers}.select($ * 2)', '{numbers}.select(-$)', '{numbers}.orderBy($)', '{numbers}.orderByDescending($)', '{numbers}.distinct()',
        '{numbers}.accumulate($1 + $2)', '{numbers} + {numbers}', '{texts}.select(len($))', 'sequence({small}, 3).limit(3)', '{numbers}.skip(1)',
        'generate({small}, $ < 9, $ + 3)', '[{number}]', '[]', '{numbers}.select(str($)).select(float($))', '{numbers}.reverse()',
    ],
    'texts': [
        '[{text}, {text}]', '$.data.ts', '{text}.split({text})', '{text}.split(\',\')', '{text}.rightSplit(\',\', 1)', '{text}.toCharArray()',
        '{texts}.select($ + {text})', '{texts}.orderBy($)', '{texts}.where($ > {text})', 'regex({pattern}).split({text})',
        'regex({pattern}).searchAll({text})', 'regex({pattern}).searchAll({text}, $.value)', '{texts}.distinct()', '{texts}.orderBy(len($)).thenByDescending($)',
        '{numbers}.select(str($))', '{dict}.keys()', '{texts}.select($.toUpper())', '{text}.split()', '[{text}]', 'regex({pattern}).search({text}, [$.value, str($.start)])',
    ],
    'dict': [
        '{{{text} => {any}, {text} => {any}}}', '$.data.d', '{dict} + {dict}', '{dict}.set({text}, {any})', '{dict}.set({dict})', '{dict}.delete({text})',
        '{dict}.deleteAll({texts})', '{dict}.mergeWith({dict})', '{dict}.mergeWith({dict}, $1, $2)', 'dict({text} => {any})', '{texts}.toDict($)',
        '{texts}.toDict($, len($))', 'dict([[{text}, {any}]])', '{dict}.mergeWith({dict}, maxLevels => 1)', 'dict({dict}.items().where($[0] != {text}))',
        '{{}}', '{{a => {number}, b => {list}}}', '{dict}.mergeWith({dict}, $1 + $2)', '{list}.groupBy(str($)).toDict($[0], $[1])', '{{{number} => {any}}}',
        '{dict}.items().toDict($[0] + x, $[1])', '{dict}.get(k, {dict})', 'let({dict}) -> $.set(z, 1)', 'coalesce($.data.d.get(nothing), {dict})',
    ],
    'set': [
        'set({any}, {any})', '{list}.toSet()', '{set}.union({set})', '{set}.intersect({set})', '{set}.difference({set})', '{set}.symmetricDifference({set})',
        '{set}.add({any})', '{set}.remove({any})', 'set()', '{texts}.toSet()', '{set} + {set}', '{set} - {set}', '{numbers}.toSet()',
    ],
    'moment': [
        "datetime(2020, 2, {day})", "datetime(2019, {month}, {day}, 23, 59, 58)", "datetime('2020-01-02T03:04:05')", "datetime('2020-01-02 03:04:05.678+02:00')",
        '{moment} + {span}', '{moment} - {span}', '{moment}.replace(year => 2000)', "datetime('02/03/2001', '%d/%m/%Y')", 'datetime({whole})', '{moment}.utc()',
        'datetime(2020, 1, 1, 12, 0, 0, 5, timespan(hours => 3))', '{moment}.date', 'datetime(86400.5)',
    ],
    'span': [
        'timespan(hours => {small})', 'timespan(days => {small}, minutes => -{small})', 'timespan(seconds => {number})', '{span} + {span}', '{span} - {span}',
        '{span} * {small}', '{span} / 2', '{moment} - {moment}', '-{span}', 'timespan(milliseconds => 1500)', '{moment}.time', '{moment}.offset',
    ],
    'flag?': ['$ > {small}', '$ = {any}', 'bool($)', 'isString($)', 'not $', '$ in {list}', '$ != {number}', 'true', 'isNumber($) and $ > 1'],
    'any?': ['$', '[$]', 'str($)', '{{k => $}}', '$ + 1', '$ * 2', '$1', '[$, {any}]', 'bool($)', 'switch($ => {any}, true => $)', 'coalesce($, {any})'],
    'any': ['{number}', '{text}', '{text}', '{flag}', '{list}', '{dict}', 'null', '$.data.x', '$.data', '$.data.d.a', '$.data?.no',
            '$.data.v', '{dict}.get({text})', '{dict}.get({text}, {any})', '{dict}[{text}]', '{list}.first(null)', '{list}.last()', '{list}[{small}]', '{list}.single()',
            'switch({flag} => {any}, true => {any})', 'selectCase({flag}, {flag}).switchCase({any}, {any})', 'let(a => {any}, b => {any}) -> [$a, $b]',
            'def(f, $ + 1) -> f({number})', 'def(f, [$1, $2]) -> f({any}, {any})', 'call(len, [{text}], {{}})', 'regex({pattern}).search({text})'],
}
LEAVES = {
    'number': ['1', '0', '2', '-3', '1.5', '0.1', '7', '10', '100.0', '1e16', '2.0', '$.data.n', '$.data.f', '0x10', '12345678901234567890', '0.30000000000000004', '$.data.ns[0]'],
    'divisor': ['2', '3', '-2', '0.5', '7', '0', '2.0', '-7.5'],
    'small': ['0', '1', '2', '3', '-1', '-2', '5'],
    'whole': ['0', '1', '5', '255', '-1', '65535', '4294967296'],
    'digits': ['1', ' 7 ', '1_000', '-3', '1.5', 'x', '', '1e3', 'nan'],
    'day': ['1', '28', '29', '30'],
    'month': ['1', '12', '13', '6'],
    'text': ["''", "'a'", 'abc', "'a,b,c'", "' pad '", "'é'", "'xXx'", '$.data.t', "'1.0'", "'İß'", '"it\'s"', "'line\\nbreak'", 'foo_bar', "'aXbXc'", '`raw\\d`', '$.data.ts[0]', "'a.b'", "'日本'"],
    'flag': ['true', 'false', '$.data.b'],
    'list': ['[]', '[1, 2, 3]', '[3, 1, 2, 1]', '$.data.l', "[a, null, true, 1]", '[[1, 2], [3]]', '$.data.ns', '$.data.ts'],
    'numbers': ['[3, 1, 2]', '$.data.ns', '[1.5, 2]', '[]', 'range(4)'],
    'texts': ['[b, a, c]', '$.data.ts', "['x,y', '']"],
    'dict': ['{}', '{a => 1}', '{a => 1, b => {c => 2}}', '$.data.d', '{k => [1, 2], a => x}'],
    'set': ['set(1, 2)', 'set(a, b, a)', 'set()', 'set(3, 2, 1)'],
    'moment': ["datetime(2020, 2, 29)", "datetime('1999-12-31T23:59:59Z')", 'datetime(0)'],
    'span': ['timespan(hours => 30)', 'timespan()', 'timespan(days => -1, microseconds => 5)'],
    'pattern': ["'a'", "'[a-c]+'", "'(\\\\w)(\\\\d)?'", "','", "'^.'", "'(?P<n>b)'", "'\\\\s*'", "'x|X'", "'$'", "''"],
    'flag?': ['$', '$ > 1', 'true'],
    'any?': ['$', 'str($)'],
    'any': ['1', 'null', 'true', 'a', "'é'", '[1, a]', '{a => 1}', '$.data.x', '1.0', '$.data.l', '$.data.d', "''"],
}

# Over `$.data` of any kind, whether it fits or not.
OF_ANYTHING = [
    '$.data', 'str($.data)', 'str($.data)', 'str([$.data])', '$.data > 1', '$.data.items().orderBy($[0])', '$.data.delete(a)', 'dict(a => 1, b => $.data)',
    '$.data.mergeWith({b => 2})', '$.data.set(x, 1)', '$.data.toDict($, $ + 1)', '$.data + {c => 3}', '$.data.toUpper()', '$.data.toLower()', '$.data.get(x, "dflt")',
    'coalesce($.data, "d")', '$.data.replace("a", "b")', '$.data.flatten()', '$.data.first()', '$.data.last()', '$.data.substring(1, 2)', 'dict($.data.select([$, $]))',
    '$.data.trim()', '$.data.select($ + 1)', '$.data.select(str($))', "$.data['k']", '$.data.a.b', '$.data.where($ != null)', '$.data.split(",")', '$.data.len()',
    '$.data.join(",")', '$.data.select(str($)).join("|")', 'not $.data', '$.data = null', '$.data.sum()', '$.data.max()', '$.data.min()', '$.data.where($ > 1)', '$.data + "x"',
    '$.data + 1', '$.data * 2', '-$.data', '$.data / 3', '$.data mod 3', 'int($.data)', 'float($.data)', 'bool($.data)', '$.data.distinct()', '$.data.indexOf("b")',
    'switch($.data > 1 => "big", true => "small")', '"{0}-{1}".format($.data, 2)', '"{0!r}".format($.data)', '"{0:>5}|{0:<4}|{0:^3}".format($.data)', '"{0:.2f}".format($.data)',
    '$.data.keys().orderBy($)', '$.data.values()', '$.data.toList()', '$.data.skip(1).take(1)', '$.data.zip([1, 2])', 'list($.data, 2)', '$.data.reverse()', '$.data.orderBy($)',
    '$.data in [1, 2]', '1 in $.data', '$.data + [4]', '[4] + $.data', '$.data.select({x => $})', '$.data.groupBy($)', '$.data.enumerate()', '$.data.toSet().len()', '$.data.any()',
    '$.data.all()', '$.data.contains(a)', '$.data.startsWith(a)', '$.data.norm()', '$.data.toCharArray()', '$.data =~ "a"', 'regex("a").split($.data)', 'hex($.data)', 'abs($.data)',
    'round($.data)', 'round($.data, 1)', 'sign($.data)', 'isNumber($.data)', 'isString($.data)', 'isDict($.data)', 'isList($.data)', '$.data.slice(2)', '$.data[0]', '$.data[-1]', 'range($.data)',
    'str($.data = 1)', '$.data.insert(0, x)', '$.data.append(1)', '$.data.concat("y")', '$.data.rightSplit("a", 1)', '$.data.lastIndexOf("a")', '$.data.aggregate($1 + $2)', 'max($.data, 1)',
    '$.data < "b"', '$.data.items().select(str($))', '$.data.select($.len())', '$.data.set({a => $.data})', 'str(dict(k => $.data))', 'str(float($.data))', 'str(int($.data))', 'str($.data * 1.1)',
    '$.data * 1.0', '$.data + 0.1', 'str($.data / 7.0)', 'pow($.data, 2)', 'pow(2, $.data)', 'pow($.data, 0.5)',
]


class Expressions:
    def __init__(self, draw):
        self.draw = draw

    def of(self, kind, depth=3):
        """An expression; one in a hundred has a character too many or too few."""
        text = self.written(kind, depth)
        if text and self.draw.maybe(.01):
            at = self.draw.randrange(len(text))
            text = text[:at] + self.draw.choice(['', '(', '$', '.', "'", ' ', 'x']) + text[at + 1:]
        return text

    def written(self, kind, depth):
        draw = self.draw
        if depth <= 0 or kind not in FORMS or draw.maybe(.12):
            return draw.choice(LEAVES[kind])
        form = draw.choice(FORMS[kind])
        out, at = '', 0
        while at < len(form):
            if form.startswith(('{{', '}}'), at):
                out, at = out + form[at], at + 2
            elif form[at] == '{':
                end = form.index('}', at)
                out, at = out + self.part(form[at + 1:end], depth - 1), end + 1
            else:
                out, at = out + form[at], at + 1
        return out

    def part(self, kind, depth):
        text = self.written(kind, depth)
        is_whole = text[-1:] in ')]}' or not any(c in text for c in ' -')
        return text if is_whole or kind in ('flag?', 'any?') or text[:1] in '\'"`' else f'({text})'

    def data(self):
        draw = self.draw
        return {
            'n': draw.number(), 'f': draw.choice([1.5, 0.1, 1e16, 2.0]), 't': draw.text(), 'b': draw.choice([True, False]),
            'l': draw.listed(), 'd': draw.mapped(), 'x': draw.value(), 'v': draw.value(),
            'ns': [draw.choice([1, 2, 3, 0, -1, 1.5, 10]) for _ in range(draw.choice([1, 3, 4]))],
            'ts': [draw.text() for _ in range(draw.choice([1, 2, 4]))],
            'm': [{'a': draw.choice([1, 2, 3]), 'b': draw.scalar()} for _ in range(draw.choice([1, 2, 3]))],
        }
